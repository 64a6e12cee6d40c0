package image

import (
	"io"
	"os"
	"path"
)

// WriteRoot writes all files of an image as one archive of tar.
func (i *Image) WriteRoot(w io.Writer) error {
	a := rootWriter{i, newLayerWriter(w), map[string]string{}}
	if err := a.below(""); err != nil {
		return err
	}
	return a.layer.Close()
}

// rootWriter writes an image; written has, of each file, the name that was written first.
type rootWriter struct {
	*Image
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
	f, err := os.Open(a.store.File(e.Digest))
	if err != nil {
		return err
	}
	defer f.Close()
	return a.layer.Add(e, f)
}
