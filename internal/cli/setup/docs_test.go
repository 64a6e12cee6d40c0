package setup

import (
	"slices"
	"testing"
)

// A topic names a page by its path, its name, or the beginning of its name. A page of a folder does not hide one above it, and a command
// comes before a page of the same name.
func TestTopicsOfDocs(t *testing.T) {
	for topic, want := range map[string][]string{
		"faults":                         {"reference/faults.md"},
		"Faults.md":                      {"reference/faults.md"},
		"config/faults":                  {"reference/config/faults.md"},
		"docs/reference/config/nodes.md": {"reference/config/nodes.md"},
		"reference/config":               {"reference/config.md"},
		"config":                         {"reference/commands/config.md", "reference/config.md"},
		"explore":                        {"reference/commands/explore.md"},
		"nodes":                          {"reference/config/nodes.md"},
		"run-in":                         {"how-to/run-in-ci.md"},
		"tutorial":                       {"tutorial.md"},
		"no-such-page":                   nil,
	} {
		var files []string
		for _, p := range pagesNamed(topic) {
			files = append(files, p.file)
		}
		if !slices.Equal(files, want) {
			t.Errorf("%q leads to %q, want %q", topic, files, want)
		}
	}
	for _, p := range pages() {
		if !slices.ContainsFunc(pagesNamed(p.topic), func(found docsPage) bool { return found.file == p.file }) {
			t.Errorf("the topic %q does not lead to %s", p.topic, p.file)
		}
	}
}
