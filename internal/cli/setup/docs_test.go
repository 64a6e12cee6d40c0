package setup

import "testing"

// A topic names a page by its path, its name, or the beginning of its name. A page of a folder does not hide one above it.
func TestTopicsOfDocs(t *testing.T) {
	for topic, file := range map[string]string{
		"faults":                         "reference/faults.md",
		"Faults.md":                      "reference/faults.md",
		"config/faults":                  "reference/config/faults.md",
		"docs/reference/config/nodes.md": "reference/config/nodes.md",
		"reference/config":               "reference/config.md",
		"config":                         "reference/config.md",
		"nodes":                          "reference/config/nodes.md",
		"run-in":                         "how-to/run-in-ci.md",
		"tutorial":                       "tutorial.md",
	} {
		if p, ok := pageNamed(topic); !ok || p.file != file {
			t.Errorf("%q is the page %q, want %q", topic, p.file, file)
		}
	}
	for _, p := range pages() {
		if found, ok := pageNamed(p.topic); !ok || found.file != p.file {
			t.Errorf("the topic %q of %s leads to %q", p.topic, p.file, found.file)
		}
	}
	if p, ok := pageNamed("no-such-page"); ok {
		t.Errorf("there is a page %s", p.file)
	}
}
