package nodes

import (
	"os"
	"strings"

	"github.com/bloodhound-dst/bloodhound/internal/config/images"
	"github.com/bloodhound-dst/bloodhound/internal/config/load"
	"github.com/bloodhound-dst/bloodhound/internal/config/source"
)

// environment gathers variables: what every node has, then env_file, then environment.
func environment(l *load.State, d *load.Node) []string {
	home := "/"
	if u, _, _ := strings.Cut(d.Spec.User, ":"); u == "" || u == "root" || u == "0" {
		home = "/root"
	}
	if d.Image != nil {
		home = images.HomeOf(d.Image, d.Spec.User)
	}
	vars := []source.Variable{{Name: "PATH", Text: load.SearchPath, Set: true}, {Name: "HOME", Text: home, Set: true},
		{Name: "HOSTNAME", Text: d.Spec.Hostname, Set: true}}
	if l.Describe && d.Image != nil {
		vars = vars[2:] // the image has the others
	}
	if d.Image != nil {
		for _, line := range d.Image.Config.Config.Env {
			name, value, _ := strings.Cut(line, "=")
			vars = append(vars, source.Variable{Name: name, Text: value, Set: true})
		}
	}
	files := d.Value.Get("env_file")
	if files != nil && files.Kind == source.Scalar {
		vars = append(vars, envFileOf(l, files, d.Key+".env_file")...)
	}
	for _, item := range files.List() {
		vars = append(vars, envFileOf(l, item, d.Key+".env_file")...)
	}
	vars = append(vars, source.ValueOr(d.Value.Get("environment"), []source.Variable(nil))...)
	return source.Environment(vars, d.Value.File.Lookup)
}

func envFileOf(l *load.State, item *source.Node, key string) []source.Variable {
	p, required, raw := item.Text, true, false
	if item.Kind == source.Mapping {
		p = source.ValueOr(item.Get("path"), "")
		required = source.ValueOr(item.Get("required"), true)
		raw = item.Get("format") != nil
		if p == "" {
			l.Missing(item, "path", "add `path:`", "%s has no path", key)
			return nil
		}
	}
	full := item.File.Beside(p)
	content, err := source.ReadBounded(full)
	if err != nil {
		if required || !os.IsNotExist(err) {
			l.Fail(item.Position, "write the path of a file with NAME=value lines, or {path: "+p+", required: false}", "%s: %v", key, err)
		}
		return nil
	}
	if raw {
		var vars []source.Variable
		for _, line := range strings.Split(string(content), "\n") {
			line = strings.TrimSuffix(line, "\r")
			if name, value, set := strings.Cut(line, "="); name != "" && line[0] != '#' {
				vars = append(vars, source.Variable{Name: name, Text: value, Set: set})
			}
		}
		return vars
	}
	return l.EnvFile(full, content, item.File.Lookup)
}
