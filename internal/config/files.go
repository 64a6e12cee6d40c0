package config

import (
	"os"
	"path"
	"strconv"

	"github.com/compose-spec/compose-go/v2/types"

	"github.com/bloodhound-dst/bloodhound/internal/world"
)

// secretValue is where compose-go puts what the variable of a secret has.
const secretValue = types.SecretConfigXValue

// mountFiles mounts the secrets or configs of a node. dir is where they lie by default.
func (l *loader) mountFiles(d *declared, kind, dir string) {
	key := d.key + "." + kind
	for _, item := range d.value.get(kind).list() {
		source := item.text
		if item.kind == mapping {
			source = valueOr(item.get("source"), "")
			l.missing(item, "source", "add `source:`, its name at the top of the Compose file", "%s: an item has no source", key)
		}
		if source == "" {
			continue
		}
		made := l.composed.get(kind).get(source)
		if made == nil {
			l.fail(item.position, "declare it under `"+kind+":` at the top of the Compose file", "%s: there is no %q among the Compose file's %s", key, shorten(source), kind)
			continue
		}
		v := world.Volume{Kind: world.File, Target: source, ReadOnly: true, Mode: 0o444}
		if t := valueOr(item.get("target"), ""); t != "" {
			v.Target = t
		}
		if !path.IsAbs(v.Target) {
			v.Target = path.Join(dir, v.Target)
		}
		v.UID, v.GID = l.idOf(item.get("uid"), key+".uid"), l.idOf(item.get("gid"), key+".gid")
		if m := item.get("mode"); m != nil {
			v.Mode = l.modeOf(m, key+".mode")
		}
		if l.contentOf(made, item.position, key, source, item.has("mode"), &v) {
			l.mount(d, item.position, key, v)
		}
	}
}

// contentOf finds what is in a secret or config. moded tells that its permissions are given; otherwise those of a file are
// its own.
func (l *loader) contentOf(made *node, at position, key, source string, moded bool, v *world.Volume) bool {
	switch file, variable := made.get("file"), made.get("environment"); {
	case valueOr(made.get("external"), false):
		l.fail(at, "give it `file:` or `environment:`, in a Compose file of its own if need be", "%s: %q is external, and lies where no world reaches", key, source)
		return false
	case file != nil:
		text, err := readBounded(file.text)
		if err != nil {
			l.fail(file.position, "name a file that is there", "%s: %v", key, err)
			return false
		}
		v.Content = text
		if info, err := os.Stat(file.text); err == nil && !moded { // as a bind mount of it
			v.Mode = uint32(info.Mode().Perm())
		}
	case made.get("content") != nil: // of a config also what its variable has
		v.Content = []byte(made.get("content").text)
	case made.has(secretValue): // what a secret's variable has
		v.Content = []byte(made.entry(secretValue).value.text)
	case variable != nil:
		l.fail(variable.position, "set it in the environment or in .env", "%s: the variable %s is not set", key, variable.text)
		return false
	default: // compose-go refuses two of them
		l.fail(made.position, "give it one of `file:`, `environment:` and, if it is a config, `content:`", "%s: %q does not say what is in it", key, source)
		return false
	}
	return true
}

func (l *loader) idOf(n *node, key string) int {
	if n == nil {
		return 0
	}
	id, err := strconv.ParseUint(n.text, 10, 31)
	if err != nil {
		l.fail(n.position, "write a number, such as 1000", "%s: %q is not the number of a user or group", key, shorten(n.text))
	}
	return int(id)
}

// modeOf reads permissions, which are octal.
func (l *loader) modeOf(n *node, key string) uint32 {
	mode, err := strconv.ParseUint(n.text, 8, 32)
	if err != nil || mode > 0o7777 {
		l.fail(n.position, "write permissions such as \"0440\"", "%s: %q is no permissions", key, shorten(n.text))
	}
	return uint32(mode)
}
