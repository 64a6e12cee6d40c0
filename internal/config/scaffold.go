package config

import (
	"embed"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"

	"github.com/bloodhound-dst/bloodhound/internal/config/source"
)

//go:embed scaffold.yaml
var scaffold string

//go:embed templates
var templates embed.FS

// Templates are the names of tests that `bloodhound init --template` writes. Each has a planted bug.
func Templates() (names []string) {
	list, err := fs.ReadDir(templates, "templates")
	if err != nil {
		panic(err)
	}
	for _, e := range list {
		names = append(names, e.Name())
	}
	return names
}

// borrowed are the programs that a template has of another one, whose cluster it runs in another way.
var borrowed = map[string]string{"compose": "http-service/server.py"}

// Template is the files of a template, by name; nil if there is no such template.
func Template(name string) map[string][]byte {
	if !slices.Contains(Templates(), name) {
		return nil
	}
	dir := path.Join("templates", name)
	list, err := fs.ReadDir(templates, dir)
	if err != nil {
		panic(err)
	}
	var paths []string
	for _, e := range list {
		paths = append(paths, path.Join(dir, e.Name()))
	}
	if file := borrowed[name]; file != "" {
		paths = append(paths, path.Join("templates", file))
	}
	files := map[string][]byte{}
	for _, p := range paths {
		text, err := fs.ReadFile(templates, p)
		if err != nil {
			panic(err)
		}
		files[path.Base(p)] = text
	}
	return files
}

// composeNames are the names of Compose files, in the order in which a folder is searched.
var composeNames = []string{"compose.yaml", "compose.yml", "docker-compose.yaml", "docker-compose.yml"}

// Scaffold is the bloodhound.yaml that `bloodhound init` writes into a folder. Where there is a Compose file, which is returned
// too, its services are the nodes.
func Scaffold(dir string) (text []byte, compose string) {
	compose = composeIn(dir)
	content, err := source.ReadBounded(filepath.Join(dir, compose))
	if compose == "" || err != nil {
		return []byte(scaffold), ""
	}
	front := frontOf(content)
	before, rest, _ := strings.Cut(scaffold, "# The programs, in Compose's own keys.")
	_, after, _ := strings.Cut(rest, "\n\n")
	after = strings.Replace(after, "[http://n1:8080, http://n2:8080, http://n3:8080]", front+"   # the server that answers requests", 1)
	after = strings.Replace(after, "http://n1:8080/", front+"/", 1)
	return []byte(before + "# Each service of this file is a node. docs/reference/compose.md lists the differences from Docker.\ncompose: " + compose + "\n\n" + after), compose
}

// composeIn finds the Compose file of a folder, empty if there is none.
func composeIn(dir string) string {
	for _, name := range composeNames {
		if _, err := os.Stat(filepath.Join(dir, name)); err == nil {
			return name
		}
	}
	return ""
}

// frontOf guesses where a Compose file's cluster is reached from outside: at the first port that is published, or else at the
// first service.
func frontOf(content []byte) string {
	var f struct {
		Services yaml.Node `yaml:"services"`
	}
	if yaml.Unmarshal(content, &f) != nil || f.Services.Kind != yaml.MappingNode || len(f.Services.Content) < 2 {
		return "http://SERVICE:80"
	}
	for i := 0; i+1 < len(f.Services.Content); i += 2 {
		var s struct {
			Ports []yaml.Node `yaml:"ports"`
		}
		if f.Services.Content[i+1].Decode(&s) != nil || len(s.Ports) == 0 {
			continue
		}
		parts := strings.Split(s.Ports[0].Value, ":")
		if port, _, _ := strings.Cut(parts[len(parts)-1], "/"); s.Ports[0].Kind == yaml.ScalarNode && port != "" && !strings.ContainsAny(port, "-$}") {
			return "http://" + f.Services.Content[i].Value + ":" + port
		}
	}
	return "http://" + f.Services.Content[0].Value + ":80"
}
