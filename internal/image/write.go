package image

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"

	"github.com/bloodhound-dst/bloodhound/internal/image/rootfs"
	v1 "github.com/google/go-containerregistry/pkg/v1"
	"golang.org/x/sys/unix"
)

// AddLayer unpacks a layer that fill writes into the store, like one that was pulled, and returns its diff id.
func (s *Store) AddLayer(ctx context.Context, fill func(*rootfs.LayerWriter) error) (string, error) {
	r, w := io.Pipe()
	filled := make(chan error, 1)
	go func() {
		a := rootfs.NewLayerWriter(w)
		err := fill(a)
		if err == nil {
			err = a.Close()
		}
		w.CloseWithError(err)
		filled <- err
	}()
	l, diff, err := unpack(Until(ctx, r), nil, s.keepFile, &size{})
	r.Close()
	if failed := <-filled; failed != nil && !errors.Is(failed, io.ErrClosedPipe) {
		err = failed
	}
	if err != nil {
		return "", explainDisk(err)
	}
	if _, err := s.layer(ctx, diff); err == nil {
		return diff, nil
	}
	return diff, explainDisk(s.writeLayer(diff, l))
}

// Layer is a layer of the store.
func (s *Store) Layer(ctx context.Context, diff string) (*rootfs.Layer, error) {
	return s.layer(ctx, diff)
}

// AddImage keeps the configuration of an image whose layers the store has, under a name that keeps both from being collected.
func (s *Store) AddImage(ctx context.Context, name string, config *v1.ConfigFile) (*Image, error) {
	raw, err := json.Marshal(config)
	if err != nil {
		return nil, err
	}
	id := algorithm + hexDigest(raw)
	if err := s.write(s.path("images", hexOf(id)), raw); err != nil {
		return nil, explainDisk(err)
	}
	img, err := s.Image(ctx, id)
	if err != nil {
		return nil, err
	}
	return img, s.Refer(name, id)
}

// Refer gives an image of the store a name, which keeps it from being collected.
func (s *Store) Refer(name, id string) error {
	if was, err := s.Find(name, HostPlatform); err == nil && was.ID == id {
		return nil
	}
	b, err := json.MarshalIndent(&Reference{Name: name, Platform: HostPlatform, ID: id}, "", "  ")
	if err != nil {
		return err
	}
	return explainDisk(s.write(s.referencePath(name, HostPlatform), append(b, '\n')))
}

// Assemble makes an image of layers that only this process has, until release is called: for a world that runs on a tree whose
// layers no other image needs. The store does not keep it.
func (s *Store) Assemble(config v1.ConfigFile, layers ...*rootfs.Layer) (img *Image, release func()) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.assembled++
	img = &Image{ID: fmt.Sprintf("assembled:%d", s.assembled), Config: config, Root: rootfs.Root{Tree: rootfs.NewTree(layers...), Contents: s.Files()}}
	s.images[img.ID] = img
	return img, func() {
		s.mu.Lock()
		defer s.mu.Unlock()
		delete(s.images, img.ID)
	}
}

// Keep stores a content and returns its digest and its size.
func (s *Store) Keep(r io.Reader) (string, int64, error) {
	digest, n, err := s.keepFile(r)
	return digest, n, explainDisk(err)
}

// Built returns the result of a build step, by a key that stands for everything it was made from. If there is none, the
// error is fs.ErrNotExist.
func (s *Store) Built(key string) ([]byte, error) { return os.ReadFile(s.path("builds", hexOf(key))) }

// Build remembers what a step of a build has led to: bytes that begin with the identity, sha256:..., of the image or the layer
// that they are worth keeping for.
func (s *Store) Build(key string, b []byte) error {
	return explainDisk(s.write(s.path("builds", hexOf(key)), b))
}

// forget removes what is remembered of builds for things that are not kept any more.
func (s *Store) forget(used map[string]bool) error {
	files, err := os.ReadDir(s.path("builds"))
	if err != nil {
		return err
	}
	for _, f := range files {
		name := s.path("builds", f.Name())
		b, err := os.ReadFile(name)
		if err == nil && len(b) >= len(algorithm)+64 && used[hexOf(string(b[:len(algorithm)+64]))] {
			continue
		}
		if err := os.Remove(name); err != nil && !errors.Is(err, unix.ENOENT) {
			return err
		}
	}
	return nil
}

// Unpack reads an archive of tar to its end, with all bounds of layers, and keeps its contents. compressed reports how many bytes of
// what it was compressed to were read so far.
func (s *Store) Unpack(ctx context.Context, r io.Reader, compressed func() int64) (*rootfs.Layer, error) {
	l, _, err := unpack(Until(ctx, r), compressed, s.keepFile, &size{})
	return l, explainDisk(err)
}
