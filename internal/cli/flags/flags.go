// Package flags has the flags that mean the same for every verb, the values that flags take, and the arguments that name a project.
package flags

import (
	"errors"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/bloodhound-dst/bloodhound/internal/config"
	"github.com/bloodhound-dst/bloodhound/internal/config/schema"
	"github.com/bloodhound-dst/bloodhound/internal/engine/vm"
	"github.com/bloodhound-dst/bloodhound/internal/explore/search"
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
	Async     bool
	Seed      uint64
	Seeds     uint64
	Timeout   time.Duration
	Budget    time.Duration // of test, for builds
	Comment   string
	Workers   uint64
	KeepGoing bool
	Strategy  string
	MaxDepth  uint64
	// FullLength asks for runs of full length only.
	FullLength bool
	Corpus     string
	Runs       uint64
	TapeFile   string
	BootSeed   uint64
	Trace      string
	Logs       bool
	Reached    bool
	HTML       string
	Markdown   string
	JUnit      string
	SARIF      string
	Format     string
	Until      uint64
	Original   bool
	Open       bool
	Update     bool

	Coverage       bool
	Since          string
	Threshold      float64 // in percent
	ThresholdGiven bool

	Around   uint64
	NoShrink bool
	Switches bool
	FromBoot bool
	// SnapshotMemory is in bytes; nil was not given.
	SnapshotMemory *int64
	ShrinkRuns     uint64
	ExplainRuns    uint64
	ExplainTime    time.Duration
	ShrinkTime     time.Duration
	ShrinkCPU      time.Duration
}

// maxWorkers bounds --workers, as it does exploration.parallel_workers.
const maxWorkers = 4096

// SwitchFlag is the value of a flag that is there or not.
type SwitchFlag struct{ On *bool }

func (SwitchFlag) Type() string     { return "bool" }
func (v SwitchFlag) String() string { return strconv.FormatBool(v.On != nil && *v.On) }
func (v SwitchFlag) Set(text string) error {
	if text != "true" && text != "false" {
		return errors.New("write it without a value, or with =false to turn it off")
	}
	*v.On = text == "true"
	return nil
}

// FileFlag is the value of a flag that names a file.
type FileFlag struct{ Name *string }

func (v FileFlag) String() string { return Value(v.Name) }
func (FileFlag) Type() string     { return "file" }
func (v FileFlag) Set(text string) error {
	if text == "" {
		return errors.New("give the name of a file")
	}
	*v.Name = text
	return nil
}

// FilesFlag is the value of a flag that names a file each time it is given.
type FilesFlag struct{ Names *[]string }

func (v FilesFlag) String() string {
	if v.Names == nil {
		return ""
	}
	return strings.Join(*v.Names, " ")
}
func (FilesFlag) Type() string { return "file" }
func (v FilesFlag) Set(text string) error {
	var name string
	if err := (FileFlag{&name}).Set(text); err != nil {
		return err
	}
	*v.Names = append(*v.Names, name)
	return nil
}

// NumberFlag is the value of a flag that takes a whole number; says is the remedy for anything else.
type NumberFlag struct {
	Number   *uint64
	From, To uint64
	Says     string
}

func (v NumberFlag) Type() string { return "number" }
func (v NumberFlag) String() string {
	if v.Number == nil {
		return ""
	}
	return strconv.FormatUint(*v.Number, 10)
}
func (v NumberFlag) Set(text string) error {
	n, err := strconv.ParseUint(text, 10, 64)
	if err != nil || n < v.From || n > v.To {
		return errors.New(v.Says)
	}
	*v.Number = n
	return nil
}

// SizeFlag is the value of a flag that takes a number of bytes.
type SizeFlag struct{ Bytes **int64 }

func (SizeFlag) Type() string { return "size" }
func (v SizeFlag) String() string {
	if v.Bytes == nil || *v.Bytes == nil {
		return ""
	}
	return strconv.FormatInt(**v.Bytes, 10)
}
func (v SizeFlag) Set(text string) error {
	n, ok := schema.ReadSize(text)
	if !ok {
		return errors.New("give a size with its unit, such as 512m or 2g")
	}
	*v.Bytes = &n
	return nil
}

// WordFlag is the value of a flag that takes one of some words.
type WordFlag struct {
	Word  *string
	Words []string
	What  string
}

func (v WordFlag) String() string { return Value(v.Word) }
func (v WordFlag) Type() string   { return "word" }
func (v WordFlag) Set(text string) error {
	if !slices.Contains(v.Words, text) {
		return fmt.Errorf("%s are %s", v.What, strings.Join(v.Words, " and "))
	}
	*v.Word = text
	return nil
}

// UsualFaults is the mode of the faults of a campaign whose configuration has none.
const UsualFaults = world.Harsh

// AddMode adds a flag that names a preset of faults.
func (f *Set) AddMode(c *cobra.Command) {
	c.Flags().Var(modeFlag{&f.Mode}, "mode",
		"inject the faults of this `preset`: "+strings.Join(config.FaultModes(), ", ")+" (default: faults.mode; without the section faults, "+UsualFaults+")")
	c.RegisterFlagCompletionFunc("mode", cobra.FixedCompletions(config.FaultModes(), cobra.ShellCompDirectiveNoFileComp))
}

// ModeFlag is the value of a flag that names a preset of faults.
type modeFlag struct{ name *string }

func (v modeFlag) String() string { return Value(v.name) }
func (v modeFlag) Type() string   { return "word" }
func (v modeFlag) Set(text string) error {
	if !slices.Contains(config.FaultModes(), text) {
		return fmt.Errorf("there is no preset %q of faults; give one of %s", text, strings.Join(config.FaultModes(), ", "))
	}
	*v.name = text
	return nil
}

// StrategyFlag is the value of a flag that names a strategy, with a guide perhaps.
type StrategyFlag struct{ Name *string }

func (v StrategyFlag) String() string { return Value(v.Name) }
func (v StrategyFlag) Type() string   { return "word" }
func (v StrategyFlag) Set(text string) error {
	switch p, err := search.Parse(text); {
	case text == "" || err != nil && !search.Known(p.Strategy):
		return fmt.Errorf("strategies are %s, and with --actor-mode %s and %s for worlds with a schedule",
			strings.Join(search.Names, " and "), search.ModelFuzz, search.Enumerated)
	case err != nil:
		return err
	}
	*v.Name = text
	return nil
}

// Value is what a flag holds; the flags' package also asks flags that hold nothing.
func Value(s *string) string {
	if s == nil {
		return ""
	}
	return *s
}

func (f *Set) AddPlacesAndDocument(c *cobra.Command) {
	f.AddPlaces(c)
	f.AddDocument(c)
}

// AddPlaces are the flags that name a configuration.
func (f *Set) AddPlaces(c *cobra.Command) {
	c.Flags().Var(FilesFlag{&f.Compose}, "compose", "read the nodes from this Compose `file`; given again, from several that are merged")
	c.Flags().Var(FileFlag{&f.Config}, "config", "read this configuration `file` instead of bloodhound.yaml")
	f.AddEngine(c, "", "run the world by this `engine`: ")
	for _, v := range []struct{ name, variable, usage string }{
		{"kernel", vm.KernelVariable, "engine vm: boot this kernel `file`, vmlinuz-VERSION"},
		{"initrd", vm.InitrdVariable, "engine vm: unpack this cpio `file` in the guest first"},
		{"base-image", vm.RootVariable, "engine vm: the `folder` whose files nodes have in the place of this machine's"},
		{"qemu", vm.QEMUVariable, "engine vm: the `program` qemu-system-x86_64"},
	} {
		c.Flags().Var(variableFlag(v.variable), v.name, v.usage)
	}
}

func (f *Set) AddEngine(c *cobra.Command, without, usage string) {
	c.Flags().StringVar(&f.Engine, "engine", without, usage+strings.Join(engines.Names(), ", "))
	c.RegisterFlagCompletionFunc("engine", cobra.FixedCompletions(engines.Names(), cobra.ShellCompDirectiveNoFileComp))
}

// variableFlag is a flag that sets a variable of the environment, which processes that make the runs have, too.
type variableFlag string

func (v variableFlag) String() string { return "" }
func (v variableFlag) Type() string   { return "string" }

func (v variableFlag) Set(text string) error {
	if text == "" {
		return errors.New("it is empty")
	}
	full, err := filepath.Abs(text)
	if err != nil {
		return err
	}
	if string(v) == vm.QEMUVariable && !strings.Contains(text, "/") { // a name to look up
		full = text
	}
	return os.Setenv(string(v), full)
}

func AddSwitch(c *cobra.Command, on *bool, name, usage string) {
	c.Flags().Var(SwitchFlag{on}, name, usage)
	c.Flags().Lookup(name).NoOptDefVal = "true"
}

func (f *Set) AddDocument(c *cobra.Command) { AddSwitch(c, &f.JSON, "json", "print one JSON document") }

func (f *Set) AddSeedFlag(c *cobra.Command, usage string) { addSeed(c, &f.Seed, "seed", usage) }

func addSeed(c *cobra.Command, seed *uint64, name, usage string) {
	says := fmt.Sprintf("a seed is a whole number from 0 to %d, such as 42", uint64(math.MaxUint64))
	c.Flags().Var(NumberFlag{seed, 0, math.MaxUint64, says}, name, usage)
}

func (f *Set) AddOneSeed(c *cobra.Command) {
	f.AddSeedFlag(c, "`seed` of the tape (default: exploration.seed, or 1)")
}

func (f *Set) AddOneTape(c *cobra.Command) {
	f.AddOneSeed(c)
	addSeed(c, &f.BootSeed, "boot-seed", "`seed` of the choices that are made before the end of setup (default: that of --seed)")
	c.Flags().Var(FileFlag{&f.TapeFile}, "tape", "run the tape in this `file`, which has the text form")
	c.MarkFlagsMutuallyExclusive("seed", "tape")
	c.MarkFlagsMutuallyExclusive("boot-seed", "tape")
}

func (f *Set) AddTracing(c *cobra.Command) {
	f.Format = traceFormats[0]
	c.Flags().Var(FileFlag{&f.Trace}, "trace", "write the trace of the run to this `file`")
	c.Flags().Var(WordFlag{&f.Format, traceFormats, "formats"}, "trace-format", "`format` of the trace: text, chrome for ui.perfetto.dev, or shiviz for ShiViz")
}

func (f *Set) AddRuns(c *cobra.Command, least uint64, usage, says string) {
	f.Runs = least
	c.Flags().Var(NumberFlag{&f.Runs, least, math.MaxUint64, says}, "runs", usage)
}

func (f *Set) AddWorkers(c *cobra.Command) {
	c.Flags().Var(NumberFlag{&f.Workers, 1, maxWorkers, fmt.Sprintf("give the number of worlds to run at once, from 1 to %d", maxWorkers)},
		"workers", "how many worlds to run at once (default: exploration.parallel_workers, or one a CPU)")
}

func (f *Set) AddSnapshotMemory(c *cobra.Command) {
	c.Flags().Var(SizeFlag{&f.SnapshotMemory}, "snapshot-memory",
		"maximum `size` of the snapshots of a worker, such as 512m (default: exploration.snapshots.memory_bytes, or a quarter of "+
			"the machine's memory, divided by the number of workers)")
}

// traceFormats are the formats of --trace-format; the first is the default.
var traceFormats = report.Formats
