package image

import (
	"archive/tar"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"path"
	"strings"
)

// Kind of a name, as in archives.
type Kind byte

const (
	File     Kind = '0'
	Symlink  Kind = '2'
	Folder   Kind = '5'
	FIFO     Kind = '6'
	Whiteout Kind = 'w' // hides a name of the layers below
	Opaque   Kind = 'o' // hides everything that the layers below have in this folder
)

// Entry is one name of a layer.
type Entry struct {
	Path     string // relative to the root, without leading or trailing slash; the root is ""
	Kind     Kind
	Mode     uint32 // permissions, with the set-id and sticky bits of chmod(2)
	UID, GID int
	Size     int64 // of a File, in bytes
	MtimeNs  int64 // since 1970
	Target   string
	Digest   string            // of a File's content: sha256, hex
	First    string            // the path of the entry that this one is a further hard link of, or empty
	Xattrs   map[string]string // extended attributes
}

// Layer is what one layer says, in the order of its archive: a later entry of the same path wins.
type Layer struct {
	Entries []Entry
	// Skipped are device nodes below dev, of which every world has its own.
	Skipped []string
}

// MaxLayerBytes bounds the contents of one layer.
const MaxLayerBytes = 64 << 30

// Further bounds of what is unpacked. A larger image is refused: it is one that eats disks.
const (
	maxNameBytes = 4096
	maxLinkBytes = 4096
	// suspectBytes and suspectRatio: a layer that unpacks to more than this many bytes, and to more than this many times its
	// compressed size, is a bomb. Text compresses to a twentieth, zeros to a thousandth.
	suspectBytes = 256 << 20
	suspectRatio = 200
)

// keep stores the content of a file and returns its digest.
type keep func(r io.Reader) (digest string, size int64, err error)

// unpack reads a layer's archive to its end. compressed reports how many bytes of the compressed layer were read so far, or is nil.
// It counts into the size of the image that the layer belongs to.
func unpack(r io.Reader, compressed func() int64, keep keep, of *size) (*Layer, string, error) {
	sum := sha256.New()
	counted := &counter{r: io.TeeReader(r, sum), compressed: compressed, mostBytes: MaxLayerBytes}
	archive := tar.NewReader(counted)
	l := &Layer{}
	seen := map[string]int{} // path -> entry
	for {
		h, err := archive.Next()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return nil, "", fmt.Errorf("the archive is broken: %w", err)
		}
		e, err := entryOf(h, seen, l)
		if err != nil {
			return nil, "", err
		}
		if e == nil {
			continue
		}
		if err := of.add(e); err != nil {
			return nil, "", err
		}
		if e.Kind == File && e.First == "" {
			if e.Digest, e.Size, err = keep(&contents{archive, counted}); err != nil {
				return nil, "", fmt.Errorf("%s: %w", h.Name, err)
			}
			if e.Size != h.Size {
				return nil, "", fmt.Errorf("%s has %d of its %d bytes", h.Name, e.Size, h.Size)
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
		return fmt.Errorf("the layer unpacks to more than %d times its size (%d bytes from %d): this is an archive made to fill disks", suspectRatio, unpacked, c.compressed())
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

const (
	whiteoutPrefix = ".wh."
	opaqueName     = ".wh..wh..opq"
	aufsPrefix     = ".wh..wh." // further names that AUFS kept for itself
)

// entryOf turns a header into an entry, or nil if it has none. seen and l hold what the layer has said before.
func entryOf(h *tar.Header, seen map[string]int, l *Layer) (*Entry, error) {
	switch h.Typeflag {
	case tar.TypeXGlobalHeader:
		return nil, nil
	case tar.TypeReg, tar.TypeDir, tar.TypeSymlink, tar.TypeLink, tar.TypeFifo, tar.TypeChar, tar.TypeBlock, tar.TypeGNUSparse:
	default:
		return nil, fmt.Errorf("%s is of the unknown type %q", h.Name, h.Typeflag)
	}
	name, err := clean(h.Name)
	if err != nil {
		return nil, err
	}
	dir, base := split(name)
	for p := dir; p != ""; p, _ = split(p) {
		if i, ok := seen[p]; ok && l.Entries[i].Kind != Folder {
			return nil, fmt.Errorf("%s lies below %s, which the same layer says is no folder: the layer leads astray", h.Name, p)
		}
	}
	e := &Entry{Path: name, Mode: uint32(h.Mode) & 0o7777, UID: h.Uid, GID: h.Gid, MtimeNs: h.ModTime.UnixNano(), Xattrs: xattrs(h)}
	switch {
	case base == opaqueName:
		return &Entry{Path: dir, Kind: Opaque}, nil
	case strings.HasPrefix(base, aufsPrefix):
		return nil, nil
	case strings.HasPrefix(base, whiteoutPrefix):
		hidden := strings.TrimPrefix(base, whiteoutPrefix)
		if hidden == "" || hidden == "." || hidden == ".." {
			return nil, fmt.Errorf("%s hides no name", h.Name)
		}
		return &Entry{Path: path.Join(dir, hidden), Kind: Whiteout}, nil
	}
	switch h.Typeflag {
	case tar.TypeDir:
		e.Kind = Folder
	case tar.TypeSymlink:
		if h.Linkname == "" || len(h.Linkname) > maxLinkBytes {
			return nil, fmt.Errorf("%s is a link of %d bytes", h.Name, len(h.Linkname))
		}
		e.Kind, e.Target, e.Mode = Symlink, h.Linkname, 0o777 // it is followed inside the world alone
	case tar.TypeFifo:
		e.Kind = FIFO
	case tar.TypeChar, tar.TypeBlock:
		if name == "dev" || strings.HasPrefix(name, "dev/") {
			l.Skipped = append(l.Skipped, name)
			return nil, nil
		}
		return nil, fmt.Errorf("%s is a device node; worlds have only their own, in /dev", h.Name)
	case tar.TypeLink:
		first, err := clean(h.Linkname)
		if err != nil {
			return nil, fmt.Errorf("%s is a hard link: %w", h.Name, err)
		}
		i, ok := seen[first]
		if !ok || l.Entries[i].Kind != File && l.Entries[i].Kind != Symlink && l.Entries[i].Kind != FIFO {
			return nil, fmt.Errorf("%s is a hard link to %s, which is no file that the layer has named before", h.Name, h.Linkname)
		}
		to := l.Entries[i]
		if to.First == "" {
			to.First = to.Path
		}
		to.Path = name
		return &to, nil
	default:
		e.Kind = File
	}
	if name == "" && e.Kind != Folder {
		return nil, fmt.Errorf("the root is no folder")
	}
	return e, nil
}

// clean makes a name of an archive relative to the root, and refuses one that climbs out of that root.
func clean(name string) (string, error) {
	if len(name) > maxNameBytes {
		return "", fmt.Errorf("a name of %d bytes", len(name))
	}
	if strings.ContainsRune(name, 0) {
		return "", fmt.Errorf("%q has a zero byte", name)
	}
	depth := 0
	for part := range strings.SplitSeq(name, "/") {
		switch {
		case part == "..":
			depth--
		case part != "" && part != ".":
			depth++
		}
		if depth < 0 {
			return "", fmt.Errorf("%q leads out of the image", name)
		}
		if len(part) > 255 {
			return "", fmt.Errorf("%q has a part of more than 255 bytes", name)
		}
	}
	return strings.TrimPrefix(path.Clean("/"+name), "/"), nil
}

// xattrPrefix begins the PAX records that are extended attributes.
const xattrPrefix = "SCHILY.xattr."

// xattrs are extended attributes as archive/tar hands them on, in PAX records.
func xattrs(h *tar.Header) map[string]string {
	var out map[string]string
	for k, v := range h.PAXRecords {
		if name, ok := strings.CutPrefix(k, xattrPrefix); ok {
			if out == nil {
				out = map[string]string{}
			}
			out[name] = v
		}
	}
	return out
}
