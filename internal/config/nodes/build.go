package nodes

import (
	"os"
	"slices"

	"github.com/bloodhound-dst/bloodhound/internal/config/images"
	"github.com/bloodhound-dst/bloodhound/internal/config/keys"
	"github.com/bloodhound-dst/bloodhound/internal/config/load"
	"github.com/bloodhound-dst/bloodhound/internal/config/source"
)

// buildStep reads `build:`. Equal steps of several nodes run once. It returns false if the step is wrong.
func buildStep(l *load.State, d *load.Node) bool {
	n := d.Value.Get("build")
	if n == nil {
		return !d.Value.Has("build")
	}
	if images.FromDockerfile(n) {
		return true // imageOf finds what it has made
	}
	key := d.Key + ".build"
	b := load.Build{Node: d.Name, Dir: n.File.Dir}
	if n.Kind == source.Mapping {
		b.Argv = l.Argv(n.Get("command"), key+".command")
		if dir := source.ValueOr(n.Get("dir"), ""); dir != "" {
			b.Dir = l.Under(n.File.Dir, dir)
		}
		b.Env = source.Environment(source.ValueOr(n.Get("environment"), []source.Variable(nil)), n.File.Lookup)
	} else {
		b.Argv = l.Argv(n, key)
	}
	refused := slices.ContainsFunc(n.Entries, func(e *source.Entry) bool { return e.Value.Bad })
	switch {
	case refused || n.Bad:
		return false
	case len(b.Argv) == 0 || b.Argv[0] == "":
		l.Fail(n.Position, "write the command that builds the program, such as `go build -o bin/app ./cmd/app`", "%s has no command", key)
		return false
	case len(b.Argv) == 1 && isFolder(l.Under(n.File.Dir, b.Argv[0])):
		l.Fail(n.Position, keys.NoDockerfile, "%s: %q is a folder, not a command", key, b.Argv[0])
		return false
	}
	for _, o := range l.Builds {
		if o.Dir == b.Dir && slices.Equal(o.Argv, b.Argv) && slices.Equal(o.Env, b.Env) {
			return true
		}
	}
	l.Builds = append(l.Builds, b)
	return true
}

func isFolder(name string) bool {
	info, err := os.Stat(name)
	return err == nil && info.IsDir()
}
