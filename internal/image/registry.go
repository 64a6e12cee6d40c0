package image

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"sync/atomic"
	"time"

	"github.com/google/go-containerregistry/pkg/authn"
	"github.com/google/go-containerregistry/pkg/name"
	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/remote"
	"github.com/google/go-containerregistry/pkg/v1/remote/transport"
	"golang.org/x/sys/unix"
)

// fromRegistry finds an image in a registry, or in the first of its mirrors that has it. The credentials come from the user's
// Docker configuration and its credential helpers.
func fromRegistry(ctx context.Context, s Source, platform *v1.Platform, o Options, partial string) (v1.Image, error) {
	ref, err := name.ParseReference(s.Reference)
	if err != nil {
		return nil, err
	}
	var problems []error
	for _, r := range mirrored(ref, o.Mirrors) {
		patience := o.Patience
		if patience <= 0 {
			patience = defaultPatience
		}
		base := &http.Transport{
			Proxy:                 http.ProxyFromEnvironment,
			DialContext:           (&net.Dialer{Timeout: patience}).DialContext,
			TLSHandshakeTimeout:   patience,
			ResponseHeaderTimeout: patience,
			ForceAttemptHTTP2:     true,
		}
		desc, err := remote.Get(r, remote.WithContext(ctx), remote.WithAuthFromKeychain(authn.DefaultKeychain), remote.WithPlatform(*platform),
			remote.WithTransport(&resuming{base: base, dir: partial, patience: patience}),
			remote.WithRetryBackoff(remote.Backoff{Duration: 200 * time.Millisecond, Factor: 3, Steps: 3}))
		if err == nil {
			img, err := imageOf(desc, platform)
			if err == nil {
				return img, nil
			}
			problems = append(problems, fmt.Errorf("%s: %w", r, err))
			continue
		}
		if ctx.Err() != nil {
			return nil, ctx.Err()
		}
		problems = append(problems, fmt.Errorf("%s: %w", r, explain(err, r)))
	}
	return nil, errors.Join(problems...)
}

// imageOf is the image that a descriptor leads to, on a platform.
func imageOf(desc *remote.Descriptor, platform *v1.Platform) (v1.Image, error) {
	if desc.MediaType.IsIndex() {
		index, err := desc.ImageIndex()
		if err != nil {
			return nil, err
		}
		m, err := index.IndexManifest()
		if err != nil {
			return nil, err
		}
		var fit []v1.Descriptor
		var others []string
		for _, d := range m.Manifests {
			switch {
			case d.Platform == nil || d.Platform.Satisfies(*platform):
				fit = append(fit, d)
			case d.Platform.OS != "unknown": // attestations say so
				others = append(others, d.Platform.String())
			}
		}
		if len(fit) == 0 {
			return nil, fmt.Errorf("no image for %s; available: %s", platform, list(others))
		}
		return choose(index, fit[:1], platform, "", nil, 0)
	}
	return desc.Image()
}

// mirrored are the places to ask for an image: the mirrors of its registry, and the registry itself.
func mirrored(ref name.Reference, mirrors map[string][]string) []name.Reference {
	registry := ref.Context().RegistryStr()
	keys := []string{registry}
	if registry == name.DefaultRegistry {
		keys = append(keys, "docker.io")
	}
	var all []name.Reference
	for _, key := range keys {
		for _, m := range mirrors[key] {
			var options []name.Option
			host, plain := strings.CutPrefix(m, "http://")
			if plain {
				options = append(options, name.Insecure)
			}
			host = strings.TrimSuffix(strings.TrimPrefix(host, "https://"), "/")
			text := host + "/" + ref.Context().RepositoryStr()
			var r name.Reference
			var err error
			if _, isDigest := ref.(name.Digest); isDigest {
				r, err = name.NewDigest(text+"@"+ref.Identifier(), options...)
			} else {
				r, err = name.NewTag(text+":"+ref.Identifier(), options...)
			}
			if err == nil {
				all = append(all, r)
			}
		}
	}
	return append(all, ref)
}

// explain says what to do about an error of a registry.
func explain(err error, ref name.Reference) error {
	var t *transport.Error
	if errors.As(err, &t) {
		switch t.StatusCode {
		case http.StatusUnauthorized, http.StatusForbidden:
			return fmt.Errorf("the registry requires a login, or has no such image: %w; log in with `docker login %s`",
				err, ref.Context().RegistryStr())
		case http.StatusNotFound:
			return fmt.Errorf("the registry has no such image: %w", err)
		case http.StatusTooManyRequests:
			return fmt.Errorf("the registry limits how often you can pull: %w; log in, or use a mirror", err)
		}
		return err
	}
	var n net.Error
	if errors.As(err, &n) || errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) {
		return fmt.Errorf("the registry does not answer: %w; check the network, or use a layout (oci:FOLDER) or an archive (docker-archive:FILE)", err)
	}
	return err
}

// defaultPatience is how long a registry may say nothing.
const defaultPatience = 30 * time.Second

// resuming fetches blobs from where an earlier fetch of them was interrupted, by range requests (RFC 9110, section 14; OCI
// distribution specification, "Pulling blobs"). What it has of a blob lies in a file of its digest.
type resuming struct {
	base     http.RoundTripper
	dir      string
	patience time.Duration
}

var blobPath = regexp.MustCompile(`/v2/.+/blobs/(sha256:[0-9a-f]{64})$`)

func (t *resuming) RoundTrip(req *http.Request) (*http.Response, error) {
	// A registry may send on to another place, whose name says nothing of the blob.
	first := req
	for first.Response != nil && first.Response.Request != nil {
		first = first.Response.Request
	}
	m := blobPath.FindStringSubmatch(first.URL.Path)
	if req.Method != http.MethodGet || m == nil {
		return t.patient(t.base.RoundTrip(req))
	}
	f, have := t.part(m[1])
	if f == nil {
		return t.patient(t.base.RoundTrip(req))
	}
	resp, err := t.resume(req, f, have)
	if err != nil || resp.StatusCode != http.StatusOK {
		f.Close()
	}
	return resp, err
}

// part opens what there is of a blob, or nothing while another process fetches it.
func (t *resuming) part(digest string) (*os.File, int64) {
	f, err := os.OpenFile(filepath.Join(t.dir, digest), os.O_RDWR|os.O_CREATE, 0o644)
	if err != nil {
		return nil, 0
	}
	st, err := f.Stat()
	if err != nil || unix.Flock(int(f.Fd()), unix.LOCK_EX|unix.LOCK_NB) != nil {
		f.Close()
		return nil, 0
	}
	return f, st.Size()
}

// resume asks for what a file lacks of a blob. The body of an answer that is OK has the whole blob.
func (t *resuming) resume(req *http.Request, f *os.File, have int64) (*http.Response, error) {
	ask := req
	if have > 0 {
		ask = req.Clone(req.Context())
		ask.Header.Set("Range", fmt.Sprintf("bytes=%d-", have))
	}
	resp, err := t.patient(t.base.RoundTrip(ask))
	if err != nil {
		return nil, err
	}
	from, ok := rangeStart(resp.Header.Get("Content-Range"))
	switch {
	case resp.StatusCode == http.StatusOK:
		have = 0
	case resp.StatusCode == http.StatusPartialContent && ok && from == have:
	case have > 0 && (resp.StatusCode == http.StatusPartialContent || resp.StatusCode == http.StatusRequestedRangeNotSatisfiable):
		resp.Body.Close()
		return t.resume(req, f, 0)
	default:
		return resp, nil
	}
	if err := f.Truncate(have); err != nil {
		resp.Body.Close()
		return nil, err
	}
	resp.Body = &resumed{file: f, have: have, body: resp.Body}
	resp.StatusCode, resp.Status = http.StatusOK, "200 OK"
	resp.Header.Del("Content-Range")
	if resp.ContentLength >= 0 {
		resp.ContentLength += have
		resp.Header.Set("Content-Length", strconv.FormatInt(resp.ContentLength, 10))
	}
	return resp, nil
}

// patient ends a body that says nothing for too long.
func (t *resuming) patient(resp *http.Response, err error) (*http.Response, error) {
	if err != nil {
		return nil, err
	}
	s := &stalled{body: resp.Body, patience: t.patience}
	s.timer = time.AfterFunc(t.patience, func() { s.late.Store(true); resp.Body.Close() })
	resp.Body = s
	return resp, nil
}

type stalled struct {
	body     io.ReadCloser
	timer    *time.Timer
	patience time.Duration
	late     atomic.Bool
}

func (s *stalled) Read(p []byte) (int, error) {
	s.timer.Reset(s.patience)
	n, err := s.body.Read(p)
	if s.late.Load() {
		return n, fmt.Errorf("the registry sent nothing for %s", s.patience)
	}
	return n, err
}

func (s *stalled) Close() error {
	s.timer.Stop()
	return s.body.Close()
}

func rangeStart(header string) (int64, bool) {
	rest, ok := strings.CutPrefix(header, "bytes ")
	if !ok {
		return 0, false
	}
	start, _, ok := strings.Cut(rest, "-")
	if !ok {
		return 0, false
	}
	n, err := strconv.ParseInt(start, 10, 64)
	return n, err == nil
}

// resumed hands out what a file has, and then a body, which it appends to the file.
type resumed struct {
	file *os.File
	have int64 // of it that came earlier
	at   int64
	body io.ReadCloser
}

func (r *resumed) Read(p []byte) (int, error) {
	if r.at < r.have {
		n, err := r.file.ReadAt(p[:min(int64(len(p)), r.have-r.at)], r.at)
		r.at += int64(n)
		if n > 0 {
			err = nil
		}
		return n, err
	}
	n, err := r.body.Read(p)
	if n > 0 {
		if _, e := r.file.WriteAt(p[:n], r.at); e != nil {
			return 0, e
		}
		r.at += int64(n)
	}
	return n, err
}

func (r *resumed) Close() error { return errors.Join(r.file.Close(), r.body.Close()) }
