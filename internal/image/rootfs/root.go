package rootfs

import (
	"io"
	"io/fs"
	"os"
	"path"
	"path/filepath"
)

// Root is the files of an image.
type Root struct {
	Tree     *Tree
	Contents string // the folder at or below which the contents of files lie
}

// File is where the content with a digest lies.
func (r *Root) File(digest string) string { return ContentPath(r.Contents, digest) }

// ContentPath returns the path of the content with a digest, in a folder of contents.
func ContentPath(contents, digest string) string {
	return filepath.Join(contents, digest[:2], digest)
}

// ReadFile reads a file. The path is relative to the root; links are not followed.
func (r *Root) ReadFile(path string) ([]byte, error) {
	e := r.Tree.Lookup(path)
	if e == nil || e.Kind != File {
		return nil, &fs.PathError{Op: "open", Path: path, Err: fs.ErrNotExist}
	}
	return os.ReadFile(r.File(e.Digest))
}

// WriteArchive writes all files as one archive of tar.
func (r *Root) WriteArchive(w io.Writer) error {
	a := rootWriter{r, NewLayerWriter(w), map[string]string{}}
	if err := a.below(""); err != nil {
		return err
	}
	return a.layer.Close()
}

// rootWriter writes a root; written has, of each file, the name that was written first.
type rootWriter struct {
	*Root
	layer   *LayerWriter
	written map[string]string
}

func (a *rootWriter) below(dir string) error {
	for _, name := range a.Tree.Names(dir) {
		p := path.Join(dir, name)
		e := *a.Tree.Lookup(p)
		if err := a.add(&e); err != nil {
			return err
		}
		if e.Kind == Folder {
			if err := a.below(p); err != nil {
				return err
			}
		}
	}
	return nil
}

func (a *rootWriter) add(e *Entry) error {
	if e.Kind != File {
		return a.layer.Add(e, nil)
	}
	file := a.Tree.Same(e.Path)
	e.First = a.written[file]
	if e.First == "" {
		a.written[file] = e.Path
	}
	if e.First != "" || e.Size == 0 {
		return a.layer.Add(e, nil)
	}
	f, err := os.Open(a.File(e.Digest))
	if err != nil {
		return err
	}
	defer f.Close()
	return a.layer.Add(e, f)
}
