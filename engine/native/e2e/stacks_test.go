//go:build linux && amd64

package e2e

import (
	"testing"

	v1 "github.com/google/go-containerregistry/pkg/v1"

	"github.com/bloodhound-dst/bloodhound/internal/imagetest"
)

// stacks are images made of Debian's packages, put together as the official ones of their names are: a user, a volume, and an
// entrypoint that gives the volume to the user and goes on as that user.
var stacks = map[string]func(testing.TB) v1.Image{
	"redis": func(t testing.TB) v1.Image {
		r := shell(t)
		r.Program("redis-server")
		r.Program("redis-cli")
		r.User("redis", "999")
		r.Folder("/data", 0o755, 0)
		r.Text("/usr/local/bin/docker-entrypoint.sh", 0o755, `#!/bin/sh
set -e
# first arg is an option, or a configuration
if [ "${1#-}" != "$1" ] || [ "${1%.conf}" != "$1" ]; then
	set -- redis-server "$@"
fi
if [ "$1" = 'redis-server' ] && [ "$(id -u)" = '0' ]; then
	find . \! -user redis -exec chown redis '{}' +
	exec setpriv --reuid redis --regid redis --clear-groups "$0" "$@"
fi
exec "$@"
`)
		return r.Image(v1.Config{Entrypoint: []string{"docker-entrypoint.sh"}, Cmd: []string{"redis-server", "--appendonly", "yes", "--protected-mode", "no"},
			Env:        []string{"PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"},
			WorkingDir: "/data", Volumes: map[string]struct{}{"/data": {}}})
	},
}

// shell is a root with a shell and what entrypoints use.
func shell(t testing.TB) *imagetest.Root {
	r := imagetest.New(t)
	for _, p := range []string{"/bin/sh", "id", "find", "chown", "chmod", "mkdir", "setpriv", "stat", "ls", "cat", "rm", "sleep", "test"} {
		r.Program(p)
	}
	r.Copy("/etc/nsswitch.conf")
	return r
}
