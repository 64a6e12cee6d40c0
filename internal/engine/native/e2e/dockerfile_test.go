//go:build linux && amd64

package e2e

import (
	"archive/zip"
	"bytes"
	"context"
	"io"
	"log"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-containerregistry/pkg/name"
	"github.com/google/go-containerregistry/pkg/registry"
	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/remote"

	"github.com/bloodhound-dst/bloodhound/internal/testkit/imagetest"
	"github.com/bloodhound-dst/bloodhound/internal/testkit/needs"
)

// bases are the images that stages of Dockerfiles begin with, made of Debian's packages and of this Go, as the official ones of
// their names are.
var bases = map[string]func(testing.TB) v1.Image{
	"golang:1": func(t testing.TB) v1.Image {
		r := userland(t)
		out, err := exec.Command("go", "env", "GOROOT").Output()
		if err != nil {
			needs.Missing(t, "go", err)
		}
		root := strings.TrimSpace(string(out))
		for _, part := range []string{"bin/go", "go.env", "VERSION", "pkg/include", "pkg/tool/linux_amd64/asm",
			"pkg/tool/linux_amd64/compile", "pkg/tool/linux_amd64/link"} {
			r.CopyTo(filepath.Join(root, part), "/usr/local/go/"+part)
		}
		r.CopyTo(filepath.Join(root, "src"), "/usr/local/go/src")
		r.Folder("/go", 0o1777, 0)
		return r.Image(v1.Config{Env: []string{"PATH=/go/bin:/usr/local/go/bin:/usr/local/bin:/usr/bin:/bin", "GOPATH=/go",
			"GOTOOLCHAIN=local"}, WorkingDir: "/go", Cmd: []string{"sh"}})
	},
	"python:3": func(t testing.TB) v1.Image {
		r := userland(t)
		for _, p := range []string{"python3.11-minimal", "libpython3.11-minimal", "libpython3.11-stdlib", "python3-pip",
			"python3-setuptools", "python3-wheel", "python3-pkg-resources", "python3-distutils", "python3-lib2to3"} {
			r.Package(p)
		}
		r.Link("/usr/bin/python3", "python3.11")
		return r.Image(v1.Config{Env: []string{imagetest.Path, "PIP_BREAK_SYSTEM_PACKAGES=1"}, Cmd: []string{"python3"}})
	},
	"node:20": func(t testing.TB) v1.Image {
		r := userland(t)
		r.Program("node")
		npm, err := filepath.EvalSymlinks("/usr/bin/npm")
		if err != nil || !strings.Contains(npm, "/node_modules/npm/") {
			needs.Missing(t, "npm", npm, err)
		}
		r.Copy(filepath.Dir(filepath.Dir(npm)))
		r.Link("/usr/bin/npm", npm)
		return r.Image(v1.Config{Env: []string{imagetest.Path}, Cmd: []string{"node"}})
	},
}

// userland makes the root of an image of a distribution, with the programs that the Dockerfiles use.
func userland(t testing.TB) *imagetest.Root {
	r := imagetest.Shell(t)
	for _, p := range []string{"env", "mv", "cp", "ln", "touch", "true", "test", "sed", "grep", "uname", "dirname", "basename", "id"} {
		r.Program(p)
	}
	r.User("nobody", "65534")
	r.Folder("/root", 0o700, 0)
	return r
}

// serveBases has a registry on loopback serve images under their names of Docker Hub.
func serveBases(t *testing.T, names ...string) {
	t.Helper()
	s := httptest.NewServer(registry.New(registry.Logger(log.New(io.Discard, "", 0))))
	t.Cleanup(s.Close)
	host := strings.TrimPrefix(s.URL, "http://")
	t.Setenv("BLOODHOUND_MIRRORS", "docker.io=http://"+host)
	for _, base := range names {
		ref, err := name.ParseReference(host + "/library/" + base)
		if err != nil {
			t.Fatal(err)
		}
		if err := remote.Write(ref, bases[base](t), remote.WithContext(context.Background())); err != nil {
			t.Fatal(err)
		}
	}
}

// A Compose file whose service has a Dockerfile of a usual shape runs without a daemon, and repeats.
func TestDockerfiles(t *testing.T) {
	t.Setenv("BLOODHOUND_IMAGES", t.TempDir())
	t.Setenv("DOCKER_CONFIG", t.TempDir())
	t.Setenv("DOCKER_HOST", "unix:///nowhere")
	for _, c := range []struct {
		name  string
		base  []string
		needs []string
	}{
		{"binary", nil, nil},
		{"go", []string{"golang:1"}, nil},
		{"multistage", []string{"golang:1"}, nil},
		{"python", []string{"python:3"}, []string{"/usr/bin/python3.11", "/usr/lib/python3/dist-packages/pip"}},
		{"node", []string{"node:20"}, []string{"node", "npm"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			if len(c.base) > 0 && c.base[0] == "golang:1" && !soak {
				t.Skip("compiles the standard library; internal/image/build has builds in stages; runs with BLOODHOUND_SOAK=1")
			}
			if c.name == "node" && !soak {
				t.Skip("python installs packages in the same way; runs with BLOODHOUND_SOAK=1")
			}
			w := server{name: "dockerfile-" + c.name, dir: filepath.Join(t.TempDir(), c.name), needs: append(c.needs, "dpkg"), minOK: 50}
			w.require(t)
			serveBases(t, c.base...)
			if err := os.CopyFS(w.dir, os.DirFS(filepath.Join("testdata", "dockerfiles", c.name))); err != nil {
				t.Fatal(err)
			}
			take := func(from, to string) {
				t.Helper()
				b, err := os.ReadFile(filepath.Join("testdata", "dockerfiles", from))
				if err == nil {
					err = os.WriteFile(filepath.Join(w.dir, to), b, 0o644)
				}
				if err != nil {
					t.Fatal(err)
				}
			}
			take("bloodhound.yaml", "bloodhound.yaml")
			switch c.name {
			case "binary", "go", "multistage":
				take("server.txt", "main.go")
				take("server.mod", "go.mod")
			case "python":
				writeWheel(t, filepath.Join(w.dir, "wheels"))
			}
			if c.name == "binary" {
				cmd := exec.Command("go", "build", "-o", "server", ".")
				cmd.Dir, cmd.Env = w.dir, append(os.Environ(), "CGO_ENABLED=0", "GOWORK=off")
				if out, err := cmd.CombinedOutput(); err != nil {
					t.Fatalf("go build: %v\n%s", err, out)
				}
			}
			first := w.repeats(t, "2")
			if len(c.base) > 0 && c.base[0] == "golang:1" && !soak {
				return // compilations take long enough once
			}
			t.Setenv("BLOODHOUND_IMAGES", t.TempDir())
			if again := w.repeats(t, "1"); again != first {
				t.Errorf("built anew, the trace hash is %s, and was %s", again, first)
			}
		})
	}
}

// writeWheel makes a package of Python, as PyPI would have it.
func writeWheel(t *testing.T, dir string) {
	t.Helper()
	var b bytes.Buffer
	z := zip.NewWriter(&b)
	const info = "greeter-1.0.dist-info/"
	for _, f := range [][2]string{
		{"greeter.py", "def greeting():\n    return 'hello'\n"},
		{info + "METADATA", "Metadata-Version: 2.1\nName: greeter\nVersion: 1.0\n"},
		{info + "WHEEL", "Wheel-Version: 1.0\nGenerator: tests\nRoot-Is-Purelib: true\nTag: py3-none-any\n"},
		{info + "RECORD", "greeter.py,,\n" + info + "METADATA,,\n" + info + "WHEEL,,\n" + info + "RECORD,,\n"},
	} {
		w, err := z.Create(f[0])
		if err == nil {
			_, err = io.WriteString(w, f[1])
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	if err := z.Close(); err != nil {
		t.Fatal(err)
	}
	if err := os.MkdirAll(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, "greeter-1.0-py3-none-any.whl"), b.Bytes(), 0o644); err != nil {
		t.Fatal(err)
	}
}
