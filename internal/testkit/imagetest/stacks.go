package imagetest

import (
	"os"
	"testing"

	v1 "github.com/google/go-containerregistry/pkg/v1"
)

// Path is the variable PATH of images.
const Path = "PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"

// Stacks are images made of Debian's packages, put together as the official ones of their names are: a user, a volume, and an
// entrypoint that gives the volume to the user and continues as that user.
var Stacks = map[string]func(testing.TB) v1.Image{
	"redis": func(t testing.TB) v1.Image {
		r := Shell(t)
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
			Env: []string{Path}, WorkingDir: "/data", Volumes: map[string]struct{}{"/data": {}}})
	},
	"postgres": func(t testing.TB) v1.Image {
		r := Shell(t)
		r.Package("postgresql-15")
		r.Package("postgresql-client-15")
		for _, p := range []string{"locale", "tr", "wc"} {
			r.Program(p)
		}
		r.Copy("/usr/share/zoneinfo/Etc/UTC")
		r.Copy("/usr/share/zoneinfo/UTC")
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
		r := New(t)
		return r.Image(v1.Config{Entrypoint: []string{r.Program("etcd")}, Env: []string{Path}})
	},
	"nginx": func(t testing.TB) v1.Image {
		r := Shell(t)
		r.Program("nginx")
		r.Copy("/etc/nginx/mime.types")
		r.User("www-data", "33")
		r.Folder("/var/log/nginx", 0o755, 0)
		r.Folder("/var/lib/nginx", 0o755, 0)
		r.Folder("/run", 0o755, 0)
		r.Text("/etc/nginx/nginx.conf", 0o644,
			"user www-data;\nworker_processes 2;\nerror_log stderr;\npid /run/nginx.pid;\nevents {}\nhttp {\n  access_log off;\n  "+
				"include /etc/nginx/conf.d/*.conf;\n}\n")
		r.Text("/etc/nginx/conf.d/default.conf", 0o644, "server { listen 80; location / { return 200 'hello'; } }\n")
		return r.Image(v1.Config{Cmd: []string{"nginx", "-g", "daemon off;"}, Env: []string{Path}, StopSignal: "SIGQUIT"})
	},
	"python": func(t testing.TB) v1.Image {
		r := Shell(t)
		r.Package("python3.11-minimal")
		r.Package("libpython3.11-minimal")
		r.Package("libpython3.11-stdlib")
		r.Link("/usr/bin/python3", "python3.11")
		return r.Image(v1.Config{Cmd: []string{"python3"}, Env: []string{Path}})
	},
	"jvm": func(t testing.TB) v1.Image {
		r := Shell(t)
		r.Package("openjdk-17-jre-headless")
		r.Link("/usr/bin/java", "../lib/jvm/java-17-openjdk-amd64/bin/java")
		return r.Image(v1.Config{Cmd: []string{"java"}, Env: []string{Path}})
	},
	"nodejs": func(t testing.TB) v1.Image {
		r := Shell(t)
		r.Program("node")
		if _, err := os.Stat(nodeModules); err == nil { // modules that are built in elsewhere
			r.Copy(nodeModules)
		}
		r.User("node", "1000")
		return r.Image(v1.Config{Cmd: []string{"node"}, Env: []string{Path}})
	},
}

const nodeModules = "/usr/share/nodejs"

// Shell is a root with a shell and what entrypoints use.
func Shell(t testing.TB) *Root {
	r := New(t)
	for _, p := range []string{"/bin/sh", "id", "find", "chown", "chmod", "mkdir", "setpriv", "ls", "cat", "rm", "sleep"} {
		r.Program(p)
	}
	r.Copy("/etc/nsswitch.conf")
	return r
}
