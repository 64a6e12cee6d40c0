package image

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"log"
	"net"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/bloodhound-dst/bloodhound/internal/image/rootfs"
	"github.com/google/go-containerregistry/pkg/authn"
	"github.com/google/go-containerregistry/pkg/name"
	"github.com/google/go-containerregistry/pkg/registry"
	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/empty"
	"github.com/google/go-containerregistry/pkg/v1/layout"
	"github.com/google/go-containerregistry/pkg/v1/mutate"
	"github.com/google/go-containerregistry/pkg/v1/remote"
	"github.com/google/go-containerregistry/pkg/v1/tarball"
	"golang.org/x/sys/unix"
)

// names makes an archive: of files, whose Linkname is their content, and of whatever else.
func names(t *testing.T, headers ...tar.Header) []byte {
	t.Helper()
	var b bytes.Buffer
	w := tar.NewWriter(&b)
	for _, h := range headers {
		content := ""
		if h.Typeflag == 0 {
			h.Typeflag = tar.TypeReg
		}
		if h.Typeflag == tar.TypeReg {
			content, h.Linkname = h.Linkname, ""
			h.Size = int64(len(content))
		}
		if h.Mode == 0 {
			h.Mode = 0o644
		}
		if h.ModTime.IsZero() {
			h.ModTime = time.Unix(1700000000, 0)
		}
		if err := w.WriteHeader(&h); err != nil {
			t.Fatal(err)
		}
		if _, err := io.WriteString(w, content); err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

func layerOf(t *testing.T, archive []byte) v1.Layer {
	t.Helper()
	l, err := tarball.LayerFromOpener(func() (io.ReadCloser, error) { return io.NopCloser(bytes.NewReader(archive)), nil })
	if err != nil {
		t.Fatal(err)
	}
	return l
}

func imageFrom(t *testing.T, archives ...[]byte) v1.Image {
	t.Helper()
	var layers []v1.Layer
	for _, a := range archives {
		layers = append(layers, layerOf(t, a))
	}
	img, err := mutate.AppendLayers(empty.Image, layers...) // at once: each call adds a wrapper, which looks at all layers again
	if err != nil {
		t.Fatal(err)
	}
	file, err := img.ConfigFile()
	if err != nil {
		t.Fatal(err)
	}
	file = file.DeepCopy()
	file.OS, file.Architecture = "linux", "amd64"
	file.Config.Cmd = []string{"/bin/true"}
	if img, err = mutate.ConfigFile(img, file); err != nil {
		t.Fatal(err)
	}
	return img
}

func store(t *testing.T) *Store {
	t.Helper()
	s, err := Open(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { s.Close() })
	return s
}

// serve is a registry on loopback; wrap may come between it and its clients.
func serve(t *testing.T, wrap func(http.Handler) http.Handler) string {
	t.Helper()
	h := registry.New(registry.Logger(log.New(io.Discard, "", 0)))
	if wrap != nil {
		h = wrap(h)
	}
	s := httptest.NewServer(h)
	t.Cleanup(s.Close)
	return strings.TrimPrefix(s.URL, "http://")
}

func push(t *testing.T, ref string, img v1.Image, options ...remote.Option) {
	t.Helper()
	r, err := name.ParseReference(ref)
	if err != nil {
		t.Fatal(err)
	}
	if err := remote.Write(r, img, options...); err != nil {
		t.Fatal(err)
	}
}

// show lists a tree, a line a name.
func show(t *testing.T, s *Store, tree *rootfs.Tree) string {
	t.Helper()
	var b strings.Builder
	var walk func(dir string)
	walk = func(dir string) {
		for _, n := range tree.Names(dir) {
			p := strings.TrimPrefix(dir+"/"+n, "/")
			e := tree.Lookup(p)
			switch e.Kind {
			case rootfs.Folder:
				fmt.Fprintf(&b, "%s/ %o\n", p, e.Mode)
				walk(p)
			case rootfs.Symlink:
				fmt.Fprintf(&b, "%s -> %s\n", p, e.Target)
			case rootfs.File:
				content, err := os.ReadFile(s.File(e.Digest))
				if err != nil {
					t.Fatal(err)
				}
				fmt.Fprintf(&b, "%s %o %d:%d %q", p, e.Mode, e.UID, e.GID, content)
				if same := tree.Same(p); same != p {
					fmt.Fprintf(&b, " = %s", same)
				}
				b.WriteString("\n")
			}
		}
	}
	walk("")
	return b.String()
}

func dir(name string) tar.Header           { return tar.Header{Typeflag: tar.TypeDir, Name: name, Mode: 0o755} }
func file(name, content string) tar.Header { return tar.Header{Name: name, Linkname: content} }
func hard(name, to string) tar.Header {
	return tar.Header{Typeflag: tar.TypeLink, Name: name, Linkname: to}
}
func soft(name, to string) tar.Header {
	return tar.Header{Typeflag: tar.TypeSymlink, Name: name, Linkname: to}
}

// TestLayers unpacks layers over each other.
func TestLayers(t *testing.T) {
	owned := file("bin/su", "setuid")
	owned.Mode, owned.Uid, owned.Gid = 0o4755, 7, 8
	img := imageFrom(t,
		names(t, dir("etc/"), file("etc/a", "A"), file("etc/b", "B"), dir("opt"), file("opt/x", "X"), file("opt/y", "Y"), owned, soft("lib", "usr/lib"),
			file("data/one", "1"), hard("data/two", "data/one"), hard("data/three", "data/two"), file("gone", "g"),
			soft("abs", "/etc/passwd"), file("kind", "file")),
		names(t, file("etc/.wh.a", ""), file("opt/z", "Z"), file("opt/.wh..wh..opq", ""), file("./.wh.gone", ""), file("lib/new", "N"),
			file("data/one", "other"), dir("kind"), file("kind/f", "F"), file(".wh.never", "")))
	s := store(t)
	host := serve(t, nil)
	push(t, host+"/app:1", img)
	got, err := s.Get(context.Background(), host+"/app:1", "", "", Options{})
	if err != nil {
		t.Fatal(err)
	}
	want := `abs -> /etc/passwd
bin/ 755
bin/su 4755 7:8 "setuid"
data/ 755
data/one 644 0:0 "other"
data/three 644 0:0 "1"
data/two 644 0:0 "1" = data/three
etc/ 755
etc/b 644 0:0 "B"
kind/ 755
kind/f 644 0:0 "F"
lib/ 755
lib/new 644 0:0 "N"
opt/ 755
opt/z 644 0:0 "Z"
`
	if have := show(t, s, got.Tree); have != want {
		t.Errorf("the tree is\n%s\nwant\n%s", have, want)
	}
	if !slices.Equal(got.Config.Config.Cmd, []string{"/bin/true"}) {
		t.Errorf("command %q", got.Config.Config.Cmd)
	}
	ref, err := s.Find(host+"/app:1", HostPlatform)
	if err != nil {
		t.Fatal(err)
	}
	digest, err := img.Digest()
	if err != nil || ref.Manifest != digest.String() {
		t.Errorf("manifest %s, want %s (%v)", ref.Manifest, digest, err)
	}
}

// TestSources takes one image from each place that images come from: it is the same one.
func TestSources(t *testing.T) {
	img := imageFrom(t, names(t, file("a", "A"), hard("b", "a")), names(t, file("c", "C")))
	base := t.TempDir()
	path, err := layout.Write(filepath.Join(base, "layout"), empty.Index)
	if err != nil {
		t.Fatal(err)
	}
	if err := path.AppendImage(img, layout.WithAnnotations(map[string]string{"org.opencontainers.image.ref.name": "v1"})); err != nil {
		t.Fatal(err)
	}
	if err := path.AppendImage(imageFrom(t, names(t, file("other", ""))),
		layout.WithAnnotations(map[string]string{"org.opencontainers.image.ref.name": "v2"})); err != nil {
		t.Fatal(err)
	}
	tag, err := name.NewTag("app:1")
	if err != nil {
		t.Fatal(err)
	}
	archive := filepath.Join(base, "app.tar")
	if err := tarball.WriteToFile(archive, tag, img); err != nil {
		t.Fatal(err)
	}
	plain, err := os.ReadFile(archive)
	if err != nil {
		t.Fatal(err)
	}
	var packed bytes.Buffer
	z := gzip.NewWriter(&packed)
	z.Write(plain)
	z.Close()
	for name, content := range map[string][]byte{"app.tar.gz": packed.Bytes(), "cut.tar.gz": packed.Bytes()[:5]} {
		if err := os.WriteFile(filepath.Join(base, name), content, 0o666); err != nil {
			t.Fatal(err)
		}
	}
	host := serve(t, nil)
	push(t, host+"/team/app:1", img)
	digest, err := img.Digest()
	if err != nil {
		t.Fatal(err)
	}
	exports := fakeDaemon(t, archive, "app:1", img)
	ids := map[string]bool{}
	var trees []string
	for _, from := range []string{host + "/team/app:1", host + "/team/app@" + digest.String(), "oci:layout:v1", "oci:" + filepath.Join(base, "layout") + ":v1",
		"docker-archive:app.tar", "docker-archive:app.tar:app:1", "docker-archive:app.tar.gz", "docker-archive:app.tar.gz:app:1", "docker-daemon:app:1"} {
		s := store(t)
		got, err := s.Get(context.Background(), from, base, "", Options{})
		if err != nil {
			t.Fatalf("%s: %v", from, err)
		}
		ids[got.ID] = true
		trees = append(trees, show(t, s, got.Tree))
	}
	s := store(t)
	for range 2 {
		if _, err := s.Get(context.Background(), "docker-daemon:app:1", base, "", Options{}); err != nil {
			t.Fatal(err)
		}
	}
	if n := exports.Load(); n != 2 { // one above, one here
		t.Errorf("the daemon exported the image %d times", n)
	}
	if len(ids) != 1 || len(slices.Compact(trees)) != 1 {
		t.Errorf("ids %v, trees %q", ids, trees)
	}
	for from, want := range map[string]string{
		"oci:layout":                 "several images, v1, v2; choose one",
		"oci:layout:v3":              `no image "v3"; it has v1, v2`,
		"oci:nowhere":                "not an OCI layout",
		"docker-archive:nowhere.tar": "no such file",
		"docker-archive:app.tar:x:2": "it has ",
		"docker-archive:cut.tar.gz":  "is not an archive from `docker save`: unexpected EOF",
		"docker-daemon:none:1":       "No such image: none:1",
		host + "/team/app:2":         "the registry has no such image",
		"UPPER":                      "is not a valid image name",
	} {
		_, err := store(t).Pull(context.Background(), from, base, Options{})
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %q", from, err, want)
		}
	}
	if _, err := store(t).Pull(context.Background(), host+"/team/app:1", "", Options{Platform: "linux/arm64"}); err == nil ||
		!strings.Contains(err.Error(), "for linux/amd64, not for linux/arm64") {
		t.Errorf("another architecture: %v", err)
	}
}

// fakeDaemon answers as Docker's does, for one image, and counts how often it hands it out.
func fakeDaemon(t *testing.T, archive, has string, img v1.Image) *atomic.Int64 {
	t.Helper()
	folder, err := os.MkdirTemp("", "") // the names of sockets are short
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(folder) })
	id, err := img.ConfigName()
	if err != nil {
		t.Fatal(err)
	}
	exports := &atomic.Int64{}
	socket := filepath.Join(folder, "d")
	l, err := net.Listen("unix", socket)
	if err != nil {
		t.Fatal(err)
	}
	server := &http.Server{Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		parts := strings.Split(r.URL.EscapedPath(), "/")
		name, err := url.PathUnescape(parts[2])
		switch {
		case err != nil || parts[1] != "images" || name != has:
			w.WriteHeader(http.StatusNotFound)
			fmt.Fprintf(w, `{"message":"No such image: %s"}`, name)
		case parts[3] == "json":
			fmt.Fprintf(w, `{"Id": %q}`, id)
		case parts[3] == "get":
			exports.Add(1)
			http.ServeFile(w, r, archive)
		}
	})}
	go server.Serve(l)
	t.Cleanup(func() { server.Close() })
	t.Setenv("DOCKER_HOST", "unix://"+socket)
	return exports
}

// TestHostileLayers: none of these is ever used, and nothing outside the store changes.
func TestHostileLayers(t *testing.T) {
	zeros := func() []byte {
		var b bytes.Buffer
		z := gzip.NewWriter(&b)
		w := tar.NewWriter(z)
		size := int64(suspectBytes + 1<<20)
		if err := w.WriteHeader(&tar.Header{Name: "zeros", Size: size, Mode: 0o644}); err != nil {
			t.Fatal(err)
		}
		if _, err := io.CopyN(w, zeroReader{}, size); err != nil {
			t.Fatal(err)
		}
		w.Close()
		z.Close()
		return b.Bytes()
	}
	cases := []struct {
		name    string
		archive []byte
		want    string
	}{
		{"a name that climbs", names(t, file("../../outside", "x")), "is outside the image"},
		{"a name that climbs later", names(t, file("a/../../outside", "x")), "is outside the image"},
		{"a hard link that climbs", names(t, hard("a", "../../../etc/passwd")), "is outside the image"},
		{"an absolute hard link", names(t, hard("a", "/etc/passwd")), "a hard link to /etc/passwd, which is not an earlier file of the layer"},
		{"a file behind a link", names(t, soft("d", "/tmp"), file("d/x", "x")), "which is not a folder in the same layer"},
		{"a file behind a file", names(t, file("d", ""), file("d/x", "x")), "which is not a folder in the same layer"},
		{"a block device", names(t, tar.Header{Typeflag: tar.TypeBlock, Name: "disk", Devmajor: 8}), "disk is a device node"},
		{"a character device", names(t, tar.Header{Typeflag: tar.TypeChar, Name: "etc/mem", Devmajor: 1, Devminor: 1}), "etc/mem is a device node"},
		{"a root that is no folder", names(t, soft("./", "/etc")), "the root is not a folder"},
		{"a long part", names(t, file(strings.Repeat("n", 300), "x")), "more than 255 bytes"},
		{"not an archive", []byte(strings.Repeat("no archive ", 100)), "the archive is broken"},
		{"a cut archive", names(t, file("a", strings.Repeat("a", 5000)))[:2000], "unexpected EOF"},
		{"a bomb", zeros(), "looks like a decompression bomb"},
		{"a sparse bomb", hole(suspectBytes + 1<<20), "looks like a decompression bomb"},
		{"a sparse file of all bytes", hole(1 << 50), "looks like a decompression bomb"},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			host := serve(t, nil)
			push(t, host+"/app", imageFrom(t, c.archive))
			s := store(t)
			_, err := s.Pull(context.Background(), host+"/app", "", Options{})
			if err == nil || !strings.Contains(err.Error(), c.want) || !strings.Contains(err.Error(), "layer 1 of 1") {
				t.Fatalf("%v, want %q", err, c.want)
			}
			for _, f := range []string{"images", "references", "layers", "tmp", "partial"} {
				if left, _ := os.ReadDir(filepath.Join(s.dir, f)); len(left) != 0 {
					t.Errorf("%s has %v", f, left)
				}
			}
			if _, err := s.Get(context.Background(), host+"/app", "", "", Options{}); err == nil {
				t.Error("the image is used all the same")
			}
		})
	}
}

// hole is an archive with one sparse file in which nothing is (GNU tar, "Old GNU Format").
func hole(size int64) []byte {
	b := make([]byte, 3*512)
	number := func(at, width int, v int64) { copy(b[at:], fmt.Sprintf("%0*o", width-1, v)) }
	large := func(at int) {
		b[at] = 0x80
		binary.BigEndian.PutUint64(b[at+4:], uint64(size))
	}
	copy(b, "hole")
	number(100, 8, 0o644)
	number(124, 12, 0)
	number(136, 12, 0)
	b[156] = tar.TypeGNUSparse
	copy(b[257:], "ustar  ")
	large(386) // one part without bytes, at the end
	number(398, 12, 0)
	large(483)
	copy(b[148:], "        ")
	sum := int64(0)
	for _, c := range b[:512] {
		sum += int64(c)
	}
	number(148, 8, sum)
	return b
}

// What is zero takes no room in the store.
func TestZerosAreLeftOut(t *testing.T) {
	s := store(t)
	const size = 64<<20 + 5
	content := append(make([]byte, size-9), "in it\x00\x00\x00\x00"...)
	digest, n, err := s.Keep(bytes.NewReader(content))
	if err != nil || n != size {
		t.Fatal(n, err)
	}
	var st unix.Stat_t
	if err := unix.Stat(s.File(digest), &st); err != nil || st.Blocks*512 > 1<<20 {
		t.Errorf("%d bytes on the disk, %v", st.Blocks*512, err)
	}
	if got, err := os.ReadFile(s.File(digest)); err != nil || !bytes.Equal(got, content) {
		t.Errorf("%d bytes are read, %v", len(got), err)
	}
}

type zeroReader struct{}

func (zeroReader) Read(p []byte) (int, error) { clear(p); return len(p), nil }

// TestDeviceNodesOfDev: old images carry some; the world has its own.
func TestDeviceNodesOfDev(t *testing.T) {
	host := serve(t, nil)
	push(t, host+"/app", imageFrom(t, names(t, dir("dev"), tar.Header{Typeflag: tar.TypeChar, Name: "dev/null", Devmajor: 1, Devminor: 3}, file("a", "A"))))
	s := store(t)
	img, err := s.Get(context.Background(), host+"/app", "", "", Options{})
	if err != nil {
		t.Fatal(err)
	}
	if got := show(t, s, img.Tree); got != "a 644 0:0 \"A\"\ndev/ 755\n" {
		t.Errorf("%s", got)
	}
}

// spoil changes what a registry sends of blobs.
func spoil(change func(n int64, w http.ResponseWriter, r *http.Request, next http.Handler)) func(http.Handler) http.Handler {
	var n atomic.Int64
	return func(next http.Handler) http.Handler {
		return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if r.Method == http.MethodGet && blobPath.MatchString(r.URL.Path) {
				change(n.Add(1), w, r, next)
				return
			}
			next.ServeHTTP(w, r)
		})
	}
}

func noise(n int) string {
	b := make([]byte, n)
	x := uint64(1)
	for i := range b {
		x = x*6364136223846793005 + 1442695040888963407
		b[i] = byte(x >> 56)
	}
	return string(b)
}

// TestBrokenRegistries: wrong bytes are refused, a connection that breaks is taken up again where it broke.
func TestBrokenRegistries(t *testing.T) {
	big := names(t, file("big", noise(3<<20)))
	blob := func(w http.ResponseWriter, r *http.Request, next http.Handler) []byte {
		rec := httptest.NewRecorder()
		plain := r.Clone(r.Context())
		plain.Header.Del("Range")
		next.ServeHTTP(rec, plain)
		return rec.Body.Bytes()
	}
	t.Run("flipped bytes", func(t *testing.T) {
		host := serve(t, spoil(func(n int64, w http.ResponseWriter, r *http.Request, next http.Handler) {
			b := blob(w, r, next)
			if len(b) > 1<<20 {
				b[1<<20] ^= 1
			}
			w.Write(b)
		}))
		push(t, host+"/app", imageFrom(t, big))
		s := store(t)
		if _, err := s.Pull(context.Background(), host+"/app", "", Options{}); err == nil {
			t.Fatal("wrong bytes were taken")
		}
		if left, _ := os.ReadDir(filepath.Join(s.dir, "layers")); len(left) != 0 {
			t.Errorf("layers has %v", left)
		}
	})
	t.Run("a connection that breaks", func(t *testing.T) {
		var sent, ranges atomic.Int64
		host := serve(t, spoil(func(n int64, w http.ResponseWriter, r *http.Request, next http.Handler) {
			b := blob(w, r, next)
			if len(b) < 1<<20 { // the configuration
				w.Write(b)
				return
			}
			from := 0
			if _, err := fmt.Sscanf(r.Header.Get("Range"), "bytes=%d-", &from); err == nil {
				ranges.Add(1)
				w.Header().Set("Content-Range", fmt.Sprintf("bytes %d-%d/%d", from, len(b)-1, len(b)))
				w.Header().Set("Content-Length", fmt.Sprint(len(b)-from))
				w.WriteHeader(http.StatusPartialContent)
			} else {
				w.Header().Set("Content-Length", fmt.Sprint(len(b)))
			}
			upTo := min(len(b), from+1<<20)
			w.Write(b[from:upTo])
			sent.Add(int64(upTo - from))
			if upTo < len(b) {
				w.(http.Flusher).Flush()
				panic(http.ErrAbortHandler)
			}
		}))
		push(t, host+"/app", imageFrom(t, big, names(t, file("small", "s"))))
		s := store(t)
		// 3 MB come in pieces of 1 MB and three attempts: the first pull ends in the middle, the second continues.
		if _, err := s.Pull(context.Background(), host+"/app", "", Options{}); err == nil ||
			!strings.Contains(err.Error(), "the next pull resumes") {
			t.Fatalf("%v", err)
		}
		img, err := s.Get(context.Background(), host+"/app", "", "", Options{})
		if err != nil {
			t.Fatal(err)
		}
		if e := img.Tree.Lookup("big"); e == nil || e.Size != 3<<20 {
			t.Errorf("%+v", e)
		}
		if ranges.Load() < 2 || sent.Load() > 4<<20 {
			t.Errorf("%d range requests, %d bytes sent", ranges.Load(), sent.Load())
		}
		if left, _ := os.ReadDir(filepath.Join(s.dir, "partial")); len(left) != 0 {
			t.Errorf("partial has %v", left)
		}
	})
	t.Run("a registry that hangs", func(t *testing.T) {
		over := make(chan struct{})
		host := serve(t, spoil(func(n int64, w http.ResponseWriter, r *http.Request, next http.Handler) {
			b := blob(w, r, next)
			if len(b) < 1<<20 {
				w.Write(b)
				return
			}
			w.Header().Set("Content-Length", fmt.Sprint(len(b)))
			w.Write(b[:1000])
			w.(http.Flusher).Flush()
			<-over
		}))
		t.Cleanup(func() { close(over) })
		push(t, host+"/app", imageFrom(t, big))
		if _, err := store(t).Pull(context.Background(), host+"/app", "",
			Options{Patience: 200 * time.Millisecond}); err == nil || !strings.Contains(err.Error(), "sent nothing for 200ms") {
			t.Fatalf("%v", err)
		}
	})
	t.Run("nobody listens", func(t *testing.T) {
		l, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			t.Fatal(err)
		}
		host := l.Addr().String()
		l.Close()
		if _, err := store(t).Pull(context.Background(), host+"/app", "", Options{}); err == nil ||
			!strings.Contains(err.Error(), "the registry does not answer") {
			t.Fatalf("%v", err)
		}
	})
}

// TestLogin pulls from a registry that wants a name and a password, from the user's Docker configuration.
func TestLogin(t *testing.T) {
	host := serve(t, func(next http.Handler) http.Handler {
		return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if user, password, ok := r.BasicAuth(); !ok || user != "ada" || password != "secret" {
				w.Header().Set("WWW-Authenticate", `Basic realm="tests"`)
				w.WriteHeader(http.StatusUnauthorized)
				return
			}
			next.ServeHTTP(w, r)
		})
	})
	push(t, host+"/app", imageFrom(t, names(t, file("a", "A"))), remote.WithAuth(&authn.Basic{Username: "ada", Password: "secret"}))
	config := t.TempDir()
	t.Setenv("DOCKER_CONFIG", config)
	if _, err := store(t).Pull(context.Background(), host+"/app", "", Options{}); err == nil || !strings.Contains(err.Error(), "docker login "+host) {
		t.Fatalf("without a login: %v", err)
	}
	if err := os.WriteFile(filepath.Join(config, "config.json"), fmt.Appendf(nil, `{"auths": {%q: {"auth": "YWRhOnNlY3JldA=="}}}`, host), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := store(t).Pull(context.Background(), host+"/app", "", Options{}); err != nil {
		t.Fatal(err)
	}
}

// TestMirrors asks the mirror first, and the registry if the mirror has nothing.
func TestMirrors(t *testing.T) {
	mirror, origin := serve(t, nil), serve(t, nil)
	push(t, mirror+"/library/app:1", imageFrom(t, names(t, file("a", "A"))))
	push(t, origin+"/team/app:1", imageFrom(t, names(t, file("b", "B"))))
	o := Options{Mirrors: map[string][]string{"docker.io": {"http://" + mirror}, origin: {"http://" + mirror}}}
	for ref, has := range map[string]string{"app:1": "a", origin + "/team/app:1": "b"} {
		img, err := store(t).Get(context.Background(), ref, "", "", o)
		if err != nil || img.Tree.Lookup(has) == nil {
			t.Errorf("%s: %v", ref, err)
		}
	}
}

// TestStore: what is pulled is there without the registry, what is damaged is not believed, what nothing names is collected.
func TestStore(t *testing.T) {
	var fetched atomic.Int64
	host := serve(t, spoil(func(n int64, w http.ResponseWriter, r *http.Request, next http.Handler) {
		fetched.Add(1)
		next.ServeHTTP(w, r)
	}))
	common := names(t, file("common", "C"))
	push(t, host+"/one", imageFrom(t, common, names(t, file("a", "A"))))
	push(t, host+"/two", imageFrom(t, common, names(t, file("b", "B"))))
	s := store(t)
	get := func(ref string) (*Image, error) {
		img, err := s.Get(context.Background(), host+ref, "", "", Options{})
		return img, err
	}
	one, err := get("/one")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := get("/two"); err != nil {
		t.Fatal(err)
	}
	n := fetched.Load()
	if n != 5 { // two configurations and three layers
		t.Errorf("%d blobs were fetched", n)
	}
	if _, err := get("/one"); err != nil || fetched.Load() != n {
		t.Errorf("the store was not used: %v", err)
	}
	other, err := Open(s.dir)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := s.Collect(context.Background(), false); !errors.Is(err, errBusy) {
		t.Errorf("a collection beside another process: %v", err)
	}
	other.Close()
	if c, err := s.Collect(context.Background(), false); err != nil || c != (Collected{}) {
		t.Errorf("%+v, %v", c, err)
	}
	if err := os.Remove(s.referencePath(host+"/two", HostPlatform)); err != nil {
		t.Fatal(err)
	}
	if c, err := s.Collect(context.Background(), false); err != nil || c.Images != 1 || c.Layers != 1 || c.Files != 1 || c.Bytes == 0 {
		t.Errorf("%+v, %v", c, err)
	}
	// A content that the disk has lost is fetched again.
	if err := os.Remove(s.File(one.Tree.Lookup("a").Digest)); err != nil {
		t.Fatal(err)
	}
	s.images = map[string]*Image{}
	if _, err := s.Image(context.Background(), one.ID); err == nil {
		t.Error("an image without its content was used")
	}
	if img, err := get("/one"); err != nil || img.Tree.Lookup("a") == nil {
		t.Errorf("%v", err)
	}
	if c, err := s.Collect(context.Background(), true); err != nil || c.Images != 1 {
		t.Errorf("%+v, %v", c, err)
	}
	if _, err := s.Find(host+"/one", HostPlatform); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("%v", err)
	}
}

// TestFullDisk: a pull that finds no room says so, and leaves nothing that is believed.
func TestFullDisk(t *testing.T) {
	if err := explainDisk(&contentError{unix.ENOSPC}); !strings.Contains(err.Error(), "bloodhound image gc") {
		t.Errorf("%v", err)
	}
}
