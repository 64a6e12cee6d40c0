package config

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	v1 "github.com/google/go-containerregistry/pkg/v1"

	"github.com/bloodhound-dst/bloodhound/internal/image"
	"github.com/bloodhound-dst/bloodhound/internal/image/build"
	"github.com/bloodhound-dst/bloodhound/internal/image/rootfs"
	"github.com/bloodhound-dst/bloodhound/internal/world"
)

// anyImage has an image of every name, which runs a program.
func anyImage(name, _, policy string) (*image.Image, error) {
	return &image.Image{ID: "sha256:" + name + policy, Root: rootfs.Root{Tree: rootfs.NewTree()},
		Config: v1.ConfigFile{Config: v1.Config{Cmd: []string{"app"}}}}, nil
}

// anyBuild builds an image whose identity is all that was asked for.
func anyBuild(r *build.Request) (*image.Image, error) {
	asked := *r
	asked.Contexts = map[string]build.Source{}
	for name, c := range r.Contexts {
		asked.Contexts[name] = build.Source{Dir: c.Dir}
	}
	return anyImage(fmt.Sprintf("%+v", asked), "", "")
}

// What an image says holds, unless the node says otherwise, as Compose has it.
func TestImageOfANode(t *testing.T) {
	images := func(name, _, _ string) (*image.Image, error) {
		if name != "db:1" {
			return nil, errors.New("there is no image " + name)
		}
		return &image.Image{ID: "sha256:db", Root: rootfs.Root{Tree: rootfs.NewTree()}, Config: v1.ConfigFile{Config: v1.Config{
			Entrypoint: []string{"entry.sh", "-v"}, Cmd: []string{"db", "--all"},
			Env: []string{"PATH=/opt/bin", "A=image", "B=image"}, User: "db", WorkingDir: "/srv/",
			StopSignal: "SIGINT", Volumes: map[string]struct{}{"/var/lib/db": {}, "/logs/": {}},
			Healthcheck: &v1.HealthConfig{Test: []string{"CMD-SHELL", "ready || exit 1"}, Interval: 2 * time.Second, Retries: 9}}}}, nil
	}
	for _, c := range []struct {
		name, node string
		command    string
		check      func(n *world.Node) bool
	}{
		{"all of it", "", "entry.sh -v db --all", func(n *world.Node) bool {
			return n.Image.ID == "sha256:db" && n.Root == "" && n.User == "db" && n.WorkingDir == "/srv" && n.StopSignal == "SIGINT" &&
				slices.Equal(n.Env, []string{"PATH=/opt/bin", "HOME=/", "HOSTNAME=n1", "A=image", "B=image"}) &&
				strings.Join(n.Health.Command, " ") == "/bin/sh -c ready || exit 1" && n.Health.IntervalNs == 2e9 && n.Health.Retries == 9 &&
				len(n.Volumes) == 2 && n.Volumes[0].Target == "/logs" && n.Volumes[1].Target == "/var/lib/db" && n.Volumes[1].Kind == world.Named
		}},
		{"a command", "command: db --one", "entry.sh -v db --one", nil},
		{"an entrypoint", "entrypoint: [other]", "other", nil},
		{"an entrypoint and a command", "entrypoint: [other]\n    command: x y", "other x y", nil},
		{"an empty command", "command: []", "entry.sh -v", nil},
		{"a user, a folder and variables", "user: root\n    working_dir: /w\n    environment: {B: own, C: own}",
			"entry.sh -v db --all", func(n *world.Node) bool {
				return n.User == "root" && n.WorkingDir == "/w" &&
					slices.Equal(n.Env, []string{"PATH=/opt/bin", "HOME=/root", "HOSTNAME=n1", "A=image", "B=own", "C=own"})
			}},
		{"a healthcheck's times", "healthcheck: {interval: 5s}", "entry.sh -v db --all", func(n *world.Node) bool {
			return n.Health.IntervalNs == 5e9 && n.Health.Command[2] == "ready || exit 1"
		}},
		{"no healthcheck", "healthcheck: {disable: true}", "entry.sh -v db --all", func(n *world.Node) bool { return n.Health == nil }},
		{"a volume of its own", "volumes: [\"tmp:/logs\"]", "entry.sh -v db --all", func(n *world.Node) bool {
			return len(n.Volumes) == 2 && n.Volumes[0].Source == "tmp"
		}},
		{"this machine's root", "root: host\n    command: db", "db", func(n *world.Node) bool { return n.Image == nil && n.Root == "host" && n.Health == nil }},
	} {
		t.Run(c.name, func(t *testing.T) {
			r := loaded(t, Options{Images: images, Path: project(t, "bloodhound.yaml\nnodes:\n  n1:\n    image: db:1\n    "+c.node+"\n")})
			n := node1(t, r, "n1")
			if got := strings.Join(n.Command, " "); got != c.command {
				t.Errorf("command %q, want %q", got, c.command)
			}
			if c.check != nil && !c.check(&n) {
				t.Errorf("%+v, %+v", n, n.Health)
			}
		})
	}
	_, err := Load(Options{Images: images, Env: noEnv, Path: project(t, "bloodhound.yaml\nnodes: {n1: {image: other}}\n")})
	if err == nil || !strings.Contains(err.Error(), "node n1: there is no image other") {
		t.Errorf("%v", err)
	}
}
