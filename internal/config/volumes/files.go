package volumes

import (
	"os"
	"path"
	"strconv"

	"github.com/bloodhound-dst/bloodhound/internal/config/compose"
	"github.com/bloodhound-dst/bloodhound/internal/config/load"
	"github.com/bloodhound-dst/bloodhound/internal/config/source"
	"github.com/bloodhound-dst/bloodhound/internal/world"
)

// mountFiles mounts the secrets or configs of a node. dir is where they lie by default.
func mountFiles(l *load.State, d *load.Node, kind, dir string) {
	key := d.Key + "." + kind
	for _, item := range d.Value.Get(kind).List() {
		name := item.Text
		if item.Kind == source.Mapping {
			name = source.ValueOr(item.Get("source"), "")
			l.Missing(item, "source", "add `source:`, a name from the top level of the Compose file", "%s: an item has no source", key)
		}
		if name == "" {
			continue
		}
		made := l.Composed.Get(kind).Get(name)
		if made == nil {
			l.Fail(item.Position, "define it under `"+kind+":` at the top level of the Compose file",
				"%s: unknown name %q in %s of the Compose file", key, source.Shorten(name), kind)
			continue
		}
		v := world.Volume{Kind: world.File, Target: name, ReadOnly: true, Mode: 0o444}
		if t := source.ValueOr(item.Get("target"), ""); t != "" {
			v.Target = t
		}
		if !path.IsAbs(v.Target) {
			v.Target = path.Join(dir, v.Target)
		}
		v.UID, v.GID = idOf(l, item.Get("uid"), key+".uid"), idOf(l, item.Get("gid"), key+".gid")
		if m := item.Get("mode"); m != nil {
			v.Mode = modeOf(l, m, key+".mode")
		}
		if contentOf(l, made, item.Position, key, name, item.Has("mode"), &v) {
			mount(l, d, item.Position, key, v)
		}
	}
}

// contentOf finds what is in a secret or config. moded says that its permissions are given; otherwise those of a file are
// its own.
func contentOf(l *load.State, made *source.Node, at source.Position, key, name string, moded bool, v *world.Volume) bool {
	switch file, variable := made.Get("file"), made.Get("environment"); {
	case source.ValueOr(made.Get("external"), false):
		l.Fail(at, "set `file:` or `environment:`, in an additional Compose file if necessary",
			"%s: %q is external, and a world has no access to it", key, name)
		return false
	case file != nil:
		text, err := source.ReadBounded(file.Text)
		if err != nil {
			l.Fail(file.Position, "write the path of an existing file", "%s: %v", key, err)
			return false
		}
		v.Content = text
		if info, err := os.Stat(file.Text); err == nil && !moded { // as a bind mount of the file
			v.Mode = uint32(info.Mode().Perm())
		}
	case made.Get("content") != nil: // of a config also what its variable has
		v.Content = []byte(made.Get("content").Text)
	case made.Has(compose.SecretValue): // what a secret's variable has
		v.Content = []byte(made.Entry(compose.SecretValue).Value.Text)
	case variable != nil:
		l.Fail(variable.Position, "set it in the environment or in .env", "%s: the variable %s is not set", key, variable.Text)
		return false
	default: // compose-go refuses two of them
		l.Fail(made.Position, "set one of `file:`, `environment:` and, for a config, `content:`", "%s: %q has no contents", key, name)
		return false
	}
	return true
}

func idOf(l *load.State, n *source.Node, key string) int {
	if n == nil {
		return 0
	}
	id, err := strconv.ParseUint(n.Text, 10, 31)
	if err != nil {
		l.Fail(n.Position, "write a number, such as 1000", "%s: %q is not a numeric id", key, source.Shorten(n.Text))
	}
	return int(id)
}

// modeOf reads permissions, which are octal.
func modeOf(l *load.State, n *source.Node, key string) uint32 {
	mode, err := strconv.ParseUint(n.Text, 8, 32)
	if err != nil || mode > 0o7777 {
		l.Fail(n.Position, "write permissions such as \"0440\"", "%s: %q are not valid permissions", key, source.Shorten(n.Text))
	}
	return uint32(mode)
}
