// Package flags has the flags that mean the same for every verb, the values that flags take, and the arguments that name a project.
package flags

import (
	"fmt"
	"math"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/bloodhound-dst/bloodhound/internal/config"
	"github.com/bloodhound-dst/bloodhound/internal/report"
	"github.com/bloodhound-dst/bloodhound/internal/runner/engines"
	"github.com/bloodhound-dst/bloodhound/internal/world"
)

// Set holds those flags that mean the same for every verb that has them. What was not given is zero.
type Set struct {
	Compose   []string
	Config    string
	Engine    string
	JSON      bool
	Verbose   bool
	Mode      string // preset of faults that overrides the configuration
	AsWritten bool   // a configuration without faults has none
	Seed      uint64
	Workers   uint64
	Runs      uint64
	TapeFile  string
	BootSeed  uint64
	Trace     string
	Logs      bool
	Reached   bool
	Format    string
	Original  bool
	Update    bool

	FromBoot bool
	// SnapshotMemory is in bytes; nil was not given.
	SnapshotMemory *int64
	ShrinkRuns     uint64
	ShrinkTime     time.Duration
	ShrinkCPU      time.Duration
}

// maxWorkers bounds --workers, as it does exploration.parallel_workers.
const maxWorkers = 4096

// UsualFaults is the mode of the faults of a campaign whose configuration has none.
const UsualFaults = world.Harsh

// AddMode adds a flag that names a preset of faults. A configuration that names none has the mode without.
func (f *Set) AddMode(c *cobra.Command, without string) {
	c.Flags().Var(modeFlag{&f.Mode}, "mode",
		"inject the faults of this `preset`: "+strings.Join(config.FaultModes(), ", ")+" (default: the configuration's faults, or "+without+")")
	c.RegisterFlagCompletionFunc("mode", cobra.FixedCompletions(config.FaultModes(), cobra.ShellCompDirectiveNoFileComp))
}

// AddPlacesAndDocument adds the flags that name a configuration, and --json.
func (f *Set) AddPlacesAndDocument(c *cobra.Command) {
	f.AddPlaces(c)
	f.AddDocument(c)
}

// AddPlaces adds the flags that name a configuration, and those of the engine vm.
func (f *Set) AddPlaces(c *cobra.Command) {
	c.Flags().Var(filesFlag{&f.Compose}, "compose", "read the nodes from this Compose `file`; repeat to merge several")
	c.Flags().Var(fileFlag{&f.Config}, "config", "read this configuration `file` instead of bloodhound.yaml")
	f.AddEngine(c, "", "run by this `engine`: ")
	addVM(c)
}

// AddEngine adds the flag of the engine, whose value is without if it is not given.
func (f *Set) AddEngine(c *cobra.Command, without, usage string) {
	c.Flags().StringVar(&f.Engine, "engine", without, usage+strings.Join(engines.Names(), ", "))
	c.RegisterFlagCompletionFunc("engine", cobra.FixedCompletions(engines.Names(), cobra.ShellCompDirectiveNoFileComp))
}

// AddSwitch adds a flag that is there or not.
func AddSwitch(c *cobra.Command, on *bool, name, usage string) {
	c.Flags().Var(switchFlag{on}, name, usage)
	c.Flags().Lookup(name).NoOptDefVal = "true"
}

// AddDocument adds --json.
func (f *Set) AddDocument(c *cobra.Command) {
	AddSwitch(c, &f.JSON, "json", "print one JSON document and nothing else")
}

// AddSeedFlag adds --seed.
func (f *Set) AddSeedFlag(c *cobra.Command, usage string) { addSeed(c, &f.Seed, "seed", usage) }

func addSeed(c *cobra.Command, seed *uint64, name, usage string) {
	says := fmt.Sprintf("a seed is a whole number from 0 to %d, such as 42", uint64(math.MaxUint64))
	c.Flags().Var(numberFlag{seed, 0, math.MaxUint64, says}, name, usage)
}

// AddOneSeed adds the seed of a tape.
func (f *Set) AddOneSeed(c *cobra.Command) {
	f.AddSeedFlag(c, "`seed` of the run (default: exploration.seed, or 1)")
}

// AddOneTape adds the flags that say which tape is run.
func (f *Set) AddOneTape(c *cobra.Command) {
	f.AddOneSeed(c)
	addSeed(c, &f.BootSeed, "boot-seed", "`seed` for the random choices during setup (default: --seed)")
	c.Flags().Var(fileFlag{&f.TapeFile}, "tape", "run the tape in this `file` instead of a seed")
	c.MarkFlagsMutuallyExclusive("seed", "tape")
	c.MarkFlagsMutuallyExclusive("boot-seed", "tape")
}

// AddTracing adds the flags of the trace.
func (f *Set) AddTracing(c *cobra.Command) {
	f.Format = traceFormats[0]
	c.Flags().Var(fileFlag{&f.Trace}, "trace", "write the trace of the run to this `file`")
	c.Flags().Var(wordFlag{&f.Format, traceFormats, "formats"}, "trace-format", "`format` of the trace: text, chrome for ui.perfetto.dev, or shiviz for ShiViz")
}

// AddRuns adds the number of runs, which is at least least and that by default.
func (f *Set) AddRuns(c *cobra.Command, least uint64, usage, says string) {
	f.Runs = least
	c.Flags().Var(numberFlag{&f.Runs, least, math.MaxUint64, says}, "runs", usage)
}

// AddWorkers adds the number of worlds that run at once.
func (f *Set) AddWorkers(c *cobra.Command) {
	c.Flags().Var(numberFlag{&f.Workers, 1, maxWorkers, fmt.Sprintf("give the number of runs at once, from 1 to %d", maxWorkers)},
		"workers", "how many runs at once (default: exploration.parallel_workers, or one per CPU)")
}

// AddSnapshotMemory adds the bound of the memory for snapshots.
func (f *Set) AddSnapshotMemory(c *cobra.Command) {
	c.Flags().Var(sizeFlag{&f.SnapshotMemory}, "snapshot-memory",
		"memory for the snapshots of a worker, a `size` such as 512m; 0 turns snapshots off (default: "+
			"exploration.snapshots.memory_bytes, or a quarter of the machine's memory, divided by the number of workers)")
}

// traceFormats are the formats of --trace-format; the first is the default.
var traceFormats = report.Formats
