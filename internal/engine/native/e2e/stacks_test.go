//go:build linux && amd64

package e2e

import (
	"context"
	"encoding/json"
	"io"
	"log"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-containerregistry/pkg/authn"
	"github.com/google/go-containerregistry/pkg/name"
	"github.com/google/go-containerregistry/pkg/registry"
	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/remote"
	"github.com/google/go-containerregistry/pkg/v1/tarball"

	"github.com/bloodhound-dst/bloodhound/internal/testkit/imagetest"
	"github.com/bloodhound-dst/bloodhound/internal/testkit/needs"
)

// messageQueue is an image with nothing but the broker of an example.
func messageQueue(t testing.TB) v1.Image {
	program := filepath.Join(t.TempDir(), "broker")
	goBuild(t, program, "../../../../examples/servers/message-queue/broker")
	text, err := os.ReadFile(program)
	if err != nil {
		t.Fatal(err)
	}
	r := imagetest.New(t)
	r.Text("/usr/local/bin/broker", 0o755, string(text))
	return r.Image(v1.Config{Cmd: []string{"broker"}, Env: []string{imagetest.Path}})
}

func goBuild(t testing.TB, to, folder string) {
	t.Helper()
	cmd := exec.Command("go", "-C", folder, "build", "-o", to, ".") // it may be of another module
	cmd.Env = append(os.Environ(), "CGO_ENABLED=0")
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("go build: %v\n%s", err, out)
	}
}

// TestImages runs clusters of images that a registry on loopback serves to clients that log in. Each repeats, and the one that is
// taken from other places too has the same trace everywhere.
func TestImages(t *testing.T) {
	login := &authn.Basic{Username: "ada", Password: "secret"}
	h := registry.New(registry.Logger(log.New(io.Discard, "", 0)))
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if user, password, ok := r.BasicAuth(); !ok || user != login.Username || password != login.Password {
			w.Header().Set("WWW-Authenticate", `Basic realm="tests"`)
			w.WriteHeader(http.StatusUnauthorized)
			return
		}
		h.ServeHTTP(w, r)
	}))
	defer s.Close()
	host := strings.TrimPrefix(s.URL, "http://")
	common := t.TempDir()
	t.Setenv("DOCKER_CONFIG", common)
	t.Setenv("BLOODHOUND_IMAGES", filepath.Join(common, "images"))
	if err := os.WriteFile(filepath.Join(common, "config.json"), []byte(`{"auths": {"`+host+`": {"auth": "YWRhOnNlY3JldA=="}}}`), 0o600); err != nil {
		t.Fatal(err)
	}
	runs := "2"
	if soak {
		runs = "10"
	}
	for _, c := range []struct {
		name   string
		images []string
		needs  []string
	}{
		{"redis", []string{"redis"}, []string{"redis-server"}},
		{"postgres", []string{"postgres"}, []string{"/usr/lib/postgresql/15/bin/postgres"}},
		{"etcd", []string{"etcd"}, []string{"etcd"}},
		{"nginx", []string{"nginx", "python"}, []string{"nginx", "/usr/bin/python3.11"}},
		{"jvm", []string{"jvm"}, []string{"java", "javac"}},
		{"queue", []string{"message-queue"}, nil},
	} {
		t.Run(c.name, func(t *testing.T) {
			if !soak && slices.Contains([]string{"postgres", "nginx", "jvm"}, c.name) {
				t.Skip("TestServersRepeat has the server, and the other images the rest; runs with BLOODHOUND_SOAK=1")
			}
			w := server{name: "images-" + c.name, dir: t.TempDir(), needs: append(c.needs, "dpkg"), minOK: 50}
			w.require(t)
			if err := os.CopyFS(w.dir, os.DirFS(filepath.Join("testdata", "images", c.name))); err != nil {
				t.Fatal(err)
			}
			t.Setenv("REGISTRY", host)
			t.Setenv("COMPOSE_PROJECT_NAME", "stack") // containers have names made of this value
			if c.name == "jvm" {
				if out, err := exec.Command("javac", "-d", filepath.Join(w.dir, "classes"), "testdata/jvm/Server.java").CombinedOutput(); err != nil {
					needs.Missing(t, "javac", err, string(out))
				}
			}
			version := ":1"
			if c.name == "queue" { // its images have the names of Docker Hub
				version = ":latest"
				t.Setenv("BLOODHOUND_MIRRORS", "docker.io=http://"+host)
				const example = "../../../../examples/servers/message-queue/"
				compose, err := os.ReadFile(example + "compose.yaml")
				if err != nil {
					t.Fatal(err)
				}
				if err := os.WriteFile(filepath.Join(w.dir, "compose.yaml"), compose, 0o666); err != nil {
					t.Fatal(err)
				}
				goBuild(t, filepath.Join(w.dir, "bin/driver"), example+"driver")
			}
			for _, kind := range c.images {
				recipe := imagetest.Stacks[kind]
				if kind == "message-queue" {
					recipe = messageQueue
				}
				img := recipe(t)
				ref, err := name.ParseReference(host + "/library/" + kind + version)
				if err != nil {
					t.Fatal(err)
				}
				if err := remote.Write(ref, img, remote.WithAuth(login), remote.WithContext(context.Background())); err != nil {
					t.Fatal(err)
				}
			}
			first := w.repeats(t, runs)
			if c.name != "redis" {
				return
			}
			img := imagetest.Stacks["redis"](t)
			tag, err := name.NewTag("redis:1")
			if err != nil {
				t.Fatal(err)
			}
			if err := tarball.WriteToFile(filepath.Join(w.dir, "redis.tar"), tag, img); err != nil {
				t.Fatal(err)
			}
			imagetest.Layout(t, filepath.Join(w.dir, "redis.oci"), img)
			compose := filepath.Join(w.dir, "compose.yaml")
			text, err := os.ReadFile(compose)
			if err != nil {
				t.Fatal(err)
			}
			const image = "image: ${REGISTRY}/library/redis:1"
			if !strings.Contains(string(text), image) {
				t.Fatalf("%s does not say %s", compose, image)
			}
			elsewhere := func(from string) {
				t.Helper()
				if err := os.WriteFile(compose, []byte(strings.ReplaceAll(string(text), image, from)), 0o644); err != nil {
					t.Fatal(err)
				}
				t.Setenv("BLOODHOUND_IMAGES", t.TempDir())
				if hash := w.repeats(t, "1"); hash != first {
					t.Errorf("from %s the trace hash is %s, from the registry %s", from, hash, first)
				}
			}
			elsewhere("image: docker-archive:redis.tar")
			elsewhere("image: oci:redis.oci")
			imagetest.Daemon(t)
			docker := func(arguments ...string) {
				t.Helper()
				if out, err := exec.Command("/usr/bin/docker", arguments...).CombinedOutput(); err != nil {
					t.Fatalf("docker %q: %v: %s", arguments, err, out)
				}
			}
			docker("load", "-i", filepath.Join(w.dir, "redis.tar"))
			elsewhere("image: docker-daemon:redis:1")
			docker("tag", "redis:1", "stack-cache") // as Compose names what it builds
			elsewhere("build: {context: ., dockerfile: Dockerfile}")
		})
	}
}

// repeats runs a world so often, wants equal runs in which operations succeed and all holds, and gives their hash.
func (s server) repeats(t *testing.T, runs string) string {
	t.Helper()
	if runs != "1" {
		var v struct{ Judgement string }
		if code := s.call(t, &v, "verify", "--json", "--runs", runs); code != 0 {
			t.Fatalf("verify: exit code %d: %s", code, v.Judgement)
		}
	}
	var d struct {
		Error, Judgement string
		Run              struct {
			Hash       string
			Operations struct{ OK int }
		}
	}
	cmd := exec.Command(bloodhound, "run", "--json", s.dir)
	out, err := cmd.Output()
	if err := json.Unmarshal(out, &d); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	if err != nil || d.Run.Operations.OK < s.minOK || d.Run.Hash == "" {
		story, _ := exec.Command(bloodhound, "run", "--verbose", s.dir).CombinedOutput()
		t.Fatalf("%v: %s; %d operations ok, hash %q\n%s", err, d.Error, d.Run.Operations.OK, d.Run.Hash, story)
	}
	return d.Run.Hash
}
