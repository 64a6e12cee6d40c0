// Command operators runs the worlds of this folder. In each, a system does not survive an operator's mistake; in its fixed.yaml, the same
// system survives an operator who knows better. It prints a table for bench/OPERATORS.md.
//
//	go -C bench run ./operators -bloodhound ../bin/bloodhound >bench/OPERATORS.md
package main

import (
	"flag"
	"fmt"
	"log"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/bloodhound-dst/bloodhound/bench/campaigns"
)

// replayed is a part of the document of replay.
type replayed struct {
	Judgement string `json:"judgement"`
	Run       struct {
		Faults []struct {
			Kind     string `json:"kind"`
			Observed int    `json:"observed"`
		} `json:"faults"`
	} `json:"run"`
}

func main() {
	log.SetFlags(0)
	program := flag.String("bloodhound", "../bin/bloodhound", "program to run")
	runs := flag.Int("runs", 100, "runs of the operator who knows better")
	only := flag.String("only", "", "worlds to run, divided by commas; all if empty")
	flag.Parse()
	path, err := filepath.Abs(*program)
	if err != nil {
		log.Fatal(err)
	}
	worlds, err := filepath.Glob("operators/*/bloodhound.yaml")
	if err != nil || len(worlds) == 0 {
		log.Fatal("no worlds: start it with `go -C bench run ./operators`")
	}
	fmt.Println("# What operators do\n\n`go -C bench run ./operators`: each world has a system that does not survive an act of an operator. " +
		"`explore` finds that,\n" +
		"shrinks it, and `replay` repeats it; the same system with an operator who knows better holds (`fixed.yaml`).")
	fmt.Print("\n| world | violation | runs, time | shrunk to | observed in the replay | replay | operator who knows better |\n|---|---|---|---|---|---|---|\n")
	for _, file := range worlds {
		world := filepath.Dir(file)
		if *only != "" && !slices.Contains(strings.Split(*only, ","), filepath.Base(world)) {
			continue
		}
		if err := measure(path, world, *runs); err != nil {
			log.Fatalf("%s: %v", world, err)
		}
	}
	fmt.Printf("\nTwo workers, beside other work, on %s. The times include shrinking. \"Observed\" counts injections that a program saw in the "+
		"replay of the shrunk run.\n", time.Now().Format(time.DateOnly))
}

// measure prints the row of a world.
func measure(program, world string, runs int) error {
	began := time.Now()
	found, err := campaigns.Explore(program, world, "--seeds", "400")
	if err != nil {
		return err
	}
	wall := time.Since(began)
	if len(found.Campaign.Failures) == 0 {
		return fmt.Errorf("no failure in %d runs", found.Campaign.Runs)
	}
	f := found.Campaign.Failures[0]
	if f.Shrunk == nil {
		return fmt.Errorf("%s was not shrunk", f.ID)
	}
	var again replayed
	if err := campaigns.Document(&again, program, "replay", f.ID, world, "--json"); err != nil {
		return err
	}
	var kinds []string
	for _, k := range again.Run.Faults {
		if k.Observed > 0 {
			kinds = append(kinds, fmt.Sprintf("%d %s", k.Observed, k.Kind))
		}
	}
	fixed, err := campaigns.Explore(program, "--config", filepath.Join(world, "fixed.yaml"), "--seeds", strconv.Itoa(runs))
	if err != nil {
		return err
	}
	to := f.Shrunk.To
	fmt.Printf("| %s | `%s`: %s | %d, %.0f s | %d of %d decisions, %d of %d operations | %s | %s | %s in %d runs |\n", filepath.Base(world), f.Property,
		strings.ReplaceAll(f.Headline, "|", "\\|"), found.Campaign.Runs, wall.Seconds(), to.Decisions, f.Shrunk.From.Decisions, to.Operations,
		f.Shrunk.From.Operations, strings.Join(kinds, ", "), again.Judgement, fixed.Verdict(), fixed.Campaign.Runs)
	return nil
}
