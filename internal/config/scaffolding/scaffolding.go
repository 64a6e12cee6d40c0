// Package scaffolding looks at a folder and writes the bloodhound.yaml of a world to start from, for `bloodhound init`.
// It reads files and runs nothing. The folder may be a stranger's, so every read is bounded, and no symbolic link is
// followed.
package scaffolding

import (
	_ "embed"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
)

//go:embed example.yaml
var example string

// ConfigName is the file that a World has in any case.
const ConfigName = "bloodhound.yaml"

// ExampleName chooses the example, which suits any folder.
const ExampleName = "example"

// World is one configuration that fits a folder.
type World struct {
	// Name identifies the world among those of its folder: a file or folder that it was made for.
	Name string
	// What describes the programs in a few words, without a full stop.
	What string
	// Checks name the guesses that a person should look at, one sentence each.
	Checks []string
	// Files are the files to write, by name.
	Files map[string][]byte
	// Complete: the configuration uses its driver as it is.
	Complete bool
}

// Findings are the worlds that fit a folder.
type Findings struct {
	// Worlds begin with the best one. There is none if nothing was recognised.
	Worlds []World
	// Notes name files that were not read, and parts that were not recognised.
	Notes []string
}

// detectors look for one kind of program each, in the order of preference: what describes a whole system first, then
// sources, which need no image, then what is further below, and images.
var detectors = []func(*folder) []sketch{
	composeFile, goPrograms, rustPrograms, nodePrograms, javaPrograms, pythonPrograms, cPrograms,
	composeFilesBelow, kubernetesManifests, dockerfiles,
}

// Find looks at a folder. A folder that does not exist has no programs.
func Find(dir string) Findings {
	f := openFolder(dir, maxEntries)
	var found Findings
	for _, detect := range detectors {
		for _, s := range detect(f) {
			if !f.taken[s.name] {
				f.taken[s.name] = true
				found.Worlds = append(found.Worlds, s.world(f))
			}
		}
	}
	found.Notes = f.notes
	return found
}

// Example is a configuration that works in an empty folder, with comments.
func Example() World {
	return World{Name: ExampleName, What: "an example: three servers of Python's http.server",
		Checks: []string{"Replace `python3 -m http.server` with your own program."},
		Files:  map[string][]byte{ConfigName: []byte(example)}}
}

// Choose finds the world that a person names; `./` at the beginning and `/` at the end do not matter.
func (f Findings) Choose(name string) (World, error) {
	plain := func(s string) string { return strings.TrimSuffix(strings.TrimPrefix(filepath.ToSlash(s), "./"), "/") }
	names := []string{}
	for _, w := range append(slices.Clone(f.Worlds), Example()) {
		if plain(w.Name) == plain(name) {
			return w, nil
		}
		names = append(names, w.Name)
	}
	return World{}, fmt.Errorf("found no %q to write a configuration for; choose one of %s",
		name, strings.Join(names, ", "))
}
