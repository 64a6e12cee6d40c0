// Command systems runs the examples of `bloodhound init --system`: it finds the planted bug of each kind, runs the server without
// it, and prints a table for bench/SYSTEMS.md.
//
//	go -C bench run ./systems -bloodhound ../bin/bloodhound >bench/SYSTEMS.md
package main

import (
	"flag"
	"fmt"
	"log"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/bloodhound-dst/bloodhound/bench/campaigns"
	"github.com/bloodhound-dst/bloodhound/internal/config"
)

func main() {
	log.SetFlags(0)
	program := flag.String("bloodhound", "../bin/bloodhound", "program to run")
	runs := flag.Int("runs", 200, "runs without the bug")
	only := flag.String("only", "", "kinds to run, divided by commas; all if empty")
	flag.Parse()
	path, err := filepath.Abs(*program)
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println("# Examples of kinds of systems\n\n`go -C bench run ./systems`: how soon `explore` finds the planted bug of each " +
		"`init --system KIND`, and what it says without the bug.")
	fmt.Print("\n| kind | property that the bug violates | found in | runs | without the bug |\n|---|---|---|---|---|\n")
	for _, kind := range config.Systems() {
		if *only != "" && !slices.Contains(strings.Split(*only, ","), kind) {
			continue
		}
		if err := measure(path, kind, *runs); err != nil {
			log.Fatalf("%s: %v", kind, err)
		}
	}
}

// measure prints the row of a kind.
func measure(program, kind string, runs int) error {
	dir, err := filepath.Abs(filepath.Join(".bloodhound/systems", kind)) // not in /tmp, which is empty in a world
	if err != nil {
		return err
	}
	if err := os.RemoveAll(dir); err != nil {
		return err
	}
	if out, err := exec.Command(program, "init", "--system", kind, dir).CombinedOutput(); err != nil {
		return fmt.Errorf("%w\n%s", err, out)
	}
	began := time.Now()
	found, err := campaigns.Explore(program, dir, "--no-shrink", "--seeds", "200")
	if err != nil {
		return err
	}
	wall := time.Since(began)
	fixed, err := campaigns.Explore(program, "--config", filepath.Join(dir, config.FixedName), "--seeds", strconv.Itoa(runs))
	if err != nil {
		return err
	}
	property := "none"
	if len(found.Campaign.Failures) > 0 {
		property = found.Campaign.Failures[0].Property
	}
	fmt.Printf("| %s | `%s` | %.1f s | %d | %s in %d runs, %.0f s |\n", kind, property, wall.Seconds(), found.Campaign.Runs, fixed.Verdict(),
		fixed.Campaign.Runs, float64(fixed.Campaign.WallNs)/1e9)
	return nil
}
