package cli

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
	"github.com/bloodhound-dst/bloodhound/internal/explore"
	"github.com/bloodhound-dst/bloodhound/internal/explore/search"
	"github.com/bloodhound-dst/bloodhound/internal/program"
	"github.com/bloodhound-dst/bloodhound/internal/regular"
	"github.com/bloodhound-dst/bloodhound/internal/report"
	"github.com/bloodhound-dst/bloodhound/internal/runner/engines"
	"github.com/bloodhound-dst/bloodhound/internal/tape"
	"github.com/bloodhound-dst/bloodhound/internal/world"
)

// flags holds those flags that mean the same for every verb that has them. What was not given is zero.
type flags struct {
	compose   []string
	config    string
	engine    string
	json      bool
	verbose   bool
	mode      string // preset of faults that overrides the configuration
	asWritten bool   // a configuration without faults has none
	async     bool
	seed      uint64
	seeds     uint64
	timeout   time.Duration
	budget    time.Duration // of test, for builds
	comment   string
	workers   uint64
	keepGoing bool
	strategy  string
	maxDepth  uint64
	// fullLength asks for runs of full length only.
	fullLength bool
	corpus     string
	runs       uint64
	tapeFile   string
	bootSeed   uint64
	trace      string
	logs       bool
	reached    bool
	html       string
	markdown   string
	junit      string
	sarif      string
	format     string
	until      uint64
	original   bool
	open       bool
	update     bool

	coverage       bool
	since          string
	changes        *changes // since then
	threshold      float64  // in percent
	thresholdGiven bool

	around   uint64
	noShrink bool
	switches bool
	fromBoot bool
	// snapshotMemory is in bytes; nil was not given.
	snapshotMemory *int64
	shrinkRuns     uint64
	explainRuns    uint64
	explainTime    time.Duration
	shrinkTime     time.Duration
	shrinkCPU      time.Duration
}

// maxWorkers bounds --workers, as it does exploration.parallel_workers.
const maxWorkers = 4096

// switchFlag is the value of a flag that is there or not.
type switchFlag struct{ on *bool }

func (switchFlag) Type() string     { return "bool" }
func (v switchFlag) String() string { return strconv.FormatBool(v.on != nil && *v.on) }
func (v switchFlag) Set(text string) error {
	if text != "true" && text != "false" {
		return errors.New("write it without a value, or with =false to turn it off")
	}
	*v.on = text == "true"
	return nil
}

// fileFlag is the value of a flag that names a file.
type fileFlag struct{ name *string }

func (v fileFlag) String() string { return value(v.name) }
func (fileFlag) Type() string     { return "file" }
func (v fileFlag) Set(text string) error {
	if text == "" {
		return errors.New("give the name of a file")
	}
	*v.name = text
	return nil
}

// filesFlag is the value of a flag that names a file each time it is given.
type filesFlag struct{ names *[]string }

func (v filesFlag) String() string {
	if v.names == nil {
		return ""
	}
	return strings.Join(*v.names, " ")
}
func (filesFlag) Type() string { return "file" }
func (v filesFlag) Set(text string) error {
	var name string
	if err := (fileFlag{&name}).Set(text); err != nil {
		return err
	}
	*v.names = append(*v.names, name)
	return nil
}

// numberFlag is the value of a flag that takes a whole number; says is the remedy for anything else.
type numberFlag struct {
	number   *uint64
	from, to uint64
	says     string
}

func (v numberFlag) Type() string { return "number" }
func (v numberFlag) String() string {
	if v.number == nil {
		return ""
	}
	return strconv.FormatUint(*v.number, 10)
}
func (v numberFlag) Set(text string) error {
	n, err := strconv.ParseUint(text, 10, 64)
	if err != nil || n < v.from || n > v.to {
		return errors.New(v.says)
	}
	*v.number = n
	return nil
}

// sizeFlag is the value of a flag that takes a number of bytes.
type sizeFlag struct{ bytes **int64 }

func (sizeFlag) Type() string { return "size" }
func (v sizeFlag) String() string {
	if v.bytes == nil || *v.bytes == nil {
		return ""
	}
	return strconv.FormatInt(**v.bytes, 10)
}
func (v sizeFlag) Set(text string) error {
	n, ok := schema.ReadSize(text)
	if !ok {
		return errors.New("give a size with its unit, such as 512m or 2g")
	}
	*v.bytes = &n
	return nil
}

// wordFlag is the value of a flag that takes one of some words.
type wordFlag struct {
	word  *string
	words []string
	what  string
}

func (v wordFlag) String() string { return value(v.word) }
func (v wordFlag) Type() string   { return "word" }
func (v wordFlag) Set(text string) error {
	if !slices.Contains(v.words, text) {
		return fmt.Errorf("%s are %s", v.what, strings.Join(v.words, " and "))
	}
	*v.word = text
	return nil
}

// usualFaults is the mode of the faults of a campaign whose configuration has none.
const usualFaults = world.Harsh

// modeFlag names a preset of faults.
func (f *flags) modeFlag(c *cobra.Command) {
	c.Flags().Var(modeFlag{&f.mode}, "mode",
		"inject the faults of this `preset`: "+strings.Join(config.FaultModes(), ", ")+" (default: faults.mode; without the section faults, "+usualFaults+")")
	c.RegisterFlagCompletionFunc("mode", cobra.FixedCompletions(config.FaultModes(), cobra.ShellCompDirectiveNoFileComp))
}

// modeFlag is the value of a flag that names a preset of faults.
type modeFlag struct{ name *string }

func (v modeFlag) String() string { return value(v.name) }
func (v modeFlag) Type() string   { return "word" }
func (v modeFlag) Set(text string) error {
	if !slices.Contains(config.FaultModes(), text) {
		return fmt.Errorf("there is no preset %q of faults; give one of %s", text, strings.Join(config.FaultModes(), ", "))
	}
	*v.name = text
	return nil
}

// strategyFlag is the value of a flag that names a strategy, with a guide perhaps.
type strategyFlag struct{ name *string }

func (v strategyFlag) String() string { return value(v.name) }
func (v strategyFlag) Type() string   { return "word" }
func (v strategyFlag) Set(text string) error {
	switch p, err := search.Parse(text); {
	case text == "" || err != nil && !search.Known(p.Strategy):
		return fmt.Errorf("strategies are %s, and with --actor-mode %s for worlds with a schedule",
			strings.Join(search.Names, " and "), strings.Join(search.Scheduled(), " and "))
	case err != nil:
		return err
	}
	*v.name = text
	return nil
}

// value is what a flag holds; the flags' package also asks flags that hold nothing.
func value(s *string) string {
	if s == nil {
		return ""
	}
	return *s
}

func (f *flags) where(c *cobra.Command) {
	f.places(c)
	f.document(c)
}

// places are the flags that name a configuration.
func (f *flags) places(c *cobra.Command) {
	c.Flags().Var(filesFlag{&f.compose}, "compose", "read the nodes from this Compose `file`; given again, from several that are merged")
	c.Flags().Var(fileFlag{&f.config}, "config", "read this configuration `file` instead of bloodhound.yaml")
	f.engineFlag(c, "", "run the world by this `engine`: ")
	for _, v := range []struct{ name, variable, usage string }{
		{"kernel", vm.KernelVariable, "engine vm: boot this kernel `file`, vmlinuz-VERSION"},
		{"initrd", vm.InitrdVariable, "engine vm: unpack this cpio `file` in the guest first"},
		{"base-image", vm.RootVariable, "engine vm: the `folder` whose files nodes have in the place of this machine's"},
		{"qemu", vm.QEMUVariable, "engine vm: the `program` qemu-system-x86_64"},
	} {
		c.Flags().Var(variableFlag(v.variable), v.name, v.usage)
	}
}

func (f *flags) engineFlag(c *cobra.Command, without, usage string) {
	c.Flags().StringVar(&f.engine, "engine", without, usage+strings.Join(engines.Names(), ", "))
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

func addSwitch(c *cobra.Command, on *bool, name, usage string) {
	c.Flags().Var(switchFlag{on}, name, usage)
	c.Flags().Lookup(name).NoOptDefVal = "true"
}

func (f *flags) document(c *cobra.Command) { addSwitch(c, &f.json, "json", "print one JSON document") }

func (f *flags) seedFlag(c *cobra.Command, usage string) { addSeed(c, &f.seed, "seed", usage) }

func addSeed(c *cobra.Command, seed *uint64, name, usage string) {
	says := fmt.Sprintf("a seed is a whole number from 0 to %d, such as 42", uint64(math.MaxUint64))
	c.Flags().Var(numberFlag{seed, 0, math.MaxUint64, says}, name, usage)
}

func (f *flags) oneSeed(c *cobra.Command) {
	f.seedFlag(c, "`seed` of the tape (default: exploration.seed, or 1)")
}

func (f *flags) oneTape(c *cobra.Command) {
	f.oneSeed(c)
	addSeed(c, &f.bootSeed, "boot-seed", "`seed` of the choices that are made before the end of setup (default: that of --seed)")
	c.Flags().Var(fileFlag{&f.tapeFile}, "tape", "run the tape in this `file`, which has the text form")
	c.MarkFlagsMutuallyExclusive("seed", "tape")
	c.MarkFlagsMutuallyExclusive("boot-seed", "tape")
}

func (f *flags) tracing(c *cobra.Command) {
	f.format = traceFormats[0]
	c.Flags().Var(fileFlag{&f.trace}, "trace", "write the trace of the run to this `file`")
	c.Flags().Var(wordFlag{&f.format, traceFormats, "formats"}, "trace-format", "`format` of the trace: text, chrome for ui.perfetto.dev, or shiviz for ShiViz")
}

// logsFlag is for those whose one run has programs that may be asked what they said.
func (f *flags) logsFlag(c *cobra.Command) {
	addSwitch(c, &f.logs, "logs", "print what the programs of the run wrote, in virtual time order")
}

// errLogsInDocument is the answer to --logs beside --json.
var errLogsInDocument = errors.New("--logs prints lines and --json one document: give one of them")

func (f *flags) repeats(c *cobra.Command, least uint64, usage, says string) {
	f.runs = least
	c.Flags().Var(numberFlag{&f.runs, least, math.MaxUint64, says}, "runs", usage)
}

func (f *flags) campaign(c *cobra.Command) {
	f.seedFlag(c, "`seed` of the campaign; tape i follows from it and i (default: exploration.seed, or 1)")
	c.Flags().Var(numberFlag{&f.seeds, 1, math.MaxUint64, "give the number of tapes to run, 1 or more"},
		"seeds", "how many tapes to run (default: simulation.seeds, or 1000)")
	c.Flags().Var(program.Time(&f.timeout), "timeout", "stop after this `time`")
	f.workersFlag(c)
	c.Flags().Var(strategyFlag{&f.strategy}, "strategy",
		"search `strategy`: "+strings.Join(search.Names, ", ")+" (default: exploration.strategy, or "+search.Default+")")
	c.Flags().Var(numberFlag{&f.maxDepth, 1, math.MaxInt32, "give the number of edits, 1 or more"},
		"max-depth", fmt.Sprintf("bfs and dfs: how many edits a tape has at most (default: exploration.max_depth, or %d)", search.DefaultDepth))
	f.modeFlag(c)
	c.Flags().Var(fileFlag{&f.corpus}, "corpus", "coverage-guided: begin with the runs of the corpus in this `folder` (default: exploration.corpus, or none)")
	addSwitch(c, &f.fullLength, "full-length", "swarm: give all runs their full length (default: exploration.length)")
	addSwitch(c, &f.keepGoing, "keep-going", "continue after the first violation")
	c.Flags().Var(fileFlag{&f.html}, "html", "write an HTML page of the campaign to this `file`")
	c.Flags().Var(fileFlag{&f.junit}, "junit", "write the verdicts as JUnit XML to this `file`")
	c.Flags().Var(fileFlag{&f.sarif}, "sarif", "write the failures as SARIF 2.1.0 to this `file`")
	f.coverageFlags(c)
	addSwitch(c, &f.fromBoot, "from-boot", "begin each run at its boot, and none at a snapshot")
	f.snapshotFlag(c)
	addSwitch(c, &f.noShrink, "no-shrink", "do not shrink failures")
	f.shrinking(c)
}

func (f *flags) workersFlag(c *cobra.Command) {
	c.Flags().Var(numberFlag{&f.workers, 1, maxWorkers, fmt.Sprintf("give the number of worlds to run at once, from 1 to %d", maxWorkers)},
		"workers", "how many worlds to run at once (default: exploration.parallel_workers, or one a CPU)")
}

func (f *flags) snapshotFlag(c *cobra.Command) {
	c.Flags().Var(sizeFlag{&f.snapshotMemory}, "snapshot-memory",
		"maximum `size` of the snapshots of a worker, such as 512m (default: exploration.snapshots.memory_bytes, or a quarter of "+
			"the machine's memory, divided by the number of workers)")
}

func (f *flags) shrinking(c *cobra.Command) {
	c.Flags().Var(numberFlag{&f.shrinkRuns, 1, math.MaxInt32, "give the number of runs that shrinking may make, 1 or more"},
		"shrink-runs", fmt.Sprintf("maximum number of runs to shrink one failure (default: %d)", defaultShrinkRuns))
	c.Flags().Var(program.Time(&f.shrinkCPU), "shrink-cpu",
		fmt.Sprintf("maximum CPU time of the runs that shrink all failures (default: %s)", defaultShrinkCPU))
	c.Flags().Var(program.Time(&f.shrinkTime), "shrink-time", "maximum real time to shrink all failures (default: none)")
}

func (f *flags) originalFlag(c *cobra.Command) {
	addSwitch(c, &f.original, "original", "use the run as it was found, not the smallest one")
}

func (f *flags) updateFlag(c *cobra.Command) {
	addSwitch(c, &f.update, "update", "if the run has changed and still fails, store it as it is now, in the file of the failure itself")
}

// traceFormats are the formats of --trace-format; the first is the default.
var traceFormats = report.Formats

// oneArgument accepts a folder or a file.
func oneArgument(c *cobra.Command, args []string) error {
	if len(args) > 1 {
		return fmt.Errorf("%s takes one folder or file, not %d: %s", c.Name(), len(args), strings.Join(args, " "))
	}
	return noneEmpty(args)
}

// failureArguments accepts a failure, and what names its project.
func failureArguments(c *cobra.Command, args []string) error {
	if len(args) < 1 || len(args) > 2 {
		return fmt.Errorf("%[1]s takes the id or the file of a failure, and after it a folder or a file at most: bloodhound %[1]s ID [FOLDER or FILE]",
			c.Name())
	}
	return noneEmpty(args)
}

// runOf is the run of a failure that the flags ask for: the smallest one, or the one that was found.
func (f *flags) runOf(full *report.Failure) *report.Failure {
	if f.original {
		return full
	}
	return full.Small()
}

// noneEmpty refuses what a shell makes of a variable that is not set.
func noneEmpty(args []string) error {
	if slices.Contains(args, "") {
		return errors.New("an argument is empty; leave it out for the current folder")
	}
	return nil
}

// maxTapeBytes bounds the file of --tape.
const maxTapeBytes = 64 << 20

// tape is the tape that the flags name.
func (f *flags) tape(c *cobra.Command, p *project) (tape.Tape, error) {
	if f.tapeFile == "" {
		if c.Flags().Changed("boot-seed") {
			return tape.FromReady(f.bootSeed, f.seedOf(c, p)), nil
		}
		return tape.Tape{Seed: f.seedOf(c, p)}, nil
	}
	const remedy = "name a file that holds a tape in its text form; `bloodhound docs cli` describes it"
	text, err := regular.Read(f.tapeFile, maxTapeBytes)
	if err != nil {
		return tape.Tape{}, fmt.Errorf("--tape: %w; %s", err, remedy)
	}
	t, err := tape.Parse(string(text))
	if err != nil {
		return tape.Tape{}, fmt.Errorf("%s: %w", f.tapeFile, err)
	}
	return t, nil
}

// defaultSeed makes the same command do the same thing each time.
const defaultSeed = 1

func (f *flags) seedOf(c *cobra.Command, p *project) uint64 {
	switch {
	case c.Flags().Changed("seed"):
		return f.seed
	case p.seed != nil:
		return *p.seed
	}
	return defaultSeed
}

// traceFile is the file of a job's trace, or empty.
func traceFile(j *explore.Job) string {
	if j.Trace == nil {
		return ""
	}
	return j.Trace.File
}

// traceJob asks for the trace that the flags or else the configuration want, or none. That it cannot be written is
// reported before anything runs.
func (f *flags) traceJob(c *cobra.Command, p *project) (*explore.Trace, error) {
	t := &explore.Trace{File: f.trace, Format: f.format, Level: p.filter.Level, Events: p.filter.Events}
	if t.File == "" {
		t.File = p.traceFile
	}
	if t.File == "" {
		if c.Flags().Changed("trace-format") {
			return nil, errors.New("--trace-format: there is no trace to be written; name its file with --trace")
		}
		return nil, nil
	}
	path, err := filepath.Abs(t.File)
	if err != nil {
		return nil, err
	}
	problem, remedy := report.Unwritable(path)
	if info, err := os.Stat(path); err == nil && !info.Mode().IsRegular() && problem == "" {
		problem, remedy = "it is no regular file", "name a file; a trace is written beside it first, and then takes its name"
	}
	switch {
	case problem == "":
		t.File = path
		return t, nil
	case f.trace != "":
		return nil, fmt.Errorf("--trace %s: %s; %s", f.trace, problem, remedy)
	default:
		return nil, p.result.Mistake("debug.trace_file", problem, remedy)
	}
}
