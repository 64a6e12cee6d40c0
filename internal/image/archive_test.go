package image

import (
	"archive/tar"
	"bytes"
	"io"
	"testing"

	"github.com/bloodhound-dst/bloodhound/internal/image/rootfs"
)

func TestWriteArchive(t *testing.T) {
	s := store(t)
	l, diff, err := unpack(bytes.NewReader(names(t, tar.Header{Typeflag: tar.TypeDir, Name: "a/", Mode: 0o755},
		tar.Header{Name: "a/x", Linkname: "content", Mode: 0o4755, Uid: 7},
		tar.Header{Typeflag: tar.TypeLink, Name: "a-b", Linkname: "a/x"}, tar.Header{Name: "empty"},
		tar.Header{Typeflag: tar.TypeSymlink, Name: "s", Linkname: "a"})), nil, s.keepFile, &size{})
	if err != nil {
		t.Fatal(diff, err)
	}
	img := &Image{Root: rootfs.Root{Tree: rootfs.NewTree(l), Contents: s.Files()}}
	var b bytes.Buffer
	if err := img.WriteArchive(&b); err != nil {
		t.Fatal(err)
	}
	got := map[string]string{}
	for r := tar.NewReader(&b); ; {
		h, err := r.Next()
		if err == io.EOF {
			break
		}
		if err != nil {
			t.Fatal(err)
		}
		text, _ := io.ReadAll(r)
		got[h.Name] = string(h.Typeflag) + h.Linkname + string(text)
		if h.Name == "a/x" && (h.Mode != 0o4755 || h.Uid != 7) {
			t.Errorf("%+v", h)
		}
	}
	want := map[string]string{"a/": "5", "a/x": "0content", "a-b": "1a/x", "empty": "0", "s": "2a"}
	if len(got) != len(want) {
		t.Errorf("%q", got)
	}
	for name, text := range want {
		if got[name] != text {
			t.Errorf("%s is %q, not %q", name, got[name], text)
		}
	}
}
