// Package imagetest makes container images for tests out of the files of this machine: programs with the libraries that they
// need, and all files of Debian's packages.
package imagetest

import (
	"archive/tar"
	"bytes"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/empty"
	"github.com/google/go-containerregistry/pkg/v1/layout"
	"github.com/google/go-containerregistry/pkg/v1/mutate"
	"github.com/google/go-containerregistry/pkg/v1/tarball"

	"github.com/bloodhound-dst/bloodhound/internal/testkit/needs"
)

// Root is the tree of an image in the making.
type Root struct {
	t     testing.TB
	names map[string]*tar.Header
	files map[string][]byte
}

// New is a root with nothing but /tmp.
func New(t testing.TB) *Root {
	r := &Root{t: t, names: map[string]*tar.Header{}, files: map[string][]byte{}}
	r.Folder("/tmp", 0o1777, 0)
	return r
}

func (r *Root) put(h tar.Header, content []byte) {
	h.Name = strings.TrimPrefix(h.Name, "/")
	h.ModTime = time.Unix(1700000000, 0)
	for dir := filepath.Dir(h.Name); dir != "."; dir = filepath.Dir(dir) {
		if r.names[dir] == nil {
			r.names[dir] = &tar.Header{Name: dir, Typeflag: tar.TypeDir, Mode: 0o755, ModTime: h.ModTime}
		}
	}
	h.Size = int64(len(content))
	r.names[h.Name], r.files[h.Name] = &h, content
}

// Folder adds an empty folder.
func (r *Root) Folder(path string, mode int64, uid int) {
	r.put(tar.Header{Name: path, Typeflag: tar.TypeDir, Mode: mode, Uid: uid, Gid: uid}, nil)
}

// Text adds a file.
func (r *Root) Text(path string, mode int64, content string) {
	r.put(tar.Header{Name: path, Typeflag: tar.TypeReg, Mode: mode}, []byte(content))
}

// Link adds a symlink.
func (r *Root) Link(path, target string) {
	r.put(tar.Header{Name: path, Typeflag: tar.TypeSymlink, Linkname: target, Mode: 0o777}, nil)
}

// Copy adds a file, a link with what it leads to, or a folder with all that is below it, from this machine. A path behind a
// link that is a folder (/lib, on merged systems) is copied to where it really lies, and the link too.
func (r *Root) Copy(path string) {
	r.t.Helper()
	dir := filepath.Dir(path)
	if real, err := filepath.EvalSymlinks(dir); err == nil && real != dir {
		r.Copy(filepath.Join(real, filepath.Base(path)))
		for d := dir; d != "/"; d = filepath.Dir(d) {
			if to, err := os.Readlink(d); err == nil {
				r.Link(d, to)
			}
		}
		return
	}
	st, err := os.Lstat(path)
	if err != nil {
		r.t.Fatal(err)
	}
	switch {
	case st.Mode()&os.ModeSymlink != 0:
		to, err := os.Readlink(path)
		if err != nil {
			r.t.Fatal(err)
		}
		r.Link(path, to)
		if !filepath.IsAbs(to) {
			to = filepath.Join(filepath.Dir(path), to)
		}
		if _, err := os.Stat(to); err == nil && r.names[strings.TrimPrefix(to, "/")] == nil {
			r.Copy(to)
		}
	case st.IsDir():
		r.Folder(path, int64(st.Mode().Perm()), 0)
		entries, err := os.ReadDir(path)
		if err != nil {
			r.t.Fatal(err)
		}
		for _, e := range entries {
			r.Copy(filepath.Join(path, e.Name()))
		}
	case st.Mode().IsRegular():
		content, err := os.ReadFile(path)
		if err != nil {
			r.t.Fatal(err)
		}
		r.put(tar.Header{Name: path, Typeflag: tar.TypeReg, Mode: int64(st.Mode().Perm())}, content)
	}
}

// CopyTo adds a file, or a folder with all that is below it, at another place than it has on this machine.
func (r *Root) CopyTo(from, to string) {
	r.t.Helper()
	err := filepath.WalkDir(from, func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		info, err := d.Info()
		if err != nil {
			return err
		}
		at := to + strings.TrimPrefix(path, from)
		switch {
		case d.IsDir():
			r.Folder(at, int64(info.Mode().Perm()), 0)
		case info.Mode().IsRegular():
			content, err := os.ReadFile(path)
			if err != nil {
				return err
			}
			r.put(tar.Header{Name: at, Typeflag: tar.TypeReg, Mode: int64(info.Mode().Perm())}, content)
		}
		return nil
	})
	if err != nil {
		r.t.Fatal(err)
	}
}

// Program adds a program or a library and the libraries that it needs, with the loader, and gives its path. A bare name is
// looked for in PATH and in /usr/sbin.
func (r *Root) Program(name string) string {
	r.t.Helper()
	path := name
	if !strings.Contains(name, "/") {
		found, err := exec.LookPath(name)
		if err != nil {
			found = "/usr/sbin/" + name
		}
		path = found
	}
	r.Copy(path)
	r.libraries(path)
	return path
}

func (r *Root) libraries(path string) {
	out, err := exec.Command("ldd", path).Output()
	if err != nil {
		return // static, or a script
	}
	for line := range strings.Lines(string(out)) {
		for _, word := range strings.Fields(line) {
			if strings.HasPrefix(word, "/") {
				r.Copy(strings.TrimSuffix(word, ":"))
			}
		}
	}
}

// Package adds all files of a Debian package that is installed, but for its documentation, with what its programs need.
func (r *Root) Package(name string) {
	r.t.Helper()
	out, err := exec.Command("dpkg", "-L", name).Output()
	if err != nil {
		needs.Missing(r.t, name, "Debian's package is not installed")
	}
	for path := range strings.Lines(string(out)) {
		path = strings.TrimSpace(path)
		if strings.HasPrefix(path, "/usr/share/doc") || strings.HasPrefix(path, "/usr/share/man") ||
			strings.HasPrefix(path, "/usr/share/locale") || path == "/." {
			continue
		}
		st, err := os.Lstat(path)
		switch {
		case err != nil:
		case st.IsDir():
			if r.names[strings.TrimPrefix(path, "/")] == nil {
				r.Folder(path, int64(st.Mode().Perm()), 0)
			}
		default:
			r.Copy(path)
			if st.Mode()&0o111 != 0 || strings.Contains(filepath.Base(path), ".so") {
				r.libraries(path)
			}
		}
	}
}

// User adds a user and a group to /etc/passwd and /etc/group.
func (r *Root) User(name string, id string) {
	for file, line := range map[string]string{"etc/passwd": name + ":x:" + id + ":" + id + "::/:/bin/sh\n", "etc/group": name + ":x:" + id + ":\n"} {
		content := string(r.files[file])
		if content == "" {
			content = strings.ReplaceAll(line, name, "root")
			content = strings.ReplaceAll(content, id, "0")
		}
		r.Text("/"+file, 0o644, content+line)
	}
}

// Archive is the tree as a layer.
func (r *Root) Archive() []byte {
	var b bytes.Buffer
	w := tar.NewWriter(&b)
	var names []string
	for n := range r.names {
		names = append(names, n)
	}
	slices.Sort(names)
	for _, n := range names {
		if err := w.WriteHeader(r.names[n]); err != nil {
			r.t.Fatal(err)
		}
		if _, err := w.Write(r.files[n]); err != nil {
			r.t.Fatal(err)
		}
	}
	if err := w.Close(); err != nil {
		r.t.Fatal(err)
	}
	return b.Bytes()
}

// Image is the tree as an image of one layer.
func (r *Root) Image(config v1.Config) v1.Image {
	r.t.Helper()
	archive := r.Archive()
	layer, err := tarball.LayerFromOpener(func() (io.ReadCloser, error) { return io.NopCloser(bytes.NewReader(archive)), nil })
	if err != nil {
		r.t.Fatal(err)
	}
	img, err := mutate.AppendLayers(empty.Image, layer)
	if err != nil {
		r.t.Fatal(err)
	}
	file, err := img.ConfigFile()
	if err != nil {
		r.t.Fatal(err)
	}
	file = file.DeepCopy()
	file.OS, file.Architecture, file.Config = "linux", "amd64", config
	if img, err = mutate.ConfigFile(img, file); err != nil {
		r.t.Fatal(err)
	}
	return img
}

// Layout writes an image into an OCI layout folder and gives its name, as a user writes it.
func Layout(t testing.TB, dir string, img v1.Image) string {
	t.Helper()
	path, err := layout.Write(dir, empty.Index)
	if err == nil {
		err = path.AppendImage(img)
	}
	if err != nil {
		t.Fatal(err)
	}
	return "oci:" + dir
}
