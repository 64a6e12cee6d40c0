//go:build linux && amd64

package native

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"iter"
	"maps"
	"os"
	"path"
	"slices"
	"strings"
	"sync"
	"time"

	"golang.org/x/sys/unix"

	"github.com/bloodhound-dst/bloodhound/internal/engine/native/fs"
	"github.com/bloodhound-dst/bloodhound/internal/engine/native/host"
	"github.com/bloodhound-dst/bloodhound/internal/engine/native/kernel"
	"github.com/bloodhound-dst/bloodhound/internal/engine/native/linux"
	"github.com/bloodhound-dst/bloodhound/internal/filedigest"
	"github.com/bloodhound-dst/bloodhound/internal/record"
)

// maxNamesBytes bounds the names of a folder that are kept; more than these are kept as a digest.
const maxNamesBytes = 4 << 10

// digests gives the SHA-256 of every base file that was opened, and the names in every base folder that was listed (see
// record.Outcome).
func (w *World) digests() map[string]string {
	out := map[string]string{}
	stop := w.hashingEnds()
	for i, node := range w.kernel.Nodes {
		if node.FS == nil {
			continue
		}
		if img := w.spec.Nodes[i].Image; img != nil { // all that can be read of the image follows from its id
			out[imageScheme+img.Name] = strings.TrimPrefix(img.ID, "sha256:")
		}
		for _, file := range node.FS.Touched() {
			if out[file] == "" && !strings.HasPrefix(file, imageScheme) {
				out[file] = filedigest.Text(file, stop)
			}
		}
		inodes := maps.Values(node.FS.Inodes)
		if shared := w.kernel.Shared; i == 0 && shared != nil { // whose layers are the same of each node
			inodes = both(inodes, maps.Values(shared.Inodes))
		}
		for in := range inodes {
			if !in.Loaded || in.Layer == fs.NoLayer || strings.HasPrefix(node.FS.HostPath(in.Layer, ""), imageScheme) {
				continue
			}
			folder := strings.TrimRight(node.FS.HostPath(in.Layer, in.Path), "/") + "/"
			if _, ok := out[folder]; !ok {
				out[folder] = namesOf(folder, func(name string) bool {
					base := w.real.Bases[i]
					return fs.Hides(base, in.Layer, in.Path, name) || base.Hides(in.Layer, path.Join(in.Path, name))
				})
			}
		}
	}
	delete(out, w.options.Driver) // which the record of the run names itself
	return out
}

func both(a, b iter.Seq[*fs.Inode]) iter.Seq[*fs.Inode] {
	return func(yield func(*fs.Inode) bool) {
		for in := range a {
			if !yield(in) {
				return
			}
		}
		b(yield)
	}
}

// hashingEnds tells when hashing files has to end: with an interrupt, and with the run's real time.
func (w *World) hashingEnds() func() bool {
	limit := time.Duration(w.spec.Limits.WallMs) * time.Millisecond
	return filedigest.Ends(w.options.Interrupt, filedigest.EndOf(w.started, limit))
}

// namesCache has the folders that this process has read.
var namesCache struct {
	sync.Mutex
	folders map[string]namesEntry
}

type namesEntry struct {
	mtimeNs int64
	names   []string
}

// namesOf lists a folder of the machine but for what is hidden, unless this process has read it since its names last
// changed.
func namesOf(folder string, hidden func(name string) bool) string {
	st, err := os.Stat(folder)
	if err != nil {
		return "gone"
	}
	namesCache.Lock()
	known, ok := namesCache.folders[folder]
	namesCache.Unlock()
	if !ok || known.mtimeNs != st.ModTime().UnixNano() {
		entries, err := os.ReadDir(folder)
		if err != nil {
			return "unreadable"
		}
		known = namesEntry{mtimeNs: st.ModTime().UnixNano()}
		for _, e := range entries {
			known.names = append(known.names, e.Name())
		}
		namesCache.Lock()
		if namesCache.folders == nil {
			namesCache.folders = map[string]namesEntry{}
		}
		namesCache.folders[folder] = known
		namesCache.Unlock()
	}
	names := strings.Join(slices.DeleteFunc(slices.Clone(known.names), hidden), "/")
	if len(names) > maxNamesBytes {
		sum := sha256.Sum256([]byte(names))
		names = "sha256:" + hex.EncodeToString(sum[:])
	}
	return names
}

// executes notes a program that a node under test executes.
func (w *World) executes(t *kernel.Thread, shown, real string, fd int) {
	w.starts(t, shown)
	if !w.underTest(t) || real == linux.Self || len(w.outcome.Programs) >= record.MaxPrograms {
		return
	}
	if !strings.HasPrefix(shown, "/") {
		shown = real
	}
	p := record.Program{Path: shown}
	if name := host.RealName(fd); strings.HasPrefix(name, "/") && !strings.HasPrefix(name, "/memfd:") {
		p.File, p.Stamp = name, stampOf(name, fd, w.hashingEnds())
	}
	if !slices.Contains(w.outcome.Programs, p) {
		w.outcome.Programs = append(w.outcome.Programs, p)
	}
}

// stampOf distinguishes an open program from others: by its digest, as long as its name leads to it.
func stampOf(name string, fd int, stop func() bool) string {
	var open, named unix.Stat_t
	if unix.Fstat(fd, &open) != nil {
		return ""
	}
	if unix.Stat(name, &named) == nil && named == open {
		return filedigest.Text(name, stop)
	}
	return fmt.Sprintf("inode %d of %d bytes, changed at %d", open.Ino, open.Size, open.Mtim.Nano())
}
