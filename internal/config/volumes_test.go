package config

import (
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/bloodhound-dst/bloodhound/internal/world"
)

// Services that have one volume share it, unless they take turns: then each has its own, which begins with what the one before it left.
func TestSharedVolumes(t *testing.T) {
	services := func(text string) (*Result, error) {
		dir := project(t, "compose.yaml\nservices:\n"+text+"\nvolumes: {vol: {}}\n")
		return Load(Options{ComposeFiles: []string{filepath.Join(dir, "compose.yaml")}, Images: anyImage})
	}
	const after = "depends_on: {%: {condition: service_completed_successfully}}"
	waits := func(name string) string { return strings.Replace(after, "%", name, 1) }
	for _, c := range []struct {
		name, text, wrong, from string
		shared                  bool
	}{
		{"in turn", "  a: {image: x, volumes: ['vol:/a']}\n  b: {image: x, volumes: ['vol:/b'], " + waits("a") +
			"}\n  z: {image: x, volumes: ['vol:/z:ro'], " + waits("b") + "}", "", "b", false},
		{"by way of another", "  a: {image: x, volumes: ['vol:/a']}\n  b: {image: x, " + waits("a") +
			"}\n  z: {image: x, volumes: ['vol:/z'], depends_on: [b]}", "", "a", false},
		{"in turn, and with another", "  a: {image: x, volumes: ['vol:/a']}\n  b: {image: x, volumes: ['vol:/b']}\n  z: {image: x, volumes: ['vol:/z'], " +
			waits("a") + "}", "", "", true},
		{"readers", "  z: {image: x, volumes: ['vol:/a:ro']}\n  b: {image: x, volumes: ['vol:/b:ro']}", "", "", false},
		{"at once", "  a: {image: x, volumes: ['vol:/a']}\n  z: {image: x, volumes: ['vol:/b:ro'], depends_on: [a]}", "", "", true},
		{"two writers", "  a: {image: x, volumes: ['vol:/a']}\n  z: {image: x, volumes: ['vol:/z']}", "", "", true},
		{"another's", "  a: {image: x, volumes: ['other:/a']}\n  z: {image: x, volumes: ['vol:/z']}", "unknown volume \"other\"", "", false},
		{"replicas", "  z: {image: x, volumes: ['vol:/a'], scale: 2}", "", "", true},
		{"an absent folder", "  a: {image: x, volumes: ['./gone:/a']}\n  z: {image: x, volumes: ['./gone:/b']}", "", "", true},
		{"an absent folder of replicas", "  z: {image: x, volumes: ['./gone:/b'], scale: 3}", "", "", true},
		{"an absent folder alone", "  a: {image: x, volumes: ['./gone:/a']}\n  z: {image: x, volumes: ['./gone2:/b']}", "", "", false},
		{"a folder", "  a: {image: x, volumes: ['.:/a']}\n  z: {image: x, volumes: ['.:/b:ro']}", "", "", true},
		{"a folder to read", "  a: {image: x, volumes: ['.:/a:ro']}\n  z: {image: x, volumes: ['.:/b:ro']}", "", "", false},
		{"by way of volumes_from", "  a: {image: x, volumes: ['vol:/a']}\n  b: {image: x, volumes_from: [a]}\n  z: {image: x, volumes_from: ['b:ro']}",
			"", "", true},
		{"a volume without a name", "  a: {image: x, volumes: ['/a']}\n  z: {image: x, volumes_from: [a]}", "", "", true},
		{"of a container", "  z: {image: x, volumes_from: ['container:db']}", "a Docker container", "", false},
		{"twice", "  z: {image: x, volumes: ['vol:/a', 'vol:/b']}", "", "", true},
		{"a folder twice", "  z: {image: x, volumes: ['.:/a', '.:/b:ro']}", "", "", true},
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
			z := slices.IndexFunc(r.Spec.Nodes, func(n world.Node) bool { return strings.HasPrefix(n.Name, "z") })
			v := r.Spec.Nodes[z].Volumes[0]
			if v.From != c.from || v.Shared != c.shared {
				t.Errorf("it begins with the volume of %q, shared: %v, want %q and %v", v.From, v.Shared, c.from, c.shared)
			}
			if c.name == "by way of volumes_from" && (!v.ReadOnly || v.Target != "/a" || v.Source != "vol") {
				t.Errorf("%+v", v)
			}
		})
	}
}
