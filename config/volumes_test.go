package config

import (
	"path/filepath"
	"strings"
	"testing"
)

// Services that share a volume take turns, or are told that they share nothing.
func TestSharedVolumes(t *testing.T) {
	services := func(text string) (*Result, error) {
		dir := project(t, "compose.yaml\nservices:\n"+text+"\nvolumes: {vol: {}}\n")
		return Load(Options{ComposeFiles: []string{filepath.Join(dir, "compose.yaml")}, Images: anyImage})
	}
	const after = "depends_on: {%: {condition: service_completed_successfully}}"
	waits := func(name string) string { return strings.Replace(after, "%", name, 1) }
	for _, c := range []struct{ name, text, wrong, from string }{
		{"in turn", "  a: {image: x, volumes: ['vol:/a']}\n  b: {image: x, volumes: ['vol:/b'], " + waits("a") + "}\n  z: {image: x, volumes: ['vol:/z:ro'], " + waits("b") + "}", "", "b"},
		{"by way of another", "  a: {image: x, volumes: ['vol:/a']}\n  b: {image: x, " + waits("a") + "}\n  z: {image: x, volumes: ['vol:/z'], depends_on: [b]}", "", "a"},
		{"readers", "  z: {image: x, volumes: ['vol:/a:ro']}\n  b: {image: x, volumes: ['vol:/b:ro']}", "", ""},
		{"at once", "  a: {image: x, volumes: ['vol:/a']}\n  z: {image: x, volumes: ['vol:/b:ro'], depends_on: [a]}", "share the volume \"vol\" while both may run", ""},
		{"two writers before", "  a: {image: x, volumes: ['vol:/a']}\n  b: {image: x, volumes: ['vol:/b']}\n  z: {image: x, volumes: ['vol:/z']}", "share the volume", ""},
		{"replicas", "  z: {image: x, volumes: ['vol:/a'], scale: 2}", "z-1 and z-2 share the volume", ""},
		{"an absent folder", "  a: {image: x, volumes: ['./gone:/a']}\n  z: {image: x, volumes: ['./gone:/b'], scale: 1}", "", ""},
		{"twice", "  z: {image: x, volumes: ['vol:/a', 'vol:/b']}", "is mounted twice", ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			r, err := services(c.text)
			if c.wrong != "" {
				if err == nil || !strings.Contains(err.Error(), c.wrong) || !strings.Contains(err.Error(), "^") {
					t.Errorf("%v, want %q and a caret", err, c.wrong)
				}
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			if got := node1(t, r, "z").Volumes[0].From; got != c.from {
				t.Errorf("it begins with the volume of %q, want %q", got, c.from)
			}
		})
	}
}
