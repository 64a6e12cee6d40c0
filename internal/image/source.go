package image

import (
	"archive/tar"
	"bufio"
	"bytes"
	"compress/gzip"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"strings"

	"github.com/google/go-containerregistry/pkg/name"
	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/layout"
	"github.com/google/go-containerregistry/pkg/v1/tarball"

	"github.com/bloodhound-dst/bloodhound/internal/regular"
)

// Transport says where an image comes from. The words are those of containers-transports(5).
type Transport string

const (
	Registry Transport = "docker"         // a registry; the default
	Layout   Transport = "oci"            // an OCI layout folder
	Archive  Transport = "docker-archive" // a file of `docker save`, compressed with gzip or not
	Daemon   Transport = "docker-daemon"  // a Docker or Podman daemon of this machine
)

// Source is a parsed name of an image: redis:7, registry.example/a/b@sha256:..., oci:folder:tag, docker-archive:file.tar:name,
// docker-daemon:name.
type Source struct {
	Transport Transport
	Path      string // of a layout or an archive
	Reference string // what to take there; of a layout and an archive it may be empty
}

// Parse reads a name. Relative paths are relative to dir.
func Parse(text, dir string) (Source, error) {
	transport, rest, ok := strings.Cut(text, ":")
	at := func() (string, string) {
		path, ref, _ := strings.Cut(rest, ":")
		if path != "" && !filepath.IsAbs(path) {
			path = filepath.Join(dir, path)
		}
		return path, ref
	}
	switch t := Transport(transport); {
	case ok && (t == Layout || t == Archive):
		path, ref := at()
		if path == "" {
			return Source{}, fmt.Errorf("%q has no path", text)
		}
		return Source{Transport: t, Path: path, Reference: ref}, nil
	case ok && t == Daemon:
		if rest == "" {
			return Source{}, fmt.Errorf("%q has no image name", text)
		}
		return Source{Transport: Daemon, Reference: rest}, nil
	case ok && t == Registry && strings.HasPrefix(rest, "//"):
		text = strings.TrimPrefix(rest, "//")
	}
	if _, err := name.ParseReference(text); err != nil {
		return Source{}, fmt.Errorf("%q is not a valid image name: %w", text, err)
	}
	return Source{Transport: Registry, Reference: text}, nil
}

// parsePlatform reads os/architecture[/variant].
func parsePlatform(text string) (*v1.Platform, error) {
	p, err := v1.ParsePlatform(text)
	if err != nil || p.OS == "" || p.Architecture == "" {
		return nil, fmt.Errorf("%q is not a platform; write one such as %s", text, HostPlatform)
	}
	return p, nil
}

// HostPlatform is the only one whose programs run here.
const HostPlatform = "linux/amd64"

// fromLayout finds an image in an OCI layout folder: the one of the asked name, or the only one.
func fromLayout(s Source, platform *v1.Platform) (v1.Image, error) {
	if err := checkSmall(filepath.Join(s.Path, "index.json")); err != nil {
		return nil, err
	}
	index, err := layout.ImageIndexFromPath(s.Path)
	if err != nil {
		return nil, fmt.Errorf("%s is not an OCI layout: %w", s.Path, err)
	}
	manifest, err := index.IndexManifest()
	if err != nil {
		return nil, fmt.Errorf("%s: %w", s.Path, err)
	}
	var found []v1.Descriptor
	var names []string
	for _, d := range manifest.Manifests {
		tag := d.Annotations["org.opencontainers.image.ref.name"]
		if tag != "" {
			names = append(names, tag)
		}
		if s.Reference == "" || tag == s.Reference || d.Digest.String() == strings.TrimPrefix(s.Reference, "@") {
			found = append(found, d)
		}
	}
	if len(found) == 0 {
		return nil, fmt.Errorf("%s has no image %q; it has %s", s.Path, s.Reference, list(names))
	}
	img, err := choose(index, found, platform, fmt.Sprintf("%s has several images, %s; choose one, as in oci:%s:NAME", s.Path, list(names), s.Path),
		func(d v1.Hash) error { return checkBlob(s.Path, d) }, 0)
	if err != nil {
		return nil, err
	}
	m, err := img.Manifest()
	if err != nil {
		return nil, fmt.Errorf("its manifest: %w", err)
	}
	return img, checkBlob(s.Path, m.Config.Digest)
}

// maxIndexes bounds indexes in indexes.
const maxIndexes = 8

// choose takes the image of a platform out of descriptors, through the indexes among them. several is the error if two fit. check, which
// may be nil, is asked before a manifest is read.
func choose(index v1.ImageIndex, found []v1.Descriptor, platform *v1.Platform, several string, check func(v1.Hash) error, depth int) (v1.Image, error) {
	if depth > maxIndexes {
		return nil, fmt.Errorf("more than %d nested indexes", maxIndexes)
	}
	var images []v1.Image
	var others []string
	for _, d := range found {
		if check != nil {
			if err := check(d.Digest); err != nil {
				return nil, err
			}
		}
		switch {
		case d.MediaType.IsIndex():
			inner, err := index.ImageIndex(d.Digest)
			if err != nil {
				return nil, err
			}
			m, err := inner.IndexManifest()
			if err != nil {
				return nil, err
			}
			img, err := choose(inner, m.Manifests, platform, several, check, depth+1)
			if err != nil {
				return nil, err
			}
			images = append(images, img)
		case d.Platform != nil && !d.Platform.Satisfies(*platform):
			others = append(others, d.Platform.String())
		case d.MediaType.IsImage():
			img, err := index.Image(d.Digest)
			if err != nil {
				return nil, err
			}
			images = append(images, img)
		}
	}
	switch len(images) {
	case 0:
		return nil, fmt.Errorf("no image for %s; available: %s", platform, list(others))
	case 1:
		return images[0], nil
	}
	return nil, errors.New(several)
}

func list(names []string) string {
	if len(names) == 0 {
		return "none with a name"
	}
	return strings.Join(names, ", ")
}

// fromArchive finds an image in a file of `docker save`, or in an OCI layout that was packed with tar.
func fromArchive(ctx context.Context, s Source) (v1.Image, error) {
	open := func() (io.ReadCloser, error) { return openArchive(ctx, s.Path) }
	listed, err := listArchive(open)
	if ctx.Err() != nil {
		return nil, ctx.Err()
	}
	if err != nil {
		if _, err := os.Stat(s.Path); err != nil {
			return nil, err
		}
		return nil, fmt.Errorf("%s is not an archive from `docker save`: %w", s.Path, err)
	}
	if err := listed.check(); err != nil {
		return nil, fmt.Errorf("%s: %w", s.Path, err)
	}
	manifest, err := tarball.LoadManifest(open)
	if err != nil {
		if _, err := os.Stat(s.Path); err != nil {
			return nil, err
		}
		if hasFile(open, "oci-layout") {
			return nil, fmt.Errorf("%s is a packed OCI layout; unpack it, and use its folder: oci:FOLDER", s.Path)
		}
		return nil, fmt.Errorf("%s is not an archive from `docker save`: %w", s.Path, err)
	}
	var names []string
	for _, d := range manifest {
		names = append(names, d.RepoTags...)
	}
	var tag *name.Tag
	if s.Reference != "" {
		t, err := name.NewTag(s.Reference)
		if err != nil {
			return nil, fmt.Errorf("%q is not a valid image name: %w", s.Reference, err)
		}
		tag = &t
	} else if len(manifest) != 1 {
		return nil, fmt.Errorf("%s has %d images, %s; choose one, as in docker-archive:%s:NAME", s.Path, len(manifest), list(names), s.Path)
	}
	img, err := tarball.Image(open, tag)
	if err != nil {
		return nil, fmt.Errorf("%s: %w; it has %s", s.Path, err, list(names))
	}
	return img, nil
}

// openArchive reads what tar has packed, also where gzip has compressed that, as `docker load` does.
func openArchive(ctx context.Context, path string) (io.ReadCloser, error) {
	f, err := regular.Open(path)
	if err != nil {
		return nil, err
	}
	read := &countedReader{r: f}
	b := bufio.NewReader(read)
	from := io.Reader(b)
	if magic, err := b.Peek(2); err == nil && magic[0] == 0x1f && magic[1] == 0x8b { // RFC 1952, 2.3.1
		plain, err := gzip.NewReader(b)
		if err != nil {
			f.Close()
			return nil, err
		}
		from = bombless(plain, func() int64 { return read.n })
	}
	from = Until(ctx, from)
	return struct {
		io.Reader
		io.Closer
	}{from, f}, nil
}

func hasFile(open func() (io.ReadCloser, error), name string) bool {
	f, err := open()
	if err != nil {
		return false
	}
	defer f.Close()
	r := tar.NewReader(f)
	for {
		h, err := r.Next()
		if err != nil {
			return false
		}
		if strings.TrimPrefix(h.Name, "./") == name {
			return true
		}
	}
}

// errNoDaemon is that none listens.
var errNoDaemon = errors.New("no Docker or Podman daemon answers")

// Sockets are where Docker and Podman daemons of this machine listen, or those that the user names by DOCKER_HOST and CONTAINER_HOST.
func Sockets() []string {
	var all []string
	for _, env := range []string{"DOCKER_HOST", "CONTAINER_HOST"} {
		if u, err := url.Parse(os.Getenv(env)); err == nil && u.Scheme == "unix" {
			all = append(all, u.Path)
		}
	}
	if len(all) > 0 {
		return all
	}
	all = append(all, "/var/run/docker.sock")
	if dir := os.Getenv("XDG_RUNTIME_DIR"); dir != "" {
		all = append(all, filepath.Join(dir, "docker.sock"), filepath.Join(dir, "podman", "podman.sock"))
	}
	return append(all, "/run/podman/podman.sock")
}

// daemon is one that has an image.
type daemon struct {
	socket string
	client *http.Client
	name   string // of the image
	id     string // of the image, as the daemon has it
}

// findDaemon asks each daemon of this machine for an image (Docker Engine API, ImageInspect).
func findDaemon(ctx context.Context, name string) (*daemon, error) {
	missing := errNoDaemon
	for _, socket := range Sockets() {
		d := &daemon{socket: socket, name: name,
			client: &http.Client{Transport: &http.Transport{DialContext: func(ctx context.Context, _, _ string) (net.Conn, error) {
				return (&net.Dialer{}).DialContext(ctx, "unix", socket)
			}}}}
		answer, err := d.get(ctx, "json")
		if err != nil {
			if ctx.Err() != nil {
				return nil, ctx.Err()
			}
			continue
		}
		text, _ := io.ReadAll(io.LimitReader(answer.Body, 1<<20))
		answer.Body.Close()
		var found struct{ ID string }
		if answer.StatusCode != http.StatusOK || json.Unmarshal(text, &found) != nil {
			missing = fmt.Errorf("the daemon at %s: %s", socket, said(text, answer.Status))
			continue
		}
		d.id = found.ID
		return d, nil
	}
	return nil, missing
}

func (d *daemon) get(ctx context.Context, call string) (*http.Response, error) {
	at := url.URL{Scheme: "http", Host: "daemon", Path: "/images/" + d.name + "/" + call} // slashes of a name stay, as Docker's own client has it
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, at.String(), nil)
	if err != nil {
		return nil, err
	}
	return d.client.Do(req)
}

// export keeps what the daemon hands out of the image (ImageGet) in a file below dir, until remove is called.
func (d *daemon) export(ctx context.Context, dir string) (img v1.Image, remove func(), err error) {
	defer d.client.CloseIdleConnections()
	answer, err := d.get(ctx, "get")
	if err != nil {
		return nil, nil, fmt.Errorf("the daemon at %s: %w", d.socket, err)
	}
	defer answer.Body.Close()
	if answer.StatusCode != http.StatusOK {
		text, _ := io.ReadAll(io.LimitReader(answer.Body, 1<<20))
		return nil, nil, fmt.Errorf("the daemon at %s: %s", d.socket, said(text, answer.Status))
	}
	f, err := os.CreateTemp(dir, "")
	if err != nil {
		return nil, nil, err
	}
	remove = func() { os.Remove(f.Name()) }
	_, err = io.Copy(f, answer.Body)
	if err = errors.Join(err, f.Close()); err == nil {
		img, err = fromArchive(ctx, Source{Transport: Archive, Path: f.Name()})
	}
	if err != nil {
		remove()
		return nil, nil, fmt.Errorf("the daemon at %s: %w", d.socket, err)
	}
	return img, remove, nil
}

func said(body []byte, status string) string {
	var m struct{ Message string }
	if json.Unmarshal(bytes.TrimSpace(body), &m) == nil && m.Message != "" {
		return m.Message
	}
	return status
}
