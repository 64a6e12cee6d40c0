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
	"strings"
	"testing"

	"github.com/google/go-containerregistry/pkg/authn"
	"github.com/google/go-containerregistry/pkg/name"
	"github.com/google/go-containerregistry/pkg/registry"
	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/remote"
	"github.com/google/go-containerregistry/pkg/v1/tarball"

	"github.com/bloodhound-dst/bloodhound/internal/imagetest"
	"github.com/bloodhound-dst/bloodhound/internal/needs"
)

const path = "PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"

// stacks are images made of Debian's packages, put together as the official ones of their names are: a user, a volume, and an
// entrypoint that gives the volume to the user and continues as that user.
var stacks = map[string]func(testing.TB) v1.Image{
	"redis": func(t testing.TB) v1.Image {
		r := shell(t)
		r.Program("redis-server")
		r.Program("redis-cli")
		r.User("redis", "999")
		r.Folder("/data", 0o755, 0)
		r.Text("/usr/local/bin/docker-entrypoint.sh", 0o755, `#!/bin/sh
set -e
# An option, or a configuration, is for the server.
if [ "${1#-}" != "$1" ] || [ "${1%.conf}" != "$1" ]; then
	set -- redis-server "$@"
fi
if [ "$1" = redis-server ] && [ "$(id -u)" = 0 ]; then
	find . \! -user redis -exec chown redis '{}' +
	exec setpriv --reuid redis --regid redis --clear-groups "$0" "$@"
fi
exec "$@"
`)
		return r.Image(v1.Config{Entrypoint: []string{"docker-entrypoint.sh"}, Cmd: []string{"redis-server", "--appendonly", "yes", "--protected-mode", "no"},
			Env: []string{path}, WorkingDir: "/data", Volumes: map[string]struct{}{"/data": {}}})
	},
	"postgres": func(t testing.TB) v1.Image {
		r := shell(t)
		r.Package("postgresql-15")
		r.Package("postgresql-client-15")
		for _, p := range []string{"locale", "tr", "wc"} {
			r.Program(p)
		}
		r.Copy("/usr/share/zoneinfo/Etc/UTC")
		r.User("postgres", "998")
		r.Folder("/var/lib/postgresql/data", 0o700, 998)
		r.Folder("/var/run/postgresql", 0o2775, 998)
		r.Text("/usr/local/bin/docker-entrypoint.sh", 0o755, `#!/bin/sh
set -e
if [ "$1" = postgres ] && [ "$(id -u)" = 0 ]; then
	mkdir -p "$PGDATA"
	chown -R postgres "$PGDATA" /var/run/postgresql
	chmod 700 "$PGDATA"
	exec setpriv --reuid postgres --regid postgres --init-groups "$0" "$@"
fi
if [ "$1" = postgres ] && [ ! -s "$PGDATA/PG_VERSION" ]; then
	printf '%s' "$POSTGRES_PASSWORD" >/tmp/password
	POSTGRES_USER="${POSTGRES_USER:-postgres}"
	initdb --username="$POSTGRES_USER" --pwfile=/tmp/password
	rm /tmp/password
	echo "host all all all scram-sha-256" >>"$PGDATA/pg_hba.conf"
	pg_ctl -D "$PGDATA" -o "-c listen_addresses=''" -w start
	psql -v ON_ERROR_STOP=1 -U "$POSTGRES_USER" -d postgres -c "CREATE DATABASE ${POSTGRES_DB:-app}"
	pg_ctl -D "$PGDATA" -m fast -w stop
fi
exec "$@"
`)
		return r.Image(v1.Config{Entrypoint: []string{"docker-entrypoint.sh"}, Cmd: []string{"postgres", "-c", "listen_addresses=*"}, StopSignal: "SIGINT",
			Env:     []string{"PATH=/usr/lib/postgresql/15/bin:/usr/local/bin:/usr/bin:/bin", "PGDATA=/var/lib/postgresql/data", "LC_ALL=C"},
			Volumes: map[string]struct{}{"/var/lib/postgresql/data": {}}})
	},
	"etcd": func(t testing.TB) v1.Image { // no shell: a program and its loader
		r := imagetest.New(t)
		return r.Image(v1.Config{Entrypoint: []string{r.Program("etcd")}, Env: []string{path}})
	},
	"nginx": func(t testing.TB) v1.Image {
		r := shell(t)
		r.Program("nginx")
		r.Copy("/etc/nginx/mime.types")
		r.User("www-data", "33")
		r.Folder("/var/log/nginx", 0o755, 0)
		r.Folder("/var/lib/nginx", 0o755, 0)
		r.Folder("/run", 0o755, 0)
		r.Text("/etc/nginx/nginx.conf", 0o644, "user www-data;\nworker_processes 2;\nerror_log stderr;\npid /run/nginx.pid;\nevents {}\nhttp {\n  access_log off;\n  include /etc/nginx/conf.d/*.conf;\n}\n")
		r.Text("/etc/nginx/conf.d/default.conf", 0o644, "server { listen 80; location / { return 200 'hello'; } }\n")
		return r.Image(v1.Config{Cmd: []string{"nginx", "-g", "daemon off;"}, Env: []string{path}, StopSignal: "SIGQUIT"})
	},
	"python": func(t testing.TB) v1.Image {
		r := shell(t)
		r.Package("python3.11-minimal")
		r.Package("libpython3.11-minimal")
		r.Package("libpython3.11-stdlib")
		r.Link("/usr/bin/python3", "python3.11")
		return r.Image(v1.Config{Cmd: []string{"python3"}, Env: []string{path}})
	},
	"message-queue": func(t testing.TB) v1.Image { // nothing but the program
		program := filepath.Join(t.TempDir(), "broker")
		goBuild(t, program, "../../../../examples/message-queue/broker")
		text, err := os.ReadFile(program)
		if err != nil {
			t.Fatal(err)
		}
		r := imagetest.New(t)
		r.Text("/usr/local/bin/broker", 0o755, string(text))
		return r.Image(v1.Config{Cmd: []string{"broker"}, Env: []string{path}})
	},
	"jvm": func(t testing.TB) v1.Image {
		r := shell(t)
		r.Package("openjdk-17-jre-headless")
		r.Link("/usr/bin/java", "../lib/jvm/java-17-openjdk-amd64/bin/java")
		return r.Image(v1.Config{Cmd: []string{"java"}, Env: []string{path}})
	},
}

func goBuild(t testing.TB, to, folder string) {
	t.Helper()
	cmd := exec.Command("go", "build", "-o", to, "./"+folder)
	cmd.Env = append(os.Environ(), "CGO_ENABLED=0")
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("go build: %v\n%s", err, out)
	}
}

// shell is a root with a shell and what entrypoints use.
func shell(t testing.TB) *imagetest.Root {
	r := imagetest.New(t)
	for _, p := range []string{"/bin/sh", "id", "find", "chown", "chmod", "mkdir", "setpriv", "ls", "cat", "rm", "sleep"} {
		r.Program(p)
	}
	r.Copy("/etc/nsswitch.conf")
	return r
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
				const example = "../../../../examples/message-queue/"
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
				img := stacks[kind](t)
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
			img := stacks["redis"](t)
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
		story, _ := exec.Command(bloodhound, "run", s.dir).CombinedOutput()
		t.Fatalf("%v: %s; %d operations ok, hash %q\n%s", err, d.Error, d.Run.Operations.OK, d.Run.Hash, story)
	}
	return d.Run.Hash
}
