package project

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"

	"golang.org/x/sys/unix"

	"github.com/bloodhound-dst/bloodhound/internal/cli/console"
	"github.com/bloodhound-dst/bloodhound/internal/config"
	"github.com/bloodhound-dst/bloodhound/internal/config/images"
	"github.com/bloodhound-dst/bloodhound/internal/engine"
	"github.com/bloodhound-dst/bloodhound/internal/image"
	"github.com/bloodhound-dst/bloodhound/internal/image/build"
	"github.com/bloodhound-dst/bloodhound/internal/image/rootfs"
	"github.com/bloodhound-dst/bloodhound/internal/plural"
	"github.com/bloodhound-dst/bloodhound/internal/record"
	"github.com/bloodhound-dst/bloodhound/internal/runner"
	"github.com/bloodhound-dst/bloodhound/internal/tape"
	"github.com/bloodhound-dst/bloodhound/internal/world"
)

// buildImages is how a configuration gets the images of its Dockerfiles.
func buildImages(ctx context.Context, a *console.App) config.Dockerfiles {
	return func(r *build.Request) (*image.Image, error) {
		s, err := OpenImages()
		if err != nil {
			return nil, err
		}
		from := func(ctx context.Context, name string, pull bool) (*image.Image, error) {
			return baseImage(ctx, a, name, pull)
		}
		b := &build.Builder{Store: s, Image: from, Run: commandRunner(s), Report: func(text string) { a.Note("%s: %s", r.Name, text) }}
		img, err := b.Build(ctx, r)
		if ctx.Err() != nil {
			return nil, errors.New("interrupted; the next build continues after the last finished step")
		}
		return img, err
	}
}

// baseImage finds an image that a stage begins with: in the store, in a registry, or in a daemon of this machine.
func baseImage(ctx context.Context, a *console.App, name string, pull bool) (*image.Image, error) {
	policy := image.Missing
	if pull {
		policy = image.Always
	}
	find := findImages(ctx, a)
	img, err := find("docker://"+name, "", string(policy))
	if err == nil {
		return img, nil
	}
	if img, err := find("docker-daemon:"+name, "", ""); err == nil {
		return img, nil
	}
	return nil, fmt.Errorf("%w; pull it in advance with `bloodhound image pull`, or use `additional_contexts: {\"%s\": "+
		"\"oci-layout://FOLDER\"}` for a folder", err, name)
}

// Limits of a RUN. What it writes lies in memory until it has ended.
const (
	runVirtualNs   = 7 * 24 * 3600e9
	runEvents      = 2_000_000_000
	runWallMs      = 60 * 60 * 1000
	runBytes       = 8 << 30
	runSpinCPUMs   = 60_000
	runOutputLines = 25
)

// runNode is the node of a RUN.
const runNode = "build"

// commandRunner executes the commands of Dockerfiles in worlds of one node.
func commandRunner(store *image.Store) build.Runner {
	return func(ctx context.Context, c *build.Command, change func(rootfs.Entry, io.Reader) error) (*build.Result, error) {
		eng, err := EngineFor(&world.Spec{})
		if err != nil {
			return nil, err
		}
		const node = runNode
		spec := &world.Spec{Name: node, Dir: "/", StartUnixNs: c.StartNs, MaxTimeNs: runVirtualNs, TimeStepNs: 1e9, SetupNs: -1,
			Cost:   world.Cost{CallNs: 1000, ClockReadNs: 50},
			Limits: world.Limits{Events: runEvents, WallMs: runWallMs, MemoryBytes: runBytes, SpinCPUMs: runSpinCPUMs}}
		n := world.Node{Name: node, Role: world.Server, Hostname: node, IPv4: "10.77.0.10", Image: &world.Image{Name: node, ID: c.Image.ID}, Command: c.Argv,
			Env: runEnv(c), WorkingDir: c.Dir, User: c.User, Init: world.MainInit, Bounds: world.Bounds{ShmBytes: c.ShmBytes}}
		for _, h := range c.ExtraHosts {
			n.ExtraHosts = append(n.ExtraHosts, world.Host{Name: h.Name, IP: h.IP})
		}
		spec.Nodes = []world.Node{n}
		var lines []string
		o := engine.Options{Images: store, Interrupt: ctx.Done(), Log: func(l record.LogLine) {
			if lines = append(lines, l.Text); len(lines) > 2*runOutputLines {
				lines = append(lines[:0], lines[len(lines)-runOutputLines:]...)
			}
		}}
		run, err := runner.Boot(eng, spec, tape.Tape{Seed: 1}, o)
		if err != nil {
			return nil, err
		}
		defer run.Close()
		if err := run.Advance(record.Position{}); err != nil {
			return nil, err
		}
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		layered, ok := run.World.(engine.Layered)
		if !ok {
			return nil, errors.New("this engine does not report the files that a program wrote")
		}
		out := run.Record()
		r := &build.Result{EndNs: c.StartNs + out.VirtualNs, Output: lines[max(0, len(lines)-runOutputLines):]}
		if !out.Repeat.Reproducible {
			r.Unrepeatable = out.Repeat.Reason
		}
		switch code, over := layered.Ended(node); {
		case !over && (run.Reason == record.Finished || run.Reason == record.MaxTime):
			r.Failed = fmt.Sprintf("it did not end within %s of virtual time", plural.Count(int64(runVirtualNs/3600e9), "hour"))
		case !over:
			r.Failed = fmt.Sprintf("it did not end: %s %s", run.Reason, out.Detail)
		case code > 128 && unix.SignalName(unix.Signal(code-128)) != "":
			r.Failed = "ended by " + unix.SignalName(unix.Signal(code-128))
		case code != 0:
			r.Failed = fmt.Sprintf("exit status %d", code)
		default:
			return r, layered.Layer(node, change)
		}
		for _, u := range out.Refused {
			r.Output = append(r.Output, fmt.Sprintf("%s: the engine does not support %s, and returned "+
				"%s", u.Program, u.Call, u.Errno))
		}
		return r, nil
	}
}

// runEnv are the variables of a RUN: what the Dockerfile sets goes before what each has.
func runEnv(c *build.Command) []string {
	env := slices.Clone(c.Env)
	for _, line := range []string{"HOME=" + images.HomeOf(c.Image, c.User), "HOSTNAME=" + runNode, "LD_BIND_NOW=1"} {
		name, _, _ := strings.Cut(line, "=")
		if !slices.ContainsFunc(c.Env, func(l string) bool { return strings.HasPrefix(l, name+"=") }) {
			env = append(env, line)
		}
	}
	return env
}
