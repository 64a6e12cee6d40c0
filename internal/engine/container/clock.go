package container

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"

	"golang.org/x/sys/unix"

	"github.com/bloodhound-dst/bloodhound/internal/engine/container/docker"
	"github.com/bloodhound-dst/bloodhound/internal/fault"
	"github.com/bloodhound-dst/bloodhound/internal/world"
)

// The date of a node is changed by libfaketime, which is put before the C library of its programs and reads a file at each question for
// the date. Programs without glibc, or without any C library, do not see it.

// Places of libfaketime: that of Debian's package, those of others, and the one in nodes.
var fakers = []string{"/usr/lib/x86_64-linux-gnu/faketime/libfaketimeMT.so.1",
	"/usr/lib/aarch64-linux-gnu/faketime/libfaketimeMT.so.1", "/usr/lib64/faketime/libfaketimeMT.so.1",
	"/usr/lib/faketime/libfaketimeMT.so.1"}

const (
	fakerPath = ownFolder + "/libfaketime.so"
	clockPath = ownFolder + "/clock"
)

// faker is libfaketime on this machine, or empty.
func faker() string {
	for _, file := range fakers {
		if _, err := os.Stat(file); err == nil {
			return file
		}
	}
	return ""
}

func isClock(k world.FaultKind) bool { return k == fault.ClockSkew || k == fault.ClockJump }

// lies reports whether the user wants the date of the node to be wrong.
func (n *node) lies() bool {
	f := &n.World.spec.Faults
	return f.Enabled && n.spec.Role == world.Server && slices.ContainsFunc(f.Rules, func(r world.FaultRule) bool {
		return r.RatePPM > 0 && isClock(r.Kind) && aims(&r, n.spec.Name)
	})
}

// loaders are places of the dynamic linker of glibc, in an image.
var loaders = []string{"lib64/ld-linux-x86-64.so.2", "usr/lib64/ld-linux-x86-64.so.2",
	"lib/x86_64-linux-gnu/ld-linux-x86-64.so.2", "usr/lib/x86_64-linux-gnu/ld-linux-x86-64.so.2",
	"lib/ld-linux-aarch64.so.1", "usr/lib/ld-linux-aarch64.so.1"}

// hasGlibc reports whether programs of a node may have the C library of GNU.
func (n *node) hasGlibc() bool {
	if n.spec.Image == nil || n.options.Images == nil {
		return true
	}
	root, err := n.options.Images.Root(context.Background(), n.spec.Image.ID)
	return err != nil || slices.ContainsFunc(loaders, func(file string) bool { return root.Tree.Lookup(file) != nil })
}

// prepareClock gives a node whose date may be wrong what that needs.
func (n *node) prepareClock(dir string) error {
	if !n.lies() {
		return nil
	}
	if err := os.WriteFile(filepath.Join(dir, filepath.Base(fakerPath)), nil, 0o644); err != nil {
		return err
	}
	n.clock = filepath.Join(dir, filepath.Base(clockPath))
	if err := n.setClock(0); err != nil {
		return err
	}
	n.own = append(n.own, docker.Mount{Type: "bind", Source: faker(), Target: fakerPath, ReadOnly: true})
	return nil
}

// clockEnvironment has the programs of a node see the date of its clock. Waits are not changed: they do not ask for the date.
func (n *node) clockEnvironment() []string {
	if n.clock == "" {
		return nil
	}
	return []string{"LD_PRELOAD=" + fakerPath, "FAKETIME_TIMESTAMP_FILE=" + clockPath, "FAKETIME_NO_CACHE=1", "FAKETIME_DONT_FAKE_MONOTONIC=1"}
}

// setClock sets how far the date of a node is ahead.
func (n *node) setClock(aheadNs int64) error {
	sign := "+"
	if aheadNs < 0 {
		sign, aheadNs = "-", -aheadNs
	}
	// It is read while it is written: another file takes its place.
	file := n.clock + ".new"
	if err := os.WriteFile(file, []byte(sign+strconv.FormatFloat(float64(aheadNs)/1e9, 'f', 6, 64)), 0o644); err != nil {
		return err
	}
	return os.Rename(file, n.clock)
}

// wasRead reports whether a program has asked for the date since it was set: file systems note the first read after a change (relatime).
func (n *node) wasRead() bool {
	var s unix.Stat_t
	return unix.Stat(n.clock, &s) == nil && s.Atim.Nano() > s.Mtim.Nano()
}

// Clock makes the date of a node as wrong as the faults on it say.
func (a actuator) Clock(f *fault.Action) { a.adjust(f) }

// RightClock does so after one of them has ended. It was observed if a program has asked for the date meanwhile.
func (a actuator) RightClock(f *fault.Action) {
	if n := a.named(f.Node); n.clock != "" && n.wasRead() {
		a.recordObserved(f.ID, 1)
	}
	a.adjust(f)
}

func (a actuator) adjust(f *fault.Action) {
	n := a.named(f.Node)
	if n.clock == "" {
		return
	}
	var ahead int64
	for i := range a.director.Plan.Active {
		if on := &a.director.Plan.Active[i]; on.Node == f.Node && isClock(on.Kind) {
			ahead += on.Amount
		}
	}
	if err := n.setClock(ahead); err != nil {
		a.fail(fmt.Errorf("node %s: its clock: %w", f.Node, err))
	}
}
