package rootfs

import (
	"archive/tar"
	"fmt"
	"path"
	"strings"
)

// Longer names and links are refused: they eat memory.
const (
	MaxNameBytes = 4096
	maxLinkBytes = 4096
)

const (
	whiteoutPrefix = ".wh."
	opaqueName     = ".wh..wh..opq"
	aufsPrefix     = ".wh..wh." // further names that AUFS kept for itself
)

// ParseHeader turns a header of an archive into an entry, or nil if it has none. seen, a path's place in l.Entries, and l hold what the layer
// has said before. It refuses names that lead out of the root.
func ParseHeader(h *tar.Header, seen map[string]int, l *Layer) (*Entry, error) {
	switch h.Typeflag {
	case tar.TypeXGlobalHeader:
		return nil, nil
	case tar.TypeReg, tar.TypeDir, tar.TypeSymlink, tar.TypeLink, tar.TypeFifo, tar.TypeChar, tar.TypeBlock, tar.TypeGNUSparse:
	default:
		return nil, fmt.Errorf("%s has the unknown type %q", h.Name, h.Typeflag)
	}
	name, err := clean(h.Name)
	if err != nil {
		return nil, err
	}
	dir, base := Split(name)
	for p := dir; p != ""; p, _ = Split(p) {
		if i, ok := seen[p]; ok && l.Entries[i].Kind != Folder {
			return nil, fmt.Errorf("%s is below %s, which is not a folder in the same layer", h.Name, p)
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
			return nil, fmt.Errorf("%s is a whiteout without a valid name", h.Name)
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
		return nil, fmt.Errorf("%s is a device node; a world has only its own devices, in /dev", h.Name)
	case tar.TypeLink:
		first, err := clean(h.Linkname)
		if err != nil {
			return nil, fmt.Errorf("%s is a hard link: %w", h.Name, err)
		}
		i, ok := seen[first]
		if !ok || l.Entries[i].Kind != File && l.Entries[i].Kind != Symlink && l.Entries[i].Kind != FIFO {
			return nil, fmt.Errorf("%s is a hard link to %s, which is not an earlier file of the layer", h.Name, h.Linkname)
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
		return nil, fmt.Errorf("the root is not a folder")
	}
	return e, nil
}

// clean makes a name of an archive relative to the root, and refuses one that climbs out of that root.
func clean(name string) (string, error) {
	if len(name) > MaxNameBytes {
		return "", fmt.Errorf("a name has %d bytes", len(name))
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
			return "", fmt.Errorf("%q is outside the image", name)
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
