//go:build linux && amd64

package host

import (
	"bytes"
	"crypto/sha256"
	"encoding/gob"
	"encoding/hex"
	"fmt"
	"os"
	"path/filepath"

	"github.com/bloodhound-dst/bloodhound/internal/coverage/code"
)

// What was found in a large program is kept among the user's caches: a run of its own, as `bloodhound run` makes, would look through
// the same libraries each time.

// leastKept is the size of files from which on that is worth it, mostKept how many files are kept.
const (
	leastKept = 256 << 10
	mostKept  = 1000
)

type findingsCache struct{}

var findings findingsCache

// findingsKey names a file whose findings are kept.
type findingsKey string

// keptByStat names a file that is the same as long as its key is: it need not be read.
func keptByStat(key fileKey) findingsKey { return findingsKey(fmt.Sprintf("%+v", key)) }

// keptByDigest names a file by its bytes: `go build` gives a program that it did not build again a new time.
func keptByDigest(file []byte) findingsKey { return findingsKey(code.Digest(file)) }

// path names the file that keeps findings; "" if the user has no folder for caches.
func (findingsCache) path(key findingsKey) string {
	cache, err := os.UserCacheDir()
	if err != nil {
		return ""
	}
	sum := sha256.Sum256(fmt.Appendf(nil, "%d %s", code.ChanceVersion, key))
	return filepath.Join(cache, "bloodhound", "instructions", hex.EncodeToString(sum[:16]))
}

// elsewhere runs f on another OS thread, and waits for it: the thread of a world may have given up the right to read and write such files.
func elsewhere(f func()) {
	done := make(chan struct{})
	go func() {
		defer close(done)
		f()
	}()
	<-done
}

func (c findingsCache) read(key findingsKey) (found *code.Findings) {
	elsewhere(func() {
		b, err := os.ReadFile(c.path(key))
		if kept := (code.Findings{}); err == nil && gob.NewDecoder(bytes.NewReader(b)).Decode(&kept) == nil {
			found = &kept
		}
	})
	return found
}

// write keeps what was found. Where that is not possible, it is found again.
func (c findingsCache) write(key findingsKey, found *code.Findings) {
	elsewhere(func() {
		path := c.path(key)
		var b bytes.Buffer
		if path == "" || gob.NewEncoder(&b).Encode(found) != nil || os.MkdirAll(filepath.Dir(path), 0o700) != nil {
			return
		}
		if list, err := os.ReadDir(filepath.Dir(path)); err == nil && len(list) >= mostKept {
			for _, e := range list {
				os.Remove(filepath.Join(filepath.Dir(path), e.Name()))
			}
		}
		f, err := os.CreateTemp(filepath.Dir(path), "new-")
		if err != nil {
			return
		}
		_, err = f.Write(b.Bytes())
		if f.Close() != nil || err != nil || os.Rename(f.Name(), path) != nil {
			os.Remove(f.Name())
		}
	})
}
