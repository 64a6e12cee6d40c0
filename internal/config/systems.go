package config

import (
	"embed"
	"io/fs"
	"path"
	"slices"
	"strings"
)

//go:embed systems
var systems embed.FS

// sharedSystemFiles are in the folder of parts that the programs of all kinds of systems import.
const sharedSystemFiles = "shared"

// FixedName is the configuration of a system without its planted bug.
const FixedName = "fixed.yaml"

// Systems lists the kinds of systems that `bloodhound init --system` writes: a small server with a planted bug, a driver, and the
// property that the bug violates.
func Systems() (kinds []string) {
	for _, name := range entriesOf("systems") {
		if name != sharedSystemFiles {
			kinds = append(kinds, name)
		}
	}
	return kinds
}

// System returns the files for a kind of system, by name; nil if the kind is unknown. FixedName has the server without the bug.
func System(kind string) map[string][]byte {
	if !slices.Contains(Systems(), kind) {
		return nil
	}
	files := map[string][]byte{}
	for _, dir := range []string{kind, sharedSystemFiles} {
		for _, name := range entriesOf(path.Join("systems", dir)) {
			text, err := fs.ReadFile(systems, path.Join("systems", dir, name))
			if err != nil {
				panic(err)
			}
			files[name] = text
		}
	}
	if files["driver.py"] == nil {
		delete(files, "clients.py")
	}
	_, rest, _ := strings.Cut(string(files["bloodhound.yaml"]), "\n")
	files[FixedName] = []byte("# The same system without the planted bug.\n" + strings.ReplaceAll(rest, "-B server.py", "-B server.py --fixed"))
	return files
}

// entriesOf lists the names in a folder of systems.
func entriesOf(dir string) (names []string) {
	list, err := fs.ReadDir(systems, dir)
	if err != nil {
		panic(err)
	}
	for _, e := range list {
		names = append(names, e.Name())
	}
	return names
}
