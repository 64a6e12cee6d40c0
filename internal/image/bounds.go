package image

import (
	"archive/tar"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path"
	"path/filepath"

	"github.com/bloodhound-dst/bloodhound/internal/image/rootfs"
	v1 "github.com/google/go-containerregistry/pkg/v1"
)

// MaxLayers bounds the layers of an image: as many as Linux's overlayfs stacks (OVL_MAX_STACK in fs/overlayfs). Docker allows 127.
const MaxLayers = 500

// checkLayers refuses an image with too many layers.
func checkLayers(n int) error {
	if n > MaxLayers {
		return fmt.Errorf("it has %d layers, but the limit is %d; build it with fewer COPY, ADD and RUN instructions, or squash it", n, MaxLayers)
	}
	return nil
}

// Until reads r until ctx is cancelled. Every later Read returns the error of ctx.
func Until(ctx context.Context, r io.Reader) io.Reader { return &until{ctx, r} }

type until struct {
	ctx context.Context
	r   io.Reader
}

func (u *until) Read(p []byte) (int, error) {
	if err := u.ctx.Err(); err != nil {
		return 0, err
	}
	return u.r.Read(p)
}

// size counts the names and attributes of an image's layers, which are held in memory. Contents go to the disk.
type size struct {
	entries, nameBytes int
	folders            map[string]bool // those that a layer names, and those above its names
}

const (
	maxEntries    = 2 << 20
	maxNamesBytes = 256 << 20
)

// add counts an entry, and the folders above it, which a layer need not name.
func (s *size) add(e *rootfs.Entry) error {
	if s.folders == nil {
		s.folders = map[string]bool{}
	}
	s.entries++
	s.nameBytes += len(e.Path) + len(e.Target) + len(e.First)
	for name, value := range e.Xattrs {
		s.nameBytes += len(name) + len(value)
	}
	dir, _ := rootfs.Split(e.Path)
	if e.Kind == rootfs.Folder {
		dir = e.Path
	}
	for ; dir != "" && !s.folders[dir]; dir, _ = rootfs.Split(dir) {
		s.folders[dir] = true
	}
	switch {
	case s.entries+len(s.folders) > maxEntries:
		return fmt.Errorf("more than %d files and folders", maxEntries)
	case s.nameBytes > maxNamesBytes:
		return fmt.Errorf("names, links and attributes have more than %d MiB", maxNamesBytes>>20)
	}
	return nil
}

// checkBlob refuses a file of a layout that is read as a whole and is too large for that.
func checkBlob(layout string, digest v1.Hash) error {
	return checkSmall(filepath.Join(layout, "blobs", digest.Algorithm, digest.Hex))
}

// checkSmall leaves a file that is not there to whoever reads it.
func checkSmall(file string) error {
	st, err := os.Stat(file)
	if err != nil {
		return nil
	}
	if !st.Mode().IsRegular() {
		return fmt.Errorf("%s is not a regular file", file)
	}
	if st.Size() > maxConfigBytes {
		return fmt.Errorf("%s has %d bytes, but the limit for such a file is %d", file, st.Size(), maxConfigBytes)
	}
	return nil
}

// archived lists an archive of `docker save`: the images of its manifest.json, and each file's size.
type archived struct {
	images []struct {
		Config string
		Layers []string
	}
	sizes map[string]int64
	links map[string]bool
}

const manifestName = "manifest.json"

// listArchive reads the names of an archive and its manifest.json, if it has one.
func listArchive(open func() (io.ReadCloser, error)) (*archived, error) {
	f, err := open()
	if err != nil {
		return nil, err
	}
	defer f.Close()
	a := &archived{sizes: map[string]int64{}, links: map[string]bool{}}
	nameBytes := 0
	for r := tar.NewReader(f); ; {
		h, err := r.Next()
		if errors.Is(err, io.EOF) {
			return a, nil
		}
		if err != nil {
			return nil, err
		}
		nameBytes += len(h.Name)
		if len(a.sizes) == maxEntries || len(h.Name) > rootfs.MaxNameBytes || nameBytes > maxNamesBytes {
			return nil, errors.New("it has too many files, or file names that are too long")
		}
		file := path.Clean(h.Name)
		if _, known := a.sizes[file]; known { // the first file of a name counts
			continue
		}
		a.sizes[file] = h.Size
		a.links[file] = h.Typeflag == tar.TypeLink || h.Typeflag == tar.TypeSymlink
		if file != manifestName || h.Size > maxConfigBytes || a.links[file] {
			continue
		}
		if err := json.NewDecoder(r).Decode(&a.images); err != nil {
			return nil, fmt.Errorf("%s: %w", manifestName, err)
		}
	}
}

// check refuses an archive with a file that is too large to be read as a whole, or an image of too many layers. Docker never writes
// a link in place of such a file.
func (a *archived) check() error {
	whole := []string{manifestName}
	for _, img := range a.images {
		if err := checkLayers(len(img.Layers)); err != nil {
			return err
		}
		whole = append(whole, path.Clean(img.Config))
	}
	for _, file := range whole {
		if a.links[file] {
			return fmt.Errorf("its %.100s is a link", file)
		}
		if n := a.sizes[file]; n > maxConfigBytes {
			return fmt.Errorf("its %.100s has %d bytes, but the limit is %d", file, n, maxConfigBytes)
		}
	}
	return nil
}

// bombless reads decompressed bytes, and fails once they are out of proportion to the compressed ones.
func bombless(plain io.Reader, compressed func() int64) io.Reader {
	return &counter{r: plain, compressed: compressed, mostBytes: 1 << 62}
}

// countedReader counts the bytes that were read.
type countedReader struct {
	r io.Reader
	n int64
}

func (c *countedReader) Read(p []byte) (int, error) {
	n, err := c.r.Read(p)
	c.n += int64(n)
	return n, err
}
