package config

import (
	"embed"
	"io/fs"
	"path"
	"slices"
)

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
