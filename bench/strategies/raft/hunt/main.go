// Hunt looks for seeded bugs in the worlds of etcd's Raft library.
//
//	go run ./hunt                        # each of them, in a line: after how many episodes, by what, in which steps
//	go run ./hunt -only read-context
//	go run ./hunt -correct               # none of them: the library as it is, in all of their worlds
//	go run ./hunt -only vote-stale-log -view Coarse -strategy coverage-guided:state
//
// It builds itself once for each bug, with the bug in the library: what it builds is a campaign over one world, which takes the flags of
// package sim. `bin/contest guides` makes trials of such programs.
package main

import (
	"context"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"

	"github.com/bloodhound-dst/bloodhound/bench/contest/trial"
	"github.com/bloodhound-dst/bloodhound/bench/strategies/raft/seeded"
	"github.com/bloodhound-dst/bloodhound/examples/inprocess/raft"
	"github.com/bloodhound-dst/bloodhound/sim"
	"github.com/bloodhound-dst/bloodhound/sim/inproc"
)

// built is the bug that the library of this program has, which the linker sets; if it is empty, this program builds others.
var built string

func main() {
	only := flag.String("only", "", "look for this bug alone")
	episodes := flag.Uint64("episodes", 10_000, "how many episodes at most")
	strategy := flag.String("strategy", "random", "how to search: those of docs/reference/exploration.md")
	correct := flag.Bool("correct", false, "look for something in the library as it is")
	full := flag.Bool("full", false, "print the whole report of each violation")
	prepare := flag.String("prepare", "", "write what -only needs to be built into this folder, and print the flags of go build")
	var a around
	flag.StringVar(&a.view, "view", "", "follow the servers in the model, for guides: Coarse, Middle or Raw is what they see of a state")
	flag.BoolVar(&a.conform, "conform", false, "with -view: promise that the servers are those of the model")
	flag.BoolVar(&a.specified, "specified", false, "have the world that -view has, and do not follow it")
	flag.BoolVar(&a.preset, "modelfuzz", false,
		"have the world of ModelFuzz's published experiments: three servers that tick three times in each of 100 steps, and one request")
	flag.Parse()
	c := sim.Campaign{Runs: *episodes, Strategy: *strategy}
	var err error
	switch b, ok := seeded.Find(built); {
	case ok:
		err = play(c, b.Name, b.World(), &a, *full)
	case *prepare != "":
		err = flags(*prepare, *only)
	case built != "":
		err = fmt.Errorf("this program was built for the bug %q, and there is none of that name", built)
	default:
		err = hunt(c, *only, *correct, &a, *full)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(2)
	}
}

// around is what may be otherwise around a bug than in its own world.
type around struct {
	view                       string
	conform, specified, preset bool
}

// world is one of some options.
func (a *around) world(o raft.Options) (func(*inproc.World), error) {
	if a.preset {
		o.Plain, o.Steps, o.Messages, o.Ticks, o.Requests, o.Load, o.Clients = true, 100, 5, 3, 1, 0, 0
		o.Faults = []string{"crash on n1, n2, n3 rate 3% for 50ms..300ms"} // ten on average; at most ten as published
	}
	o.Specified = a.specified
	if a.view != "" {
		o.Guide = !a.conform
		var err error
		if o.Model, err = raft.Specification(o, false, a.view); err != nil {
			return nil, err
		}
	}
	return raft.World(o), nil
}

// flags prints what builds this program with a bug.
func flags(dir, name string) error {
	b, ok := seeded.Find(name)
	if !ok {
		return fmt.Errorf("there is no bug %q", name)
	}
	list, err := seeded.Flags(dir, *b)
	if err != nil {
		return err
	}
	for _, f := range list {
		fmt.Println(f)
	}
	return nil
}

// hunt looks for bugs, one after the other.
func hunt(c sim.Campaign, only string, correct bool, a *around, full bool) error {
	if _, ok := seeded.Find(only); only != "" && !ok {
		return fmt.Errorf("there is no bug %q", only)
	}
	dir, err := os.MkdirTemp("", "hunt")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	for _, b := range seeded.All {
		switch {
		case only != "" && b.Name != only:
			continue
		case correct:
			err = play(c, b.Name, b.Options, a, full)
		default:
			err = found(dir, &b)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// found builds the world of a bug and runs it.
func found(dir string, b *seeded.Bug) error {
	program, err := seeded.Build(dir, "github.com/bloodhound-dst/bloodhound/bench/strategies/raft/hunt", *b)
	if err != nil {
		return err
	}
	run := exec.Command(program, os.Args[1:]...)
	run.Stdout, run.Stderr = os.Stdout, os.Stderr
	if err := run.Run(); err != nil {
		return fmt.Errorf("bug %s: %w", b.Name, err)
	}
	return nil
}

// play looks for something in one world, and prints the result in a line.
func play(c sim.Campaign, name string, o raft.Options, a *around, full bool) error {
	world, err := a.world(o)
	if err != nil {
		return err
	}
	dir, err := os.MkdirTemp("", "hunt")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	c.Dir = filepath.Join(dir, "failures")
	r, err := c.Run(trial.Context(context.Background()), name, world)
	if err != nil {
		return err
	}
	if full {
		fmt.Print(r.Text())
	}
	switch {
	case len(r.Failures) > 0:
		f := r.Failures[0]
		what := f.Property
		if strings.Contains(what, "panic") {
			what = "panic: " + f.Reason
		}
		fmt.Printf("%-25s %7d episodes  %s\n    %s\n", name, f.Run+1, what, f.Steps)
	case r.Status == sim.NotReproducible:
		return fmt.Errorf("bug %s: %s", name, r.Text())
	default:
		fmt.Printf("%-25s %7d episodes  nothing: %s\n", name, r.Runs, r.Status)
	}
	return nil
}
