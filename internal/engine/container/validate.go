package container

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/bloodhound-dst/bloodhound/internal/engine"
	"github.com/bloodhound-dst/bloodhound/internal/engine/container/docker"
	"github.com/bloodhound-dst/bloodhound/internal/fault"
	"github.com/bloodhound-dst/bloodhound/internal/world"
)

// Validate finds what a Spec asks for and this engine cannot do, and reports whether a daemon answers.
func (*Engine) Validate(spec *world.Spec, o engine.Options) error {
	all := capabilities.Validate(spec)
	w := &World{spec: spec, options: o}
	static := !w.needsLibraries()
	for i := range spec.Nodes {
		n := &node{World: w, id: i, spec: &spec.Nodes[i]}
		all = append(all, n.mistakes(static)...)
	}
	if len(all) > 0 {
		return all
	}
	c, err := docker.Find(context.Background())
	if err != nil {
		return err
	}
	c.Close()
	return nil
}

// mistakes returns the settings of a node that this engine cannot provide.
func (n *node) mistakes(static bool) (all engine.Mistakes) {
	found := func(part engine.Part, name, problem, remedy string) {
		all = append(all, engine.Mistake{Node: n.spec.Name, Part: part, Name: name, Problem: problem, Remedy: remedy})
	}
	if n.spec.Image != nil && !static {
		found(engine.PartRoot, "", "this program runs checks in the node's container, and it needs libraries "+
			"that the image may lack",
			"build bloodhound with CGO_ENABLED=0")
	}
	if n.spec.Image == nil && n.spec.User != "" && !n.spec.HasMachineFiles() && strings.Trim(n.spec.User, "0123456789:") != "" {
		found(engine.PartUser, "", "the container engine does not look up user names in a root "+
			"folder", "write numbers, such as 1000:1000")
	}
	if n.spec.Root == world.NoRoot && n.spec.Image == nil && len(n.spec.Command) > 0 {
		found(engine.PartRoot, "", "a container without files cannot run a program", "give the node an image or a root")
	}
	if len(n.spec.Releases) > 0 {
		found(engine.PartCommand, "", "the container engine starts a node with the same command each time, and "+
			"does not support releases",
			"leave `releases` out, or use --engine native")
	}
	if n.lies() && !n.hasGlibc() {
		found(engine.PartRoot, "", "its image lacks the GNU C library, and libfaketime changes the date only for "+
			"programs that use it",
			"choose other targets for clock faults, or use --engine native")
	}
	for i := range n.World.spec.Faults.Rules {
		r := &n.World.spec.Faults.Rules[i]
		if r.Kind == fault.DiskFull && r.ByUser && n.World.spec.Faults.Enabled && r.RatePPM > 0 &&
			n.spec.Role == world.Server && n.spec.Image != nil && !n.hasNamed() && aims(r, n.spec.Name) {
			found(engine.PartVolume, "", fmt.Sprintf("the container engine can fill only named volumes, and %s "+
				"has none", n.spec.Name),
				"put its data on a named volume, choose other targets for disk_full, or use --engine native")
			break
		}
	}
	return all
}

func (n *node) hasNamed() bool {
	for i := range n.spec.Volumes {
		if v := &n.spec.Volumes[i]; v.Kind == world.Named && !v.Shared && v.From == "" {
			return true
		}
	}
	return false
}

// aims reports whether a rule is about a node.
func aims(r *world.FaultRule, node string) bool {
	return len(r.Targets) == 0 || slices.Contains(r.Targets, node)
}

// Refuses names the first part of a Spec that this engine cannot have, and is empty if there is none.
func Refuses(spec *world.Spec) string {
	if all := capabilities.Validate(spec); len(all) > 0 {
		return all[0].Problem
	}
	return ""
}

// Doctor reports whether there is a daemon, and what killed runs have left.
func (*Engine) Doctor() []engine.Check {
	x := engine.Check{Name: "container daemon", Required: true}
	ctx := context.Background()
	c, err := docker.Find(ctx)
	if err != nil {
		x.Detail, x.Remedy, _ = strings.Cut(err.Error(), "; ")
		return []engine.Check{x}
	}
	defer c.Close()
	x.OK, x.Detail = true, "it answers at "+c.Socket
	left := engine.Check{Name: "containers of killed runs", OK: true, Detail: "none"}
	switch runs, err := sweep(ctx, c, false); {
	case err != nil:
		left.OK, left.Detail = false, err.Error()
	case len(runs) > 0:
		left.OK, left.Detail = false, "left by "+strings.Join(runs, ", ")
		left.Remedy = "the next run with --engine container removes them"
	}
	return []engine.Check{x, left}
}
