package rootfs

import (
	"archive/tar"
	"fmt"
	"io"
	"path"
	"strings"
	"time"
)

// LayerWriter writes a layer as a tar archive whose bytes depend on its entries alone.
type LayerWriter struct{ w *tar.Writer }

// NewLayerWriter begins an archive.
func NewLayerWriter(w io.Writer) *LayerWriter { return &LayerWriter{tar.NewWriter(w)} }

// Close ends the archive.
func (a *LayerWriter) Close() error { return a.w.Close() }

// Add adds an entry; content are the Size bytes of a File that is no further name of another one. Folders come before what
// is in them, and the first name of a file before its others.
func (a *LayerWriter) Add(e *Entry, content io.Reader) error {
	h := &tar.Header{Name: e.Path, Mode: int64(e.Mode), Uid: e.UID, Gid: e.GID, ModTime: time.Unix(0, e.MtimeNs), Format: tar.FormatPAX}
	dir, base := Split(e.Path)
	if e.Kind != Whiteout && e.Kind != Opaque && strings.HasPrefix(base, whiteoutPrefix) {
		return fmt.Errorf("/%s: names beginning with %s are reserved in image layers", e.Path, whiteoutPrefix)
	}
	for name, value := range e.Xattrs {
		if h.PAXRecords == nil {
			h.PAXRecords = map[string]string{}
		}
		h.PAXRecords[xattrPrefix+name] = value
	}
	switch e.Kind {
	case Folder:
		h.Typeflag, h.Name = tar.TypeDir, e.Path+"/"
	case Symlink:
		h.Typeflag, h.Linkname = tar.TypeSymlink, e.Target
	case FIFO:
		h.Typeflag = tar.TypeFifo
	case Whiteout:
		h = &tar.Header{Name: path.Join(dir, whiteoutPrefix+base), Typeflag: tar.TypeReg, Mode: 0o600, ModTime: time.Unix(0, 0), Format: tar.FormatPAX}
	case Opaque:
		h = &tar.Header{Name: path.Join(e.Path, opaqueName), Typeflag: tar.TypeReg, Mode: 0o600, ModTime: time.Unix(0, 0), Format: tar.FormatPAX}
	case File:
		h.Typeflag, h.Size = tar.TypeReg, e.Size
		if e.First != "" {
			h.Typeflag, h.Linkname, h.Size = tar.TypeLink, e.First, 0
		}
	}
	if err := a.w.WriteHeader(h); err != nil {
		return fmt.Errorf("/%s: %w", e.Path, err)
	}
	if h.Typeflag != tar.TypeReg || h.Size == 0 {
		return nil
	}
	if n, err := io.Copy(a.w, content); err != nil {
		return fmt.Errorf("/%s: %w", e.Path, err)
	} else if n != h.Size {
		return fmt.Errorf("/%s has only %d of its %d bytes", e.Path, n, h.Size)
	}
	return nil
}
