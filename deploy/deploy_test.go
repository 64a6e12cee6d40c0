// Package deploy has what runs a fleet on machines: a systemd unit, a Compose file, objects of Kubernetes. Its test lets the tool of each read them.
package deploy

import (
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/compose-spec/compose-go/v2/cli"
	"go.yaml.in/yaml/v3"

	"github.com/bloodhound-dst/bloodhound/internal/needs"
)

func TestUnit(t *testing.T) {
	if !needs.Has("systemd-analyze") {
		t.Skip("systemd-analyze is missing: a machine without systemd cannot use the unit either")
	}
	// A unit is verified with the program and the user that it names.
	text, err := os.ReadFile("systemd/bloodhound-worker@.service")
	if err != nil {
		t.Fatal(err)
	}
	here := strings.NewReplacer("/usr/local/bin/bloodhound", "/bin/true", "/etc/bloodhound/worker.env", "-/etc/bloodhound/worker.env").Replace(string(text))
	file := filepath.Join(t.TempDir(), "bloodhound-worker@.service")
	if err := os.WriteFile(file, []byte(here), 0o666); err != nil {
		t.Fatal(err)
	}
	out, err := exec.Command("systemd-analyze", "verify", "--man=no", file).CombinedOutput()
	if err != nil || strings.Contains(string(out), "bloodhound-worker") { // it warns of units of the machine, too
		t.Errorf("%v\n%s", err, out)
	}
}

// compose-go is what docker compose reads files with.
func TestCompose(t *testing.T) {
	o, err := cli.NewProjectOptions([]string{"compose.yaml"}, cli.WithEnv([]string{"PROJECT=/srv/kv", "POSTGRES_PASSWORD=x", "BLOODHOUND_DASHBOARD_TOKEN=y"}))
	if err != nil {
		t.Fatal(err)
	}
	p, err := o.LoadProject(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	w, err := p.GetService("worker")
	if err != nil {
		t.Fatal(err)
	}
	if s := w.Environment["BLOODHOUND_STORE"]; s == nil || !strings.HasPrefix(*s, "postgres://bloodhound:x@store/") {
		t.Errorf("the worker's store: %v", s)
	}
	if w.Build == nil || w.Build.Dockerfile != "deploy/Dockerfile" {
		t.Errorf("the worker's image: %+v", w.Build)
	}
}

// kubectl decodes an object into its type, which drops what the type does not have.
func TestKubernetes(t *testing.T) {
	if !needs.Has("kubectl") {
		t.Skip("kubectl is missing; Debian's is too old to know all fields of a Job")
	}
	text, err := os.ReadFile("kubernetes/bloodhound.yaml")
	if err != nil {
		t.Fatal(err)
	}
	objects := strings.Split(string(text), "\n---\n")
	if len(objects) != 4 {
		t.Errorf("%d objects", len(objects))
	}
	for _, text := range objects {
		var object map[string]any
		if err := yaml.Unmarshal([]byte(text), &object); err != nil {
			t.Fatal(err)
		}
		verb := []string{"set", "env", "--local", "-f", "-", "ADDED=x", "-o", "json"}
		if object["kind"] == "Service" {
			verb = []string{"set", "selector", "--local", "-f", "-", "app=bloodhound,part=dashboard", "-o", "json"}
		}
		cmd := exec.Command("kubectl", verb...)
		cmd.Stdin = strings.NewReader(text)
		out, err := cmd.Output()
		if err != nil {
			t.Fatalf("%s: %v %s", object["kind"], err, out)
		}
		var got map[string]any
		if err := json.Unmarshal(out, &got); err != nil {
			t.Fatal(err)
		}
		for _, lost := range missing(fmt.Sprint(object["kind"]), object, got) {
			t.Errorf("%s is no field of Kubernetes", lost)
		}
	}
}

// missing lists the fields of want that got has not.
func missing(path string, want, got any) (list []string) {
	switch w := want.(type) {
	case map[string]any:
		g, _ := got.(map[string]any)
		for name, v := range w {
			list = append(list, missing(path+"."+name, v, g[name])...)
		}
	case []any:
		g, _ := got.([]any)
		for i, v := range w {
			if i >= len(g) {
				return append(list, path)
			}
			list = append(list, missing(fmt.Sprintf("%s[%d]", path, i), v, g[i])...)
		}
	default:
		if got == nil {
			list = append(list, path)
		}
	}
	return list
}
