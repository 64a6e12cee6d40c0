package points

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
)

// Manifest says of what copies a program was built with the stand-ins.
type Manifest struct {
	Overlay string            // the file for -overlay of the go command
	Files   map[string]string // SHA-256, in hex, of each file of Go in the folders of the packages, by path
}

// Manifests are the files that have those of this program. The stand-ins set them.
var Manifests = map[string]bool{}

// Add takes the files of a folder in.
func (m *Manifest) Add(dir string) error {
	files, err := digests(dir)
	maps.Copy(m.Files, files)
	return err
}

func digests(dir string) (map[string]string, error) {
	names, err := filepath.Glob(filepath.Join(dir, "*.go"))
	if err != nil {
		return nil, err
	}
	files := map[string]string{}
	for _, name := range names {
		text, err := os.ReadFile(name)
		if err != nil {
			return nil, err
		}
		sum := sha256.Sum256(text)
		files[name] = hex.EncodeToString(sum[:])
	}
	return files, nil
}

// Check reports that sources have changed since this program's copies of them were made, so that it is not what they say. It returns the file for -overlay;
// empty if nothing of the program was built by one.
func Check() (overlay string, err error) {
	for _, file := range slices.Sorted(maps.Keys(Manifests)) {
		text, err := os.ReadFile(file)
		if err != nil {
			return "", fmt.Errorf("the source of this program is unknown: %w; run bloodhound test --actor-mode --switches again", err)
		}
		var m Manifest
		if err := json.Unmarshal(text, &m); err != nil {
			return "", fmt.Errorf("%s: %w", file, err)
		}
		now := map[string]string{}
		dirs := map[string]bool{}
		for name := range m.Files {
			dirs[filepath.Dir(name)] = true
		}
		for dir := range dirs {
			files, err := digests(dir)
			if err != nil {
				return "", err
			}
			maps.Copy(now, files)
		}
		names := maps.Clone(m.Files)
		maps.Copy(names, now)
		for _, name := range slices.Sorted(maps.Keys(names)) {
			if m.Files[name] != now[name] {
				return "", fmt.Errorf("%s has changed since this program was built from a copy of its package: "+
					"run bloodhound test --actor-mode --switches again",
					name)
			}
		}
		overlay = m.Overlay
	}
	return overlay, nil
}
