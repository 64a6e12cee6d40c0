package tla_test

import (
	"fmt"
	"log"
	"path/filepath"
	"slices"

	"github.com/bloodhound-dst/bloodhound/tla"
	"github.com/bloodhound-dst/bloodhound/tla/value"
)

// load loads a module of testdata/example with its configuration.
func load(name string) *tla.Spec {
	file := filepath.Join("testdata", "example", name)
	config, err := tla.ReadConfig(file + ".cfg")
	if err != nil {
		log.Fatal(err)
	}
	spec, err := tla.Load(file+".tla", config)
	if err != nil {
		log.Fatal(err)
	}
	return spec
}

func ExampleCheck() {
	config, err := tla.ReadConfig("testdata/example/Lock.cfg")
	if err != nil {
		log.Fatal(err)
	}
	spec, err := tla.Load("testdata/example/Lock.tla", config)
	if err != nil {
		log.Fatal(err)
	}
	report, err := tla.Check(spec, tla.Options{})
	if err != nil {
		log.Fatal(err)
	}
	for _, v := range report.Violations {
		fmt.Printf("%s %s is violated:\n", v.Kind, v.Name)
		for _, step := range v.Trace {
			if step.Action != nil {
				fmt.Println(step)
			}
			fmt.Print(spec.Text(step))
		}
	}
	// Output:
	// invariant OneHolder is violated:
	// /\ saw = {}
	// /\ holds = {}
	// <See("a") line 9, col 11 to line 9, col 78 of module Lock>
	// /\ saw = {"a"}
	// /\ holds = {}
	// <See("b") line 9, col 11 to line 9, col 78 of module Lock>
	// /\ saw = {"a", "b"}
	// /\ holds = {}
	// <Take("a") line 10, col 12 to line 10, col 67 of module Lock>
	// /\ saw = {"b"}
	// /\ holds = {"a"}
	// <Take("b") line 10, col 12 to line 10, col 67 of module Lock>
	// /\ saw = {}
	// /\ holds = {"a", "b"}
}

func ExampleSimulate() {
	spec := load("Lock")
	report, err := tla.Simulate(spec, tla.Options{}, tla.Simulation{Number: 100, Depth: 20, Seed: 1})
	if err != nil {
		log.Fatal(err)
	}
	v := report.Violations[0]
	last := v.Trace[len(v.Trace)-1].State
	holders := last[slices.Index(spec.Variables, "holds")].(*value.Set)
	fmt.Printf("%s is violated by %v, of %d processes\n", v.Name, holders, len(holders.Items))
	// Output: OneHolder is violated by {"a", "b"}, of 2 processes
}

func ExampleValidate() {
	file := filepath.Join("testdata", "example", "LockTrace")
	config, err := tla.ReadConfig(file + ".cfg")
	if err != nil {
		log.Fatal(err)
	}
	config.Log = filepath.Join("testdata", "example", "lock.ndjson")
	spec, err := tla.Load(file+".tla", config)
	if err != nil {
		log.Fatal(err)
	}
	v, err := tla.Validate(spec, tla.Options{}, tla.Reading{})
	if err != nil {
		log.Fatal(err)
	}
	fmt.Printf("accepted: %v\nline %d: %s\n", v.Accepted, v.Line, v.Text)
	for _, tried := range v.Tried {
		for _, guard := range tried.Guards {
			fmt.Println("false:", guard.Text)
		}
	}
	// Output:
	// accepted: false
	// line 3: {"action": "see", "process": "b"}
	// false: holds = {}
}
