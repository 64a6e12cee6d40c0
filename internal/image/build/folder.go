package build

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"hash"
	"io"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"strings"
	"syscall"

	"github.com/moby/patternmatcher"
	"github.com/moby/patternmatcher/ignorefile"

	"github.com/bloodhound-dst/bloodhound/internal/image"
	"github.com/bloodhound-dst/bloodhound/internal/image/rootfs"
	"github.com/bloodhound-dst/bloodhound/internal/regular"
)

// files is a source of COPY.
type files struct {
	tree *rootfs.Tree
	// digest returns the digest of a File's content.
	digest func(e *rootfs.Entry) (string, error)
	open   func(e *rootfs.Entry) (io.ReadCloser, error)
	// key stands for all of them, where that is known; else digests of what is copied do.
	key string
	// owned says that files have the owners of an image; those of a folder become root's.
	owned bool
	// missing explains why a path is not there, or is empty.
	missing func(path string) string
}

// folder is a context: a folder of this machine, as a tree. Nothing is ever opened through a link that leads out of the folder.
type folder struct {
	ctx     context.Context // of the build
	dir     string
	root    *os.Root
	files   files
	digests map[string]string
	ignored *patternmatcher.PatternMatcher
}

// Bounds of a context: its names, the length of one (PATH_MAX), and the patterns of its .dockerignore.
const (
	maxContext        = 2 << 20
	maxNameBytes      = 4096
	maxIgnorePatterns = 4096
)

// stateFolder is where runs keep their own files: no part of a context, but its bin.
const stateFolder = ".bloodhound"

// folder opens a context, once.
func (w *work) folder(dir string) (*folder, error) {
	if f := w.folders[dir]; f != nil {
		return f, nil
	}
	root, err := os.OpenRoot(dir)
	if err != nil {
		return nil, &Error{File: dir, Text: "the context cannot be read as a folder: " + err.Error()}
	}
	f := &folder{ctx: w.ctx, dir: dir, root: root, digests: map[string]string{}}
	w.folders[dir] = f
	if err := f.ignore(w, dir == w.request.Context); err != nil {
		return nil, err
	}
	l := &rootfs.Layer{}
	if err := f.walk(l); err != nil {
		if w.ctx.Err() != nil {
			return nil, w.ctx.Err()
		}
		return nil, &Error{File: dir, Text: "the context cannot be read: " + err.Error(), Remedy: "exclude files that are not needed in .dockerignore"}
	}
	f.files = files{tree: rootfs.NewTree(l), digest: f.digest, open: f.open, missing: f.missing}
	return f, nil
}

func (f *folder) close() { f.root.Close() }

// maxIgnoreBytes bounds a .dockerignore.
const maxIgnoreBytes = 4 << 20

// ignore reads the patterns of what is no part of the context: of the file beside the Dockerfile that has its name, or else of
// .dockerignore.
func (f *folder) ignore(w *work, main bool) error {
	names := []string{filepath.Join(f.dir, ".dockerignore")}
	if main && w.file.path != "" {
		names = append([]string{w.file.path + ".dockerignore"}, names...)
	}
	for _, name := range names {
		b, err := regular.Read(name, maxIgnoreBytes)
		if errors.Is(err, fs.ErrNotExist) {
			continue
		}
		if err != nil {
			return &Error{File: name, Text: err.Error()}
		}
		patterns, err := ignorefile.ReadAll(strings.NewReader(string(b)))
		if len(patterns) > maxIgnorePatterns {
			err = fmt.Errorf("%d patterns, but the limit is %d", len(patterns), maxIgnorePatterns)
		}
		if err == nil && len(patterns) > 0 {
			f.ignored, err = patternmatcher.New(patterns)
		}
		if err != nil {
			return &Error{File: name, Text: err.Error(), Remedy: "see https://docs.docker.com/build/concepts/context/#dockerignore-files for the format"}
		}
		return nil
	}
	return nil
}

// walk lists the context.
func (f *folder) walk(l *rootfs.Layer) error {
	matches := map[string]patternmatcher.MatchInfo{}
	return fs.WalkDir(f.root.FS(), ".", func(name string, d fs.DirEntry, err error) error {
		if f.ctx.Err() != nil {
			return f.ctx.Err()
		}
		if name == "." {
			return err
		}
		if len(name) > maxNameBytes {
			return fmt.Errorf("the name of %.40s... has more than %d bytes", name, maxNameBytes)
		}
		dir, base := path.Split(name)
		if path.Base(dir) == stateFolder && base != "bin" {
			return skip(d)
		}
		if base == stateFolder {
			if _, err := f.root.Lstat(name + "/bin"); err != nil {
				return skip(d)
			}
		}
		left := false
		if f.ignored != nil {
			above := matches[strings.TrimSuffix(dir, "/")]
			var info patternmatcher.MatchInfo
			var e error
			if left, info, e = f.ignored.MatchesUsingParentResults(name, above); e != nil {
				return e
			}
			if d != nil && d.IsDir() {
				matches[name] = info
			}
			if left && d != nil && d.IsDir() && !f.ignored.Exclusions() {
				return fs.SkipDir
			}
		}
		if err != nil {
			if left {
				return skip(d)
			}
			return err
		}
		if left && !d.IsDir() {
			return nil
		}
		info, err := d.Info()
		if errors.Is(err, fs.ErrNotExist) {
			return nil // it went meanwhile
		}
		if err != nil {
			return err
		}
		if len(l.Entries) == maxContext {
			return fmt.Errorf("it has more than %d files", maxContext)
		}
		e := rootfs.Entry{Path: name, Mode: permissions(info.Mode()), MtimeNs: epoch}
		switch {
		case left: // a folder that is left out, with something in it that may be not
			return nil
		case info.IsDir():
			e.Kind = rootfs.Folder
		case info.Mode().IsRegular():
			e.Kind, e.Size = rootfs.File, info.Size()
		case info.Mode()&fs.ModeSymlink != 0:
			e.Kind, e.Mode = rootfs.Symlink, 0o777
			if e.Target, err = f.root.Readlink(name); err != nil {
				return err
			}
		default: // sockets, devices and pipes have no content to copy
			return nil
		}
		l.Entries = append(l.Entries, e)
		return nil
	})
}

func skip(d fs.DirEntry) error {
	if d != nil && d.IsDir() {
		return fs.SkipDir
	}
	return nil
}

// permissions returns the permissions in the form of chmod(2).
func permissions(m fs.FileMode) uint32 {
	p := uint32(m.Perm())
	for bit, mode := range specialBits {
		if m&mode != 0 {
			p |= bit
		}
	}
	return p
}

func (f *folder) digest(e *rootfs.Entry) (string, error) {
	if d := f.digests[e.Path]; d != "" {
		return d, nil
	}
	r, err := f.regular(e.Path)
	if err != nil {
		return "", err
	}
	defer r.Close()
	if e.Size > image.MaxLayerBytes {
		text := fmt.Sprintf("%s has %d bytes, but a layer may have only %d", e.Path, e.Size, int64(image.MaxLayerBytes))
		return "", &Error{Text: text, Remedy: "exclude it in .dockerignore"}
	}
	sum := sha256.New()
	if _, err := io.Copy(sum, image.Until(f.ctx, io.LimitReader(r, e.Size+1))); err != nil {
		return "", err
	}
	f.digests[e.Path] = hex.EncodeToString(sum.Sum(nil))
	return f.digests[e.Path], nil
}

// open opens a file, whose content must still be what its digest was made of.
func (f *folder) open(e *rootfs.Entry) (io.ReadCloser, error) {
	want, err := f.digest(e)
	if err != nil {
		return nil, err
	}
	r, err := f.regular(e.Path)
	if err != nil {
		return nil, err
	}
	return &steady{r: r, ctx: f.ctx, sum: sha256.New(), want: want, name: e.Path}, nil
}

// regular opens a file that may have become something else since it was listed.
func (f *folder) regular(name string) (*os.File, error) {
	r, err := f.root.OpenFile(name, os.O_RDONLY|syscall.O_NONBLOCK, 0)
	if err != nil {
		return nil, err
	}
	if st, err := r.Stat(); err != nil || !st.Mode().IsRegular() {
		r.Close()
		return nil, errors.Join(err, fmt.Errorf("%s is no longer a regular file", name))
	}
	return r, nil
}

// steady is a file that must not change while it is copied.
type steady struct {
	r          io.ReadCloser
	ctx        context.Context
	sum        hash.Hash
	want, name string
}

func (s *steady) Read(p []byte) (int, error) {
	if err := s.ctx.Err(); err != nil {
		return 0, err
	}
	n, err := s.r.Read(p)
	s.sum.Write(p[:n])
	if errors.Is(err, io.EOF) && hex.EncodeToString(s.sum.Sum(nil)) != s.want {
		return n, &Error{Text: fmt.Sprintf("%s changed while it was copied", s.name), Remedy: "try again when nothing writes to the context"}
	}
	return n, err
}

func (s *steady) Close() error { return s.r.Close() }

// missing explains why a path is not in the context.
func (f *folder) missing(p string) string {
	if _, err := f.root.Lstat(p); err == nil {
		return "the file exists, but .dockerignore excludes it"
	}
	return "the context is " + f.dir
}
