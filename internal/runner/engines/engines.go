// Package engines has the table of engines.
package engines

import (
	"fmt"
	"slices"
	"strings"

	"github.com/bloodhound-dst/bloodhound/internal/engine"
	"github.com/bloodhound-dst/bloodhound/internal/record"
	"github.com/bloodhound-dst/bloodhound/internal/world"
)

// Row is an engine. Its texts are cells of the tables in README.md and docs/platforms.md.
type Row struct {
	// Name is the engine's name for users, and Spec the value of world.Spec.Engine.
	Name string
	Spec string
	// Runs says which programs (it is empty for an engine that this version does not have), Repeats how far two runs of a tape
	// are equal, Costs what a run takes, and Needs what the machine must have.
	Runs, Repeats, Costs, Needs string

	make func() (engine.Engine, error)
	// refuses names the part of a world that the engine cannot run, and is empty for a world that it can. Auto asks it; nil refuses nothing.
	refuses func(spec *world.Spec) string
}

// Auto is the name that asks for the first engine that can run a world.
const Auto = "auto"

// rows are engines in the order in which Auto tries them.
type rows []Row

var table = rows{
	{Name: "native", Spec: world.Native, make: newNative,
		Runs:    "unmodified programs for Linux x86-64: of this machine, or of container images",
		Repeats: "every event of a run, on any machine",
		Costs:   "about 6 µs a system call, and a few ms for a copy of a running world",
		Needs:   "Linux on x86-64; no root, no KVM, no daemon"},
	{Name: "vm", Spec: world.VM, make: newVM, refuses: vmRefuses,
		Runs:    "whatever a Linux kernel runs: io_uring, kernel modules, other kernels",
		Repeats: "every event of a run, with the same QEMU, kernel and version of Bloodhound",
		Costs:   "seconds to boot a world once, and an emulated CPU: " + record.VMCost + " for a run of the quickstart",
		Needs:   "QEMU 7.2 or later and a kernel of Linux with its modules; no root, no KVM"},
	{Name: "container", Spec: world.Container, make: newContainer, refuses: containerRefuses,
		Runs:    "Compose stacks as containers of Docker or Podman, as they are in production",
		Repeats: "nothing: each run happens once; another engine can play its tape",
		Costs:   "real time, and about 0.3 s a container to start",
		Needs:   "Docker or Podman on this Linux machine, and the right to use its socket"},
	{Name: world.InProcess, Spec: world.InProcess,
		Runs:    "Go code, in a Go test",
		Repeats: "every event of a run, on any machine",
		Costs:   "thousands of runs a second",
		Needs:   "Go, on any system",
		make: func() (engine.Engine, error) {
			return nil, fmt.Errorf("its nodes are Go code of a test, which alone can run them: run `go test` with the test's flag -sim.replay")
		}},
}

// Table lists all engines, in the order in which Auto tries them. The last one runs in tests only.
func Table() []Row { return slices.Clone(table) }

// Names lists what users may ask for.
func Names() []string {
	var names []string
	for _, r := range table {
		if r.Spec != world.InProcess {
			names = append(names, r.Name)
		}
	}
	return append(names, Auto)
}

// Choose sets the engine of a Spec to the one that users call name. For Auto it is the first one that this machine has and that
// refuses no part of the world, and reason says why.
func Choose(spec *world.Spec, name string) (reason string, err error) {
	return table.choose(spec, name)
}

func (t rows) choose(spec *world.Spec, name string) (reason string, err error) {
	var passed []string
	for _, r := range t {
		switch {
		case r.Spec == world.InProcess:
		case r.Name == name:
			spec.Engine = r.Spec
			return "", nil
		case name == Auto:
			if why := r.unfit(spec); why != "" {
				passed = append(passed, r.Name+": "+why)
				continue
			}
			spec.Engine = r.Spec
			if len(passed) == 0 {
				return "engine " + r.Name + ": the first of the table, and it can run this world", nil
			}
			return "engine " + r.Name + ", since those before it cannot run this world. " + strings.Join(passed, ". "), nil
		}
	}
	if name == Auto {
		return "", fmt.Errorf("no engine can run this world here:\n  %s\n`bloodhound doctor` shows what each "+
			"engine lacks", strings.Join(passed, "\n  "))
	}
	return "", fmt.Errorf("there is no engine %q; the engines are %s", name, strings.Join(Names(), ", "))
}

// Lacks says why this machine cannot run a world by the engine that users call name, with what to do about it; empty if it can.
func Lacks(spec *world.Spec, name string) string {
	for i := range table {
		r := &table[i]
		if r.Name != name {
			continue
		}
		why := r.unfit(spec)
		if c := Here(r, r.make); why == c.Detail && c.Remedy != "" {
			why += "; " + c.Remedy
		}
		return why
	}
	return "there is no such engine"
}

// unfit says why a world cannot be run by an engine on this machine, and is empty if it can.
func (r *Row) unfit(spec *world.Spec) string {
	if r.refuses != nil {
		if why := r.refuses(spec); why != "" {
			return why
		}
	}
	if c := Here(r, r.make); !c.OK {
		return c.Detail
	}
	return ""
}

// Here reports whether this machine can run worlds by an engine, which is made by make, and what to do if not.
func Here(r *Row, make func() (engine.Engine, error)) engine.Check {
	c := engine.Check{Name: "engine " + r.Name, OK: true, Detail: r.Runs}
	if r.Spec == world.InProcess {
		return c
	}
	eng, err := make()
	if err != nil {
		c.OK = false
		c.Detail, c.Remedy, _ = strings.Cut(err.Error(), "\n")
		return c
	}
	d, ok := eng.(engine.Doctor)
	if !ok {
		return c
	}
	checks := d.Doctor()
	if i := slices.IndexFunc(checks, engine.Check.Lacking); i >= 0 {
		c.OK, c.Detail, c.Remedy = false, checks[i].Name+": "+checks[i].Detail, checks[i].Remedy
	}
	return c
}

// For makes the engine that runs a Spec.
func For(spec *world.Spec) (engine.Engine, error) {
	for _, r := range table {
		if r.Spec == spec.Engine {
			return r.make()
		}
	}
	return nil, fmt.Errorf("the world %s is for the engine %q, which this version does not have", spec.Name, spec.Engine)
}
