package build

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	v1 "github.com/google/go-containerregistry/pkg/v1"

	"github.com/bloodhound-dst/bloodhound/internal/image"
	"github.com/bloodhound-dst/bloodhound/internal/image/rootfs"
	"github.com/bloodhound-dst/bloodhound/internal/regular"
)

// Request describes an image to build, in the terms of Compose's `build`.
type Request struct {
	Name       string            // under which the store keeps the image
	Context    string            // an absolute folder
	Dockerfile string            // absolute, or relative to the context; empty is Dockerfile there
	Inline     string            // what is in it, in the place of a file
	Target     string            // a stage; empty is the last one
	Args       map[string]string // build arguments
	Contexts   map[string]Source // named contexts, which go before stages and images
	Labels     map[string]string
	Secrets    map[string]Secret // by id
	ExtraHosts []Host
	ShmBytes   int64
	NoCache    bool     // run all steps anew
	Uncached   []string // stages of which to run all steps anew
	Pull       bool     // ask registries for the images that stages begin with, even if the store has them
}

// Source is a named context: a folder, or an image.
type Source struct {
	Dir   string // absolute
	Image func(context.Context) (*image.Image, error)
}

// Secret is a secret that a RUN --mount=type=secret may read.
type Secret struct {
	File  string // absolute
	Value []byte // of one without a file
}

// Host is a line of the hosts file in RUN.
type Host struct{ Name, IP string }

// Builder builds images into a store.
type Builder struct {
	Store *image.Store
	// Image finds the image that a stage begins with, or that files are copied from.
	Image func(ctx context.Context, name string, pull bool) (*image.Image, error)
	Run   Runner
	// Report prints a step that is done, or something worth knowing.
	Report func(text string)
}

// Error is a mistake in a Dockerfile, or what failed there.
type Error struct {
	File   string
	Line   int // 0 where it is about no line
	Text   string
	Remedy string
	// Output are the last lines that a command printed.
	Output []string
}

func (e *Error) Error() string {
	var b strings.Builder
	b.WriteString(e.File)
	if e.Line > 0 {
		fmt.Fprintf(&b, ":%d", e.Line)
	}
	b.WriteString(": " + e.Text)
	if e.Remedy != "" {
		b.WriteString("; " + e.Remedy)
	}
	for _, line := range e.Output {
		b.WriteString("\n  | " + line)
	}
	return b.String()
}

// epoch is the time of files of the context, and the earliest at which a step begins, as ns since 1970: 2025-01-01.
const epoch = 1735689600e9

// defaultPath is where commands of images that set no PATH are looked for.
const defaultPath = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"

// maxDockerfileBytes bounds a Dockerfile.
const maxDockerfileBytes = 16 << 20

// state is the state of a stage after a step.
type state struct {
	key    string // stands for all of its files
	config v1.ConfigFile
	args   []string // NAME=value: what ARG has declared
	// What follows is known of states that are done.
	layers []string // diff ids
	ns     int64    // the latest time that any of its files has
	caches []cached // of RUN --mount=type=cache, in the order of their names
	tree   *rootfs.Tree
}

// cached identifies the content of a cache.
type cached struct {
	ID   string
	Diff string // the layer with the cache's content, at the root
}

func (s *state) clone() *state {
	c := *s
	c.config = *s.config.DeepCopy()
	c.layers, c.caches, c.args = slices.Clone(s.layers), slices.Clone(s.caches), slices.Clone(s.args)
	return &c
}

// Build makes the image of a request, or finds it.
func (b *Builder) Build(ctx context.Context, r *Request) (*image.Image, error) {
	w := &work{Builder: b, ctx: ctx, request: r, stages: [2]map[int]*state{{}, {}}, folders: map[string]*folder{}, images: map[string]*state{}}
	defer w.close()
	if err := w.parse(); err != nil {
		return nil, err
	}
	target, err := w.file.target(r.Target)
	if err != nil {
		return nil, err
	}
	planned, err := w.stage(target, false)
	if err != nil {
		return nil, err
	}
	key := digest("image", planned.key, text(planned.config), text(r.Labels))
	if id, err := w.Store.Built(key); err == nil && !r.NoCache && len(r.Uncached) == 0 {
		if img, err := w.Store.Image(ctx, string(id)); err == nil {
			return img, w.Store.Refer(name(r), img.ID)
		}
	}
	done, err := w.stage(target, true)
	if err != nil {
		return nil, err
	}
	img, err := w.Store.AddImage(ctx, name(r), done.image(r.Labels))
	if err != nil {
		return nil, err
	}
	return img, w.Store.Build(key, []byte(img.ID))
}

// image is the configuration of a state's image, with labels.
func (s *state) image(labels map[string]string) *v1.ConfigFile {
	c := s.config.DeepCopy()
	for k, v := range labels {
		if c.Config.Labels == nil {
			c.Config.Labels = map[string]string{}
		}
		c.Config.Labels[k] = v
	}
	c.Created = v1.Time{Time: time.Unix(0, s.ns).UTC()}
	c.RootFS = v1.RootFS{Type: "layers"}
	for _, diff := range s.layers {
		c.RootFS.DiffIDs = append(c.RootFS.DiffIDs, v1.Hash{Algorithm: "sha256", Hex: strings.TrimPrefix(diff, "sha256:")})
	}
	return c
}

// name is that by which the store keeps what was built from being collected. No image of a registry can have it.
func name(r *Request) string { return "dockerfile://" + r.Name }

// work is one build.
type work struct {
	*Builder
	ctx     context.Context
	request *Request
	file    *dockerfile
	stages  [2]map[int]*state // what stages are in the end: planned, and done
	folders map[string]*folder
	images  map[string]*state

	meta     []string // see metaArgs
	expanded int64    // bytes that variables have become
	exposed  int      // ports that EXPOSE has named
}

func (w *work) close() {
	for _, f := range w.folders {
		f.close()
	}
}

func (w *work) report(format string, args ...any) {
	if w.Report != nil {
		w.Report(fmt.Sprintf(format, args...))
	}
}

// parse reads the Dockerfile.
func (w *work) parse() error {
	r := w.request
	if st, err := os.Stat(r.Context); err != nil || !st.IsDir() {
		if remote(r.Context) {
			return &Error{File: r.Context, Text: "the build context must be a folder on this machine", Remedy: "fetch it, and set `context:` to its folder"}
		}
		return &Error{File: r.Context, Text: "the context is not an existing folder", Remedy: "set `context:` to a folder"}
	}
	if r.Inline != "" {
		f, err := parseDockerfile("dockerfile_inline", []byte(r.Inline))
		w.file = f
		return err
	}
	path := cmp.Or(r.Dockerfile, "Dockerfile")
	if !filepath.IsAbs(path) {
		path = filepath.Join(r.Context, path)
	}
	content, err := regular.Read(path, maxDockerfileBytes)
	if errors.Is(err, fs.ErrNotExist) && r.Dockerfile == "" {
		if lower, e := regular.Read(filepath.Join(r.Context, "dockerfile"), maxDockerfileBytes); e == nil { // as Docker does
			content, err = lower, nil
		}
	}
	shown := path
	if rel, e := filepath.Rel(r.Context, path); e == nil && filepath.IsLocal(rel) {
		shown = rel
	}
	if err != nil {
		return &Error{File: shown, Text: "cannot read the Dockerfile: " + err.Error(), Remedy: "set its path with `dockerfile:`"}
	}
	if w.file, err = parseDockerfile(shown, content); err != nil {
		return err
	}
	w.file.path = path
	return nil
}

func remote(context string) bool {
	return strings.Contains(context, "://") || strings.HasPrefix(context, "git@") || strings.HasPrefix(context, "github.com/")
}
