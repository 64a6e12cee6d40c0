package image

import (
	"archive/tar"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"

	"github.com/bloodhound-dst/bloodhound/internal/image/rootfs"
)

// MaxLayerBytes bounds the contents of one layer.
const MaxLayerBytes = 64 << 30

// Further bounds of what is unpacked. A larger image is refused: it is one that eats disks.
const (
	// suspectBytes and suspectRatio: a layer that unpacks to more than this many bytes, and to more than this many times its
	// compressed size, is a bomb. Text compresses to a twentieth, zeros to a thousandth.
	suspectBytes = 256 << 20
	suspectRatio = 200
)

// keep stores the content of a file and returns its digest.
type keep func(r io.Reader) (digest string, size int64, err error)

// unpack reads a layer's archive to its end. compressed reports how many bytes of the compressed layer were read so far, or is nil.
// It counts into the size of the image that the layer belongs to.
func unpack(r io.Reader, compressed func() int64, keep keep, of *size) (*rootfs.Layer, string, error) {
	sum := sha256.New()
	counted := &counter{r: io.TeeReader(r, sum), compressed: compressed, mostBytes: MaxLayerBytes}
	archive := tar.NewReader(counted)
	l := &rootfs.Layer{}
	seen := map[string]int{} // path -> entry
	for {
		h, err := archive.Next()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return nil, "", fmt.Errorf("the archive is broken: %w", err)
		}
		e, err := rootfs.ParseHeader(h, seen, l)
		if err != nil {
			return nil, "", err
		}
		if e == nil {
			continue
		}
		if err := of.add(e); err != nil {
			return nil, "", err
		}
		if e.Kind == rootfs.File && e.First == "" {
			if e.Digest, e.Size, err = keep(&contents{archive, counted}); err != nil {
				return nil, "", fmt.Errorf("%s: %w", h.Name, err)
			}
			if e.Size != h.Size {
				return nil, "", fmt.Errorf("%s has only %d of its %d bytes", h.Name, e.Size, h.Size)
			}
		}
		seen[e.Path] = len(l.Entries)
		l.Entries = append(l.Entries, *e)
	}
	// What follows the archive belongs to the digest too.
	if _, err := io.Copy(io.Discard, counted); err != nil {
		return nil, "", err
	}
	return l, algorithm + hexSum(sum), nil
}

// counter bounds what is unpacked.
type counter struct {
	r          io.Reader
	n          int64
	contents   int64 // of files: a sparse one has more bytes than the archive holds
	compressed func() int64
	mostBytes  int64
}

func (c *counter) Read(p []byte) (int, error) {
	n, err := c.r.Read(p)
	c.n += int64(n)
	if e := c.most(c.n); e != nil {
		return n, e
	}
	return n, err
}

// most refuses an archive that unpacks to too many bytes.
func (c *counter) most(unpacked int64) error {
	if unpacked > c.mostBytes {
		return fmt.Errorf("the layer unpacks to more than %d bytes", c.mostBytes)
	}
	if c.compressed != nil && unpacked > suspectBytes && unpacked > suspectRatio*max(c.compressed(), 1) {
		return fmt.Errorf("the layer unpacks to more than %d times its size (%d bytes from %d): the archive looks like a decompression bomb",
			suspectRatio, unpacked, c.compressed())
	}
	return nil
}

// contents reads the content of a file of an archive.
type contents struct {
	r       io.Reader
	counted *counter
}

func (c *contents) Read(p []byte) (int, error) {
	n, err := c.r.Read(p)
	c.counted.contents += int64(n)
	if e := c.counted.most(c.counted.contents); e != nil {
		return n, e
	}
	return n, err
}
