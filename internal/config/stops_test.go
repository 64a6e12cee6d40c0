package config

import (
	"slices"
	"strings"
	"testing"

	v1 "github.com/google/go-containerregistry/pkg/v1"

	"github.com/bloodhound-dst/bloodhound/internal/image"
	"github.com/bloodhound-dst/bloodhound/internal/image/rootfs"
	"github.com/bloodhound-dst/bloodhound/internal/world"
)

// How nodes stop matters to the fault restart alone. Without it the keys have no effect, which a note says once for each service.
func TestStopsOfNodes(t *testing.T) {
	const nodes = `bloodhound.yaml
nodes:
  a: {command: x, stop_signal: rtmin+3, stop_grace_period: 1m30s, replicas: 2}
  b: {command: x, stop_grace_period: 0s}
  c: {command: x}
`
	for _, c := range []struct {
		faults string
		idle   bool
	}{
		{"", true},
		{"faults: {mode: chaos}", true},
		{"faults: {process: {restart_probability: 0}}", true},
		{"faults: {enabled: false, process: {restart_probability: 0.1}}", true},
		{"faults: {process: {restart_probability: 0.1}}", false},
		{"faults: {rules: [restart on b after 5s]}", false},
	} {
		r := loaded(t, Options{Path: project(t, nodes+c.faults+"\n")})
		var about []string
		for _, n := range r.Notes {
			if strings.Contains(n.String(), ".stop_") {
				about = append(about, n.String())
			}
		}
		if want := map[bool]int{true: 3, false: 0}[c.idle]; len(about) != want {
			t.Errorf("%q: %d notes, want %d: %q", c.faults, len(about), want, about)
		}
		a, b, n := r.Spec.Nodes[0], r.Spec.Nodes[2], r.Spec.Nodes[3]
		if a.StopSignal != "SIGRTMIN+3" || a.StopGraceNs != 90e9 || b.StopGraceNs != 0 || n.StopSignal != "SIGTERM" || n.StopGraceNs != 10e9 {
			t.Errorf("%+v\n%+v\n%+v", a, b, n)
		}
	}
}

// An image names the signal that stops its programs, in any of the ways to write a signal; one that is none is left aside.
func TestStopSignalsOfImages(t *testing.T) {
	for text, want := range map[string]string{"": "SIGTERM", "SIGQUIT": "SIGQUIT", "int": "SIGINT", "9": "SIGKILL",
		"SIGRTMIN+3": "SIGRTMIN+3", "37": "SIGRTMIN+3", "SIGTREM": "SIGTERM"} {
		images := func(string, string, string) (*image.Image, error) {
			return &image.Image{ID: "sha256:x", Root: rootfs.Root{Tree: rootfs.NewTree()},
				Config: v1.ConfigFile{Config: v1.Config{Cmd: []string{"x"}, StopSignal: text}}}, nil
		}
		r := loaded(t, Options{Images: images, Path: project(t, "bloodhound.yaml\nnodes:\n  a: {image: x}\n  b: {image: x, stop_signal: USR1}\n")})
		if a, b := r.Spec.Nodes[0].StopSignal, r.Spec.Nodes[1].StopSignal; a != want || b != "SIGUSR1" {
			t.Errorf("%q: %s and %s, want %s", text, a, b, want)
		}
	}
}

// A restart is a fault for those who ask for it: no preset has it, so that the tapes of presets stay what they are.
func TestRestartIsInNoPreset(t *testing.T) {
	for _, mode := range []string{"calm", "moderate", "chaos"} {
		r := loaded(t, Options{Path: project(t, "bloodhound.yaml\nnodes: {a: {command: x}}\nfaults: {mode: "+mode+"}\n")})
		if slices.ContainsFunc(r.Spec.Faults.Rules, func(r world.FaultRule) bool { return r.Kind == "restart" }) {
			t.Errorf("%s restarts nodes", mode)
		}
	}
	r := loaded(t, Options{Path: project(t,
		"bloodhound.yaml\nnodes: {a: {command: x}}\nfaults: {process: {restart_probability: 0.01, restart_duration_ms: [100, 200]}}\n")})
	if f := r.Spec.Faults.Rules; len(f) != 1 || f[0].Kind != "restart" || f[0].RatePPM != 10_000 || f[0].MinNs != 100e6 || f[0].MaxNs != 200e6 || !f[0].ByUser {
		t.Errorf("%+v", f)
	}
}
