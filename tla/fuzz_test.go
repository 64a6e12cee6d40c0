package tla

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// FuzzLoad reads a configuration and a module: what is wrong with them is an error, and nothing else.
func FuzzLoad(f *testing.F) {
	text, err := os.ReadFile(filepath.Join("testdata", "cases.txt"))
	if err != nil {
		f.Fatal(err)
	}
	for _, c := range strings.Split(string(text), "\n## ")[1:] {
		_, module, _ := strings.Cut(c, "-- M.tla --\n")
		module, _, _ = strings.Cut(module, "\n-- ")
		config := "INIT Init\nNEXT Next"
		if _, other, ok := strings.Cut(c, "-- M.cfg --\n"); ok {
			config, _, _ = strings.Cut(other, "\n-- ")
		}
		f.Add(module, config)
	}
	dir := f.TempDir()
	f.Fuzz(func(t *testing.T, module, text string) {
		c, err := ParseConfig("M.cfg", text)
		if err != nil {
			return
		}
		file := filepath.Join(dir, "M.tla")
		if err := os.WriteFile(file, []byte(module), 0o644); err != nil {
			t.Fatal(err)
		}
		if _, err := Load(file, c); err != nil && err.Error() == "" {
			t.Error("an error without words")
		}
	})
}
