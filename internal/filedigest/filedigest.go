// Package filedigest tells files of the machine apart by their contents, within bounds.
package filedigest

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
	"sync"
	"time"

	"github.com/bloodhound-dst/bloodhound/internal/regular"
)

// MaxBytes is the size of the largest file that is hashed. A sparse file has any size at no cost.
const MaxBytes = 1 << 30

// stepBytes is how much is hashed before stop is asked again.
const stepBytes = 1 << 20

// unhashed begins what stands for a file that was not hashed.
const unhashed = "unhashed: "

// known has what this process has computed: a campaign runs the same files thousands of times.
var known struct {
	sync.Mutex
	files map[string]entry
}

type entry struct {
	size     int64
	mtimeNs  int64
	changeNs int64 // of the inode: a file that takes the place of another may have its size and date
	sum      string
}

// Sum gives the SHA-256 of a file, unless this process has computed it since the file's size, its date or its inode last changed. A file beyond
// MaxBytes, or one whose hashing stop ends, has its size and its date instead (see Hashed). stop may be nil. The sum of a file that
// cannot be read, or is no regular one, is empty, and found is false if there is no such file.
func Sum(path string, stop func() bool) (sum string, found bool) {
	st, err := os.Stat(path)
	if err != nil {
		return "", false
	}
	size, mtimeNs, changeNs := st.Size(), st.ModTime().UnixNano(), changeTime(st).UnixNano()
	known.Lock()
	e, ok := known.files[path]
	known.Unlock()
	if ok && e.size == size && e.mtimeNs == mtimeNs && e.changeNs == changeNs {
		return e.sum, true
	}
	f, err := regular.Open(path)
	if err != nil {
		return "", true
	}
	defer f.Close()
	instead := fmt.Sprintf("%s%d bytes, changed at %d", unhashed, size, mtimeNs)
	if size > MaxBytes {
		return instead, true
	}
	sum, err = hash(f, stop)
	switch {
	case errors.Is(err, errStopped):
		return instead, true
	case err != nil:
		return "", true
	}
	known.Lock()
	defer known.Unlock()
	if known.files == nil {
		known.files = map[string]entry{}
	}
	known.files[path] = entry{size, mtimeNs, changeNs, sum}
	return sum, true
}

// Hashed reports whether a sum of Of is one of a file's contents. If not, equal sums mean the same size and date.
func Hashed(sum string) bool { return !strings.HasPrefix(sum, unhashed) }

// Ends is a stop of Of: an interrupt, or a time, if it is not zero.
func Ends(interrupt <-chan struct{}, end time.Time) (stop func() bool) {
	return func() bool {
		select {
		case <-interrupt:
			return true
		default:
			return !end.IsZero() && time.Now().After(end)
		}
	}
}

// EndOf is when hashing for a run with a limit of real time ends: with that limit, but not before leastHashing from now on. It is zero without
// a limit.
func EndOf(started time.Time, limit time.Duration) time.Time {
	if limit <= 0 {
		return time.Time{}
	}
	end, least := started.Add(limit), time.Now().Add(leastHashing)
	if end.Before(least) {
		return least
	}
	return end
}

// leastHashing is how long files of a run are hashed at least, so that one that ended by its limit of real time has most digests as well.
const leastHashing = time.Second

var errStopped = errors.New("hashing was stopped, or the file grew beyond the bound")

func hash(f io.Reader, stop func() bool) (string, error) {
	h := sha256.New()
	for done := int64(0); ; {
		if stop != nil && stop() || done > MaxBytes {
			return "", errStopped
		}
		n, err := io.CopyN(h, f, stepBytes)
		done += n
		switch {
		case errors.Is(err, io.EOF):
			return hex.EncodeToString(h.Sum(nil)), nil
		case err != nil:
			return "", err
		}
	}
}
