package image

import (
	"bytes"
	"compress/gzip"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"time"

	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/klauspost/compress/zstd"
	"golang.org/x/sys/unix"
)

// Options of a pull.
type Options struct {
	Platform string              // os/architecture[/variant]; HostPlatform if empty
	Mirrors  map[string][]string // of a registry: hosts to ask first, with http:// before those that speak no TLS
	Patience time.Duration       // how long a registry may say nothing; 30 s if 0
	Progress func(Progress)      // called while layers come that the store does not have, or nil
}

// Progress is how far a pull is.
type Progress struct {
	Image       string
	Layer       int // counted from 1
	Layers      int
	Bytes, Size int64 // of the compressed layer; Size is -1 if unknown
	Unpacked    bool  // the layer is in the store
}

// attempts is how often a layer is fetched; each continues where the one before it has ended.
const attempts = 3

// Policy says when an image is pulled; the words are Compose's.
type Policy string

const (
	Missing Policy = "missing" // if the store does not have it; the default
	Always  Policy = "always"
	Never   Policy = "never"
)

// Get finds an image in the store, and pulls it as the policy says. What lies in a file of this machine is always looked at
// again: it may have changed, and a look costs little.
func (s *Store) Get(ctx context.Context, text, dir string, policy Policy, o Options) (*Image, error) {
	source, err := Parse(text, dir)
	if err != nil {
		return nil, err
	}
	if policy != Always {
		ref, err := s.Find(text, o.platform())
		if err != nil && policy == Never {
			return nil, fmt.Errorf("image %s is not in the store, and its pull_policy is never; run `bloodhound image pull %s`", text, text)
		}
		if err == nil && (policy == Never || isCurrent(ctx, source, ref)) {
			img, err := s.Image(ctx, ref.ID)
			if err == nil || policy == Never {
				return img, err
			}
		}
	}
	ref, err := s.Pull(ctx, text, dir, o)
	if err != nil {
		return nil, err
	}
	return s.Image(ctx, ref.ID)
}

// isCurrent reports whether a reference needs no pull: one of a registry, which is asked once, and one of a daemon that has the
// same image still, since it exports only whole ones.
func isCurrent(ctx context.Context, source Source, ref *Reference) bool {
	if source.Transport == Daemon {
		d, err := findDaemon(ctx, source.Reference)
		return err == nil && d.id == ref.ID
	}
	return source.Transport == Registry
}

func (o Options) platform() string {
	if o.Platform == "" {
		return HostPlatform
	}
	return o.Platform
}

// Pull brings an image into the store, and those of its layers that are not there yet. text is read by Parse.
func (s *Store) Pull(ctx context.Context, text, dir string, o Options) (*Reference, error) {
	source, err := Parse(text, dir)
	if err != nil {
		return nil, err
	}
	platform, err := parsePlatform(o.platform())
	if err != nil {
		return nil, err
	}
	var img v1.Image
	switch source.Transport {
	case Layout:
		img, err = fromLayout(source, platform)
	case Archive:
		img, err = fromArchive(ctx, source)
	case Daemon:
		var d *daemon
		var remove func()
		if d, err = findDaemon(ctx, source.Reference); err == nil {
			img, remove, err = d.export(ctx, s.path("tmp"))
		}
		if err == nil {
			defer remove()
		}
	default:
		img, err = fromRegistry(ctx, source, platform, o, s.path("partial"))
	}
	if err != nil {
		return nil, fmt.Errorf("cannot pull image %s: %w", text, err)
	}
	ref, err := s.storeImage(ctx, text, img, platform, o)
	if err != nil {
		return nil, fmt.Errorf("cannot pull image %s: %w", text, err)
	}
	return ref, nil
}

// maxConfigBytes bounds a configuration, which is held in memory.
const maxConfigBytes = 16 << 20

// storeImage unpacks an image, and then points its reference at it.
func (s *Store) storeImage(ctx context.Context, text string, img v1.Image, platform *v1.Platform, o Options) (*Reference, error) {
	manifest, err := img.Manifest()
	if err != nil {
		return nil, fmt.Errorf("its manifest: %w", err)
	}
	if err := checkLayers(len(manifest.Layers)); err != nil {
		return nil, err
	}
	if n := manifest.Config.Size; n < 0 || n > maxConfigBytes { // go-containerregistry reads -1 as "of any size"
		return nil, fmt.Errorf("its configuration has %d bytes, but the limit is %d", n, maxConfigBytes)
	}
	raw, err := img.RawConfigFile()
	if err != nil {
		return nil, fmt.Errorf("its configuration: %w", explainDisk(err))
	}
	if len(raw) > maxConfigBytes {
		return nil, fmt.Errorf("its configuration has %d bytes, but the limit is %d", len(raw), maxConfigBytes)
	}
	id := algorithm + hexDigest(raw)
	os.Remove(s.path("partial", manifest.Config.Digest.String()))
	if manifest.Config.Digest.String() != id {
		return nil, fmt.Errorf("its configuration has the digest %s, but its manifest says %s", id, manifest.Config.Digest)
	}
	digest, err := img.Digest()
	if err != nil {
		return nil, err
	}
	var config v1.ConfigFile
	if err := json.Unmarshal(raw, &config); err != nil {
		return nil, fmt.Errorf("its configuration: %w", err)
	}
	if p := config.Platform(); p == nil || !p.Satisfies(v1.Platform{OS: platform.OS, Architecture: platform.Architecture}) {
		return nil, fmt.Errorf("it is for %s, not for %s; use an image for this machine, or another --platform", p, platform)
	}
	if _, err := s.Image(ctx, id); err != nil {
		if err := s.unpackImage(ctx, text, img, &config, o); err != nil {
			return nil, err
		}
		if err := s.write(s.path("images", hexOf(id)), raw); err != nil {
			return nil, explainDisk(err)
		}
	}
	r := &Reference{Name: text, Platform: o.platform(), ID: id, Manifest: digest.String()}
	if was, err := s.Find(r.Name, r.Platform); err == nil && *was == *r {
		return r, nil
	}
	b, err := json.MarshalIndent(r, "", "  ")
	if err != nil {
		return nil, err
	}
	return r, explainDisk(s.write(s.referencePath(r.Name, r.Platform), append(b, '\n')))
}

// unpackImage brings those layers of an image that the store does not have.
func (s *Store) unpackImage(ctx context.Context, text string, img v1.Image, config *v1.ConfigFile, o Options) error {
	layers, err := img.Layers()
	if err != nil {
		return fmt.Errorf("its layers: %w", err)
	}
	if len(layers) != len(config.RootFS.DiffIDs) {
		return fmt.Errorf("it has %d layers, but its configuration lists %d", len(layers), len(config.RootFS.DiffIDs))
	}
	var all size
	for i, l := range layers {
		if err := ctx.Err(); err != nil {
			return err
		}
		want := config.RootFS.DiffIDs[i].String()
		p := Progress{Image: text, Layer: i + 1, Layers: len(layers)}
		if err := s.layerOf(ctx, l, want, p, o.Progress, &all); err != nil {
			return fmt.Errorf("layer %d of %d (%s): %w", i+1, len(layers), want, explainDisk(err))
		}
	}
	return nil
}

func explainDisk(err error) error {
	if errors.Is(err, unix.ENOSPC) || errors.Is(err, unix.EDQUOT) {
		return fmt.Errorf("%w; free space with `bloodhound image gc`, or set BLOODHOUND_IMAGES to a folder on another disk", err)
	}
	return err
}

// layerOf unpacks a layer, unless the store has it.
func (s *Store) layerOf(ctx context.Context, l v1.Layer, diff string, p Progress, report func(Progress), of *size) error {
	if report == nil {
		report = func(Progress) {}
	}
	if size, err := l.Size(); err == nil {
		p.Size = size
	} else {
		p.Size = -1
	}
	if known, err := s.layer(ctx, diff); err == nil {
		for i := range known.Entries {
			if err := of.add(&known.Entries[i]); err != nil {
				return err
			}
		}
		return nil
	}
	if err := ctx.Err(); err != nil {
		return err
	}
	before := *of
	digest, err := l.Digest()
	if err != nil {
		return err
	}
	var failed error
	for range attempts {
		of.entries, of.nameBytes = before.entries, before.nameBytes
		if failed = s.unpackLayer(ctx, l, diff, p, report, of); failed == nil {
			os.Remove(s.path("partial", digest.String()))
			p.Unpacked = true
			report(p)
			return nil
		}
		var bad *contentError
		wrong := errors.As(failed, &bad)
		part := s.path("partial", digest.String())
		if st, err := os.Stat(part); wrong || err == nil && p.Size >= 0 && st.Size() >= p.Size {
			os.Remove(part) // nothing can continue behind what is wrong
		}
		if wrong {
			return failed
		}
		if ctx.Err() != nil {
			return ctx.Err()
		}
	}
	return fmt.Errorf("%w (after %d attempts; the next pull resumes)", failed, attempts)
}

// contentError is that a layer came, and is wrong.
type contentError struct{ error }

func (e *contentError) Unwrap() error { return e.error }

func (s *Store) unpackLayer(ctx context.Context, l v1.Layer, diff string, p Progress, report func(Progress), of *size) error {
	body, err := l.Compressed()
	if err != nil {
		return err
	}
	defer body.Close()
	in := &watched{ctx: ctx, r: body, report: func(n int64) { p.Bytes = n; report(p) }}
	plain, done, err := decompress(in)
	if err != nil {
		return in.blame(err)
	}
	defer done()
	layer, got, err := unpack(plain, func() int64 { return in.n }, s.keepFile, of)
	if err != nil {
		return in.blame(err)
	}
	if _, err := io.Copy(io.Discard, in); err != nil {
		return in.blame(err)
	}
	if got != diff {
		return &contentError{fmt.Errorf("its content has the digest %s: it is corrupt, or the image was built incorrectly", got)}
	}
	return s.writeLayer(diff, layer)
}

// decompress looks at the first bytes of a layer: gzip, zstd, or none.
func decompress(r io.Reader) (io.Reader, func(), error) {
	head := make([]byte, 4)
	n, err := io.ReadFull(r, head)
	if err != nil && !errors.Is(err, io.ErrUnexpectedEOF) && !errors.Is(err, io.EOF) {
		return nil, nil, err
	}
	all := io.MultiReader(bytes.NewReader(head[:n]), r)
	switch {
	case n >= 2 && head[0] == 0x1f && head[1] == 0x8b:
		z, err := gzip.NewReader(all)
		if err != nil {
			return nil, nil, err
		}
		return z, func() { z.Close() }, nil
	case n == 4 && bytes.Equal(head, []byte{0x28, 0xb5, 0x2f, 0xfd}):
		z, err := zstd.NewReader(all, zstd.WithDecoderMaxMemory(256<<20), zstd.WithDecoderConcurrency(1))
		if err != nil {
			return nil, nil, err
		}
		return z, z.Close, nil
	}
	return all, func() {}, nil
}

// watched is a layer on its way.
type watched struct {
	ctx    context.Context
	r      io.Reader
	n      int64
	err    error // of the source, other than its end
	told   int64
	report func(int64)
}

func (w *watched) Read(p []byte) (int, error) {
	if err := w.ctx.Err(); err != nil {
		w.err = err
		return 0, err
	}
	n, err := w.r.Read(p)
	w.n += int64(n)
	if w.n-w.told >= 1<<20 {
		w.told = w.n
		w.report(w.n)
	}
	if err != nil && !errors.Is(err, io.EOF) {
		w.err = err
	}
	return n, err
}

// blame distinguishes an error of the source, after which a further try may succeed, from one of the content.
func (w *watched) blame(err error) error {
	if w.err != nil {
		return w.err
	}
	if errors.Is(err, unix.ENOSPC) || errors.Is(err, unix.EDQUOT) {
		return &contentError{err}
	}
	return &contentError{fmt.Errorf("it is corrupt or hostile: %w", err)}
}
