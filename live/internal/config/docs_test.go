package config

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// The examples of the reference load.
func TestDocumentedExamples(t *testing.T) {
	for page, load := range map[string]func(name string) error{
		"live.md":       func(name string) error { _, _, err := LoadLive(name); return err },
		"federation.md": func(name string) error { _, _, err := LoadFederation(name); return err },
	} {
		text, err := os.ReadFile("../../../docs/reference/" + page)
		if err != nil {
			t.Fatal(err)
		}
		_, example, ok := strings.Cut(string(text), "```yaml\n")
		if !ok {
			t.Fatalf("%s does not begin with an example", page)
		}
		example, _, _ = strings.Cut(example, "```")
		name := filepath.Join(t.TempDir(), "example.yaml")
		if err := os.WriteFile(name, []byte(example), 0o666); err != nil {
			t.Fatal(err)
		}
		if err := load(name); err != nil {
			t.Errorf("%s: %v", page, err)
		}
	}
}
