package image

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/gob"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"hash"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"

	"github.com/bloodhound-dst/bloodhound/internal/image/rootfs"
	v1 "github.com/google/go-containerregistry/pkg/v1"
	"golang.org/x/sys/unix"
)

// Store keeps images unpacked. Several processes may use one at once.
type Store struct {
	dir  string
	lock *os.File

	mu     sync.Mutex
	images map[string]*Image // those that were loaded or assembled, by id

	assembled int // images that were
}

// DefaultDir is where images are kept: BLOODHOUND_IMAGES, or images in the user's cache folder.
func DefaultDir() (string, error) {
	if dir := os.Getenv("BLOODHOUND_IMAGES"); dir != "" {
		return filepath.Abs(dir)
	}
	cache, err := os.UserCacheDir()
	if err != nil {
		return "", fmt.Errorf("no folder to store images in: %w; set BLOODHOUND_IMAGES to one", err)
	}
	return filepath.Join(cache, "bloodhound", "images"), nil
}

var folders = []string{"files", "layers", "images", "references", "builds", "partial", "tmp"}

// Open opens a store, and makes it if it is not there. While it is open, nothing is collected from it.
func Open(dir string) (*Store, error) {
	for _, f := range folders {
		if err := os.MkdirAll(filepath.Join(dir, f), 0o755); err != nil {
			return nil, fmt.Errorf("the image store: %w; set BLOODHOUND_IMAGES to a folder that you may write to", err)
		}
	}
	lock, err := os.OpenFile(filepath.Join(dir, "lock"), os.O_RDWR|os.O_CREATE, 0o644)
	if err != nil {
		return nil, fmt.Errorf("the image store: %w", err)
	}
	if err := unix.Flock(int(lock.Fd()), unix.LOCK_SH); err != nil {
		lock.Close()
		return nil, fmt.Errorf("the image store: %w", err)
	}
	return &Store{dir: dir, lock: lock, images: map[string]*Image{}}, nil
}

// Close lets others collect.
func (s *Store) Close() error { return s.lock.Close() }

// File is where the content with a digest lies.
func (s *Store) File(digest string) string { return rootfs.ContentPath(s.Files(), digest) }

// Files is the folder at or below which all contents lie.
func (s *Store) Files() string { return s.path("files") }

func (s *Store) path(parts ...string) string {
	return filepath.Join(append([]string{s.dir}, parts...)...)
}

// Reference records the image that a name meant when it was pulled.
type Reference struct {
	Name     string `json:"name"`     // as the user wrote it
	Platform string `json:"platform"` // os/architecture[/variant]
	ID       string `json:"id"`       // of the image: the digest of its configuration, sha256:...
	Manifest string `json:"manifest"` // digest of its manifest, as its source had it
}

// Image is an image of the store.
type Image struct {
	ID     string        // digest of its configuration, sha256:...
	Config v1.ConfigFile // what its author wants of a container
	rootfs.Root
	Bytes int64 // size of its layers' contents
}

// algorithm begins the digests that images name things by.
const algorithm = "sha256:"

func hexOf(id string) string { return strings.TrimPrefix(id, algorithm) }

func hexDigest(b []byte) string {
	sum := sha256.Sum256(b)
	return hex.EncodeToString(sum[:])
}

// Find is the image that a name meant when it was last pulled. The error of one that was not is fs.ErrNotExist.
func (s *Store) Find(name, platform string) (*Reference, error) {
	b, err := os.ReadFile(s.referencePath(name, platform))
	if err != nil {
		return nil, err
	}
	var r Reference
	if err := json.Unmarshal(b, &r); err != nil {
		return nil, fmt.Errorf("%s: %w; run `bloodhound image pull %s` to restore it", s.referencePath(name, platform), err, name)
	}
	return &r, nil
}

func (s *Store) referencePath(name, platform string) string {
	return s.path("references", hexDigest([]byte(name+"\n"+platform)))
}

// References are all names of the store, in order.
func (s *Store) References() ([]Reference, error) {
	files, err := os.ReadDir(s.path("references"))
	if err != nil {
		return nil, err
	}
	var all []Reference
	for _, f := range files {
		b, err := os.ReadFile(s.path("references", f.Name()))
		var r Reference
		if err != nil || json.Unmarshal(b, &r) != nil {
			continue // removed meanwhile, or not ours
		}
		all = append(all, r)
	}
	slices.SortFunc(all, func(a, b Reference) int { return strings.Compare(a.Name+"\n"+a.Platform, b.Name+"\n"+b.Platform) })
	return all, nil
}

// Root gives the files of an image of the store.
func (s *Store) Root(ctx context.Context, id string) (*rootfs.Root, error) {
	img, err := s.Image(ctx, id)
	if err != nil {
		return nil, err
	}
	return &img.Root, nil
}

// Image loads an image by its id, once: all worlds share it, and it must not be changed.
func (s *Store) Image(ctx context.Context, id string) (*Image, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if img := s.images[id]; img != nil {
		return img, nil
	}
	img, err := s.load(ctx, id)
	if err == nil {
		s.images[id] = img
	}
	return img, err
}

func (s *Store) load(ctx context.Context, id string) (*Image, error) {
	raw, err := os.ReadFile(s.path("images", hexOf(id)))
	if err != nil {
		return nil, fmt.Errorf("image %s is not in the store: %w", id, err)
	}
	if hexDigest(raw) != hexOf(id) {
		return nil, fmt.Errorf("the store's configuration of image %s is damaged; run `bloodhound image pull` again", id)
	}
	img := &Image{ID: id, Root: rootfs.Root{Contents: s.Files()}}
	if err := json.Unmarshal(raw, &img.Config); err != nil {
		return nil, fmt.Errorf("the configuration of image %s: %w", id, err)
	}
	if err := checkLayers(len(img.Config.RootFS.DiffIDs)); err != nil {
		return nil, fmt.Errorf("image %s: %w", id, err)
	}
	var layers []*rootfs.Layer
	for _, diff := range img.Config.RootFS.DiffIDs {
		l, err := s.layer(ctx, diff.String())
		if err != nil {
			return nil, fmt.Errorf("layer %s of image %s: %w", diff, id, err)
		}
		layers = append(layers, l)
	}
	img.Tree = rootfs.NewTree(layers...)
	img.Bytes = img.Tree.Bytes()
	return img, nil
}

func (s *Store) layerPath(diff string) string { return s.path("layers", hexOf(diff)) }

// A layer's index begins with the digest of the rest, so that one that a crash of this machine has cut is not believed.
func (s *Store) layer(ctx context.Context, diff string) (*rootfs.Layer, error) {
	b, err := os.ReadFile(s.layerPath(diff))
	if err != nil {
		return nil, err
	}
	if len(b) < sha256.Size {
		return nil, errDamaged
	}
	if sum := sha256.Sum256(b[sha256.Size:]); !bytes.Equal(sum[:], b[:sha256.Size]) {
		return nil, errDamaged
	}
	var l rootfs.Layer
	if err := gob.NewDecoder(bytes.NewReader(b[sha256.Size:])).Decode(&l); err != nil {
		return nil, errDamaged
	}
	for i := range l.Entries {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		if e := &l.Entries[i]; e.Kind == rootfs.File {
			if st, err := os.Stat(s.File(e.Digest)); err != nil || st.Size() != e.Size {
				return nil, errDamaged
			}
		}
	}
	return &l, nil
}

var errDamaged = errors.New("it is damaged in the store; run `bloodhound image pull` again")

func (s *Store) writeLayer(diff string, l *rootfs.Layer) error {
	var b bytes.Buffer
	b.Write(make([]byte, sha256.Size))
	if err := gob.NewEncoder(&b).Encode(l); err != nil {
		return err
	}
	sum := sha256.Sum256(b.Bytes()[sha256.Size:])
	copy(b.Bytes(), sum[:])
	// The contents must be on the disk before an index speaks of them.
	if err := flush(s.dir); err != nil {
		return err
	}
	return s.write(s.layerPath(diff), b.Bytes())
}

// write puts a file into its place whole.
func (s *Store) write(path string, b []byte) error {
	f, err := os.CreateTemp(s.path("tmp"), "")
	if err != nil {
		return err
	}
	defer os.Remove(f.Name())
	_, err = f.Write(b)
	err = errors.Join(err, f.Sync(), f.Chmod(0o444), f.Close())
	if err != nil {
		return err
	}
	return os.Rename(f.Name(), path)
}

// keepFile stores a content.
func (s *Store) keepFile(r io.Reader) (string, int64, error) {
	f, err := os.CreateTemp(s.path("tmp"), "")
	if err != nil {
		return "", 0, err
	}
	defer os.Remove(f.Name())
	sum := sha256.New()
	out := &sparse{f: f}
	n, err := io.Copy(io.MultiWriter(out, sum), r)
	if err == nil {
		err = f.Truncate(out.n)
	}
	digest := hexSum(sum)
	// A program is executed from its place here, so it must be executable, whatever the image says of its mode.
	if err = errors.Join(err, f.Chmod(0o555), f.Close()); err != nil {
		return "", 0, err
	}
	to := s.File(digest)
	if err := os.MkdirAll(filepath.Dir(to), 0o755); err != nil {
		return "", 0, err
	}
	if st, err := os.Stat(to); err == nil && st.Size() == n {
		return digest, n, nil
	}
	return digest, n, os.Rename(f.Name(), to)
}

// sparse writes a file and leaves out its zeros: whoever says that a file is large must not fill the disk by that.
type sparse struct {
	f *os.File
	n int64 // bytes so far; the file may be shorter
}

// holeBytes is how many zeros are left out at once.
const holeBytes = 4096

func (s *sparse) Write(p []byte) (written int, err error) {
	var zeros [holeBytes]byte
	for written < len(p) {
		part := p[written:min(len(p), written+holeBytes)]
		if !bytes.Equal(part, zeros[:len(part)]) {
			if _, err := s.f.WriteAt(part, s.n); err != nil {
				return written, err
			}
		}
		written += len(part)
		s.n += int64(len(part))
	}
	return written, nil
}

func hexSum(h hash.Hash) string { return hex.EncodeToString(h.Sum(nil)) }

// Collected counts the objects that a collection removed.
type Collected struct {
	Images, Layers, Files int
	Bytes                 int64
}

// errBusy is that another process uses a store.
var errBusy = errors.New("another bloodhound is using the image store; try again when it has finished")

// Collect removes what no reference leads to; with all, the references too. No other process may use the store meanwhile.
func (s *Store) Collect(ctx context.Context, all bool) (c Collected, err error) {
	if err := unix.Flock(int(s.lock.Fd()), unix.LOCK_EX|unix.LOCK_NB); err != nil {
		return c, errBusy
	}
	defer unix.Flock(int(s.lock.Fd()), unix.LOCK_SH)
	s.mu.Lock()
	clear(s.images)
	s.mu.Unlock()
	used := map[string]bool{}
	if all {
		if err := sweep(s.path("references"), nil, nil, nil); err != nil {
			return c, err
		}
	}
	refs, err := s.References()
	if err != nil {
		return c, err
	}
	for _, r := range refs {
		raw, err := os.ReadFile(s.path("images", hexOf(r.ID)))
		if err != nil {
			continue
		}
		used[hexOf(r.ID)] = true
		var config v1.ConfigFile
		if json.Unmarshal(raw, &config) != nil {
			continue
		}
		for _, diff := range config.RootFS.DiffIDs {
			used[diff.Hex] = true
			l, err := s.layer(ctx, diff.String())
			if ctx.Err() != nil { // nothing may go only because its layer was not read
				return c, ctx.Err()
			}
			if err != nil {
				continue
			}
			for i := range l.Entries {
				used[l.Entries[i].Digest] = true
			}
		}
	}
	return c, errors.Join(s.forget(used),
		sweep(s.path("images"), used, &c.Images, &c.Bytes), sweep(s.path("layers"), used, &c.Layers, &c.Bytes),
		sweep(s.path("files"), used, &c.Files, &c.Bytes), sweep(s.path("partial"), nil, nil, &c.Bytes), sweep(s.path("tmp"), nil, nil, &c.Bytes))
}

// sweep removes the files of a folder whose names are not used, and counts them.
func sweep(dir string, used map[string]bool, files *int, bytes *int64) error {
	return filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() || used[d.Name()] {
			return err
		}
		if st, err := d.Info(); err == nil && bytes != nil {
			*bytes += st.Size()
		}
		if files != nil {
			*files++
		}
		return os.Remove(path)
	})
}
