package cli

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"math/big"
	"os"
	"path/filepath"
	"runtime/debug"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/bloodhound-dst/bloodhound/history"
	"github.com/bloodhound-dst/bloodhound/internal/check"
	"github.com/bloodhound-dst/bloodhound/internal/check/histories"
	"github.com/bloodhound-dst/bloodhound/internal/check/isolation"
	"github.com/bloodhound-dst/bloodhound/internal/explore"
	"github.com/bloodhound-dst/bloodhound/internal/formats"
	"github.com/bloodhound-dst/bloodhound/internal/plural"
	"github.com/bloodhound-dst/bloodhound/internal/program"
	"github.com/bloodhound-dst/bloodhound/internal/record"
	"github.com/bloodhound-dst/bloodhound/internal/regular"
	"github.com/bloodhound-dst/bloodhound/internal/report"
	"github.com/bloodhound-dst/bloodhound/internal/world"
)

// judging is what the flags of check ask for.
type judging struct {
	flags
	model      string
	level      string
	condition  string
	invariant  string
	monotonic  bool
	durability bool
	operations []string
	keys       []string // patterns
	properties []string // names of those of the configuration; all if there are none
	keyed      bool
	edn        bool
	format     string
	total      string
	negative   bool
	groupSize  int
	limits     histories.WorkloadLimits
	inSessions bool // the history has sessions and no times
	inOrder    bool // the events are sorted by their indices
	typed      bool // the values are spelt with their types
}

func (a *app) checkVerb() *cobra.Command {
	j := &judging{}
	c := &cobra.Command{
		Use:   "check FILE|ID [FOLDER or FILE]",
		Short: "Judge a history, or a failure that was stored, without running",
		Long: `Judges a history that another program has recorded: a file of JSON lines (bloodhound docs workloads has the records), of
Jepsen's EDN or the same in JSON, of Porcupine's tests, or of transactions in sessions as DBCop, PolySI, Plume, AWDIT, Cobra and Viper store them (bloodhound docs checks has
the formats); - is standard input. Without a flag it is judged for linearizability as a map of registers. With --config,
or a folder or file after it, the properties of that configuration judge it.

With the id of a failure, or its file, the stored run is judged again by the current properties of the configuration, or by
the flags. Nothing runs.

Exit code 0: all properties hold; 1: a violation; 2: the file cannot be read; 5: unknown.`,
		Args: func(c *cobra.Command, args []string) error {
			if len(args) < 1 || len(args) > 2 {
				return errors.New("check takes a history, or the id or the file of a failure, and after it a folder or a file at " +
					"most: bloodhound check FILE|ID [FOLDER or FILE]")
			}
			return noneEmpty(args)
		},
		RunE: func(c *cobra.Command, args []string) error { return a.check(c, j, args) },
	}
	j.where(c)
	c.Flags().StringVar(&j.model, "model", "",
		"judge by this `model`: register, cas-register, key-value, set, queue, lock, counter, append-list; of transactions "+
			"list-append, rw-register; of Jepsen's workloads "+strings.Join(histories.WorkloadModels, ", "))
	c.Flags().StringVar(&j.level, "isolation", "", "judge transactions by this `level` of isolation, such as serializable")
	c.Flags().StringVar(&j.condition, "expression", "", "judge the whole history by this `condition`")
	c.Flags().StringVar(&j.invariant, "invariant", "", "judge the history at every event by this `condition`")
	addSwitch(c, &j.monotonic, "monotonic", "judge that values never go back")
	addSwitch(c, &j.durability, "durability", "judge that what was acknowledged is there at the end")
	c.Flags().StringSliceVar(&j.operations, "operations", nil, "judge the results of these `operations` only")
	c.Flags().StringSliceVar(&j.keys, "keys", nil, "judge only the keys that match these `patterns`; * and ? are wildcards, a leading ! excludes")
	c.Flags().StringArrayVar(&j.properties, "property", nil, "judge by the property of this `name` only; may be given several times")
	addSwitch(c, &j.keyed, "keyed", "EDN: each value is a pair of a key and the value proper, as of jepsen.independent")
	addSwitch(c, &j.edn, "edn", "the file is EDN, whatever its name")
	c.Flags().StringVar(&j.format, "format", "", "the file's `format`, where its name and beginning do not show it: "+strings.Join(formatNames(), ", "))
	c.Flags().StringVar(&j.total, "total-amount", "", "bank: what the balances add up to, `N`; without it, as in the first read")
	addSwitch(c, &j.negative, "allow-negative-balances", "bank: balances may be below zero")
	c.Flags().IntVar(&j.groupSize, "group-size", 0, "long-fork: each read has `N` keys; 0 is any number")
	c.MarkFlagsMutuallyExclusive("isolation", "expression", "invariant", "monotonic", "durability")
	return c
}

// checkDocument is the JSON document of check.
type checkDocument struct {
	Bloodhound string          `json:"bloodhound"`
	Verb       string          `json:"verb"`
	ExitCode   int             `json:"exit_code"`
	Judgement  string          `json:"judgement"`
	File       string          `json:"file,omitempty"`    // the history
	Failure    string          `json:"failure,omitempty"` // id
	Events     int             `json:"events"`            // of the history
	Verdicts   []check.Verdict `json:"verdicts"`
	Notices    []string        `json:"notices,omitempty"`
}

func (a *app) check(c *cobra.Command, j *judging, args []string) error {
	doc := checkDocument{Bloodhound: Version(), Verb: "check"}
	own, err := j.property(c)
	if err != nil {
		return err
	}
	var failure *report.Failure
	id := isFailure(args[0])
	p, err := a.checked(c, j, args, id)
	if err != nil && id {
		if _, missing := os.Stat(args[0]); missing != nil {
			return fmt.Errorf("no file %s is there, and to look for a failure of that id a project is needed: %w", args[0], err)
		}
	}
	if err != nil {
		return err
	}
	properties := own
	if !id && len(own) == 0 {
		if properties, err = j.chosen(p.spec.Properties, p.config); err != nil {
			return err
		}
		properties = a.overHistories(properties, len(j.properties) > 0)
	}
	summary, world := &explore.Summary{Repeat: record.Repeat{Reproducible: true}}, &world.Spec{Properties: properties}
	err = unlessInterrupted(c.Context(), func() (err error) {
		if !id {
			doc.Verdicts, doc.Events, summary.Evidence, err = j.judge(args[0], properties)
			doc.File = args[0]
			return err
		}
		if failure, err = report.Load(p.state, args[0]); err != nil {
			return fmt.Errorf("%w; a history is named by its file, which is not there", err)
		}
		doc.Failure, world = failure.ID, failure.Spec
		doc.Verdicts, doc.Events, summary.Evidence, err = j.again(p, failure, args, own)
		return err
	})
	if err != nil {
		return err
	}
	if len(doc.Verdicts) == 0 {
		return errors.New("no property judges a history; add one to the configuration, or name a check: --model, --isolation, --expression")
	}
	summary.Verdicts = doc.Verdicts
	status := explore.StatusOf(world, summary)
	doc.Judgement, doc.ExitCode, doc.Notices = report.Judgement(status, 1), status.ExitCode(), status.Notices
	a.code = doc.ExitCode
	if j.json {
		return a.printJSON(doc)
	}
	what := "history " + doc.File
	if failure != nil {
		what = "the run of failure " + doc.Failure
	}
	fmt.Fprintf(a.out, "%s: %s\n", what, plural.Count(doc.Events, "event"))
	if err := report.Verdicts(a.out, doc.Verdicts); err != nil {
		return err
	}
	for _, n := range doc.Notices {
		fmt.Fprintf(a.out, "\nnote: %s\n", n)
	}
	fmt.Fprintf(a.out, "\n%s\n", doc.Judgement)
	return nil
}

// unlessInterrupted does work that takes no notice of ctx: if that ends first, the work is left behind with what it holds.
func unlessInterrupted(ctx context.Context, work func() error) error {
	done := make(chan error, 1)
	go func() { done <- work() }()
	select {
	case err := <-done:
		return err
	case <-ctx.Done():
		return errInterrupted
	}
}

// recorded is a history from a file: its transactions over lists where nothing else is asked for, its operations, or its events where there is more to
// look at.
type recorded struct {
	lists    *histories.ListTransactions
	ops      []history.Operation
	events   []history.Event
	length   int // in events
	evidence check.Evidence
}

// judge reads a history and judges it.
func (j *judging) judge(file string, properties []world.Property) (verdicts []check.Verdict, length int, e check.Evidence, err error) {
	byEvents := slices.ContainsFunc(properties, func(p world.Property) bool { return !check.ByOperations(p.Check.Type) })
	// The memory of a long history is what bounds its length: it is not to be there twice before the collector looks.
	defer debug.SetGCPercent(debug.SetGCPercent(50))
	j.inOrder = file == "-" // which cannot be read again
	h, err := j.readFor(file, properties, byEvents)
	if errors.Is(err, formats.ErrUnordered) {
		j.inOrder = true
		h, err = j.readFor(file, properties, byEvents)
	}
	if err != nil {
		return nil, 0, e, err
	}
	for i := range properties {
		verdicts = append(verdicts, guarded(&properties[i], h, j.judgeOne))
	}
	h.evidence.Untimed, h.evidence.Recorded = j.inSessions, true
	return verdicts, h.length, h.evidence, nil
}

// readFor reads a history as its properties need it.
func (j *judging) readFor(file string, properties []world.Property, byEvents bool) (*recorded, error) {
	h, err := j.readLists(file, properties)
	if h == nil && err == nil {
		return j.read(file, byEvents)
	}
	return h, err
}

// judgeOne judges a history by one property. One that has sessions and no times is judged by what needs no time.
func (j *judging) judgeOne(p *world.Property, h *recorded) check.Verdict {
	if h.lists != nil {
		return h.lists.Judge(p)
	}
	judge := histories.Operations
	switch workload := slices.Contains(histories.WorkloadModels, p.Check.Model); {
	case j.inSessions && (workload || !check.ByOperations(p.Check.Type)):
		return histories.Untimed(p)
	case j.inSessions:
		judge = histories.InSessions
	case workload:
		judge = func(p *world.Property, ops []history.Operation) check.Verdict {
			return histories.Workload(p, j.limits, ops)
		}
	case !check.ByOperations(p.Check.Type):
		return check.History(p, h.events)
	case j.typed:
		judge = histories.Typed
	}
	if h.ops != nil {
		return judge(p, h.ops)
	}
	return histories.Paired(p, h.events, judge)
}

// property is what the flags ask for; none where the configuration says it.
func (j *judging) property(c *cobra.Command) ([]world.Property, error) {
	p := world.Property{Name: "linearizability", Kind: world.Safety}
	k := &p.Check
	k.Operations, k.KeyPatterns = j.operations, j.keys
	if j.model == "mutex" { // as Knossos and elle-cli name it
		j.model = "lock"
	}
	transactions := j.model == histories.ListAppend || j.model == histories.RWRegister
	set := c.Flags().Changed
	if j.format != "" && !slices.Contains(formatNames(), j.format) {
		return nil, fmt.Errorf("--format: no format %q; there are %s", j.format, strings.Join(formatNames(), ", "))
	}
	if j.format == formatCobra || j.format == formatViper {
		return nil, fmt.Errorf("--format %s: name the folder of the logs, without --format", j.format)
	}
	for flag, model := range map[string]string{"total-amount": histories.Bank, "allow-negative-balances": histories.Bank, "group-size": histories.LongFork} {
		if set(flag) && j.model != model {
			return nil, fmt.Errorf("--%s is for --model %s", flag, model)
		}
	}
	j.limits = histories.WorkloadLimits{Negative: j.negative, GroupSize: j.groupSize}
	if j.total != "" {
		total, ok := new(big.Int).SetString(j.total, 10)
		if !ok {
			return nil, fmt.Errorf("--total-amount: %q is no integer", j.total)
		}
		j.limits.Total = total
	}
	switch {
	case slices.Contains(histories.WorkloadModels, j.model):
		for _, flag := range []string{"isolation", "expression", "invariant", "monotonic", "durability", "operations", "keys"} {
			if set(flag) {
				return nil, fmt.Errorf("--%s: the model %s judges alone; leave it out", flag, j.model)
			}
		}
		p.Name, k.Type, k.Model = j.model, world.Isolation, j.model
		return []world.Property{p}, nil
	case set("isolation") || transactions:
		p.Name, k.Type, k.Model, k.Level = "isolation", world.Isolation, j.model, j.level
		if j.model == "" && isolation.OfRegisters(isolation.Level(j.level)) {
			k.Model = histories.RWRegister
		}
		if len(j.operations) > 0 {
			return nil, errors.New("--operations: transactions are judged as a whole; leave it out")
		}
	case set("expression"):
		p.Name, k.Type, k.Condition = "expression", world.Expression, j.condition
	case set("invariant"):
		p.Name, p.Kind, k.Type, k.Condition = "invariant", world.Invariant, world.InvariantCheck, j.invariant
	case j.monotonic:
		p.Name, k.Type = "monotonic", world.Monotonic
	case j.durability:
		p.Name, k.Type, k.Model = "durability", world.Durability, j.model
	case set("model") || set("operations") || set("keys"):
		k.Type, k.Model = world.Linearizability, j.model
	default:
		return nil, nil
	}
	if len(k.Operations) > 0 && !k.Type.Kind().Uses("operations") {
		return nil, fmt.Errorf("--operations: %s judges all operations; leave it out", p.Name)
	}
	if len(k.KeyPatterns) > 0 && !k.Type.Kind().Uses("keys") {
		return nil, fmt.Errorf("--keys: %s judges all keys; leave it out", p.Name)
	}
	if set("model") && k.Model != j.model {
		return nil, fmt.Errorf("--model: %s has no model; leave it out", p.Name)
	}
	if len(j.properties) > 0 {
		return nil, errors.New("--property selects a property of the configuration, and another flag names a check; give one of them")
	}
	if err := histories.Validate(&p); err != nil {
		return nil, fmt.Errorf("%w; `bloodhound docs checks` has the words of checks", err)
	}
	return []world.Property{p}, nil
}

// isFailure distinguishes the id or the file of a failure from a history.
func isFailure(name string) bool {
	if name == "-" {
		return false
	}
	f, err := regular.Open(name)
	if err != nil {
		_, missing := os.Stat(name) // a pipe is a history
		return missing != nil && !report.IsFailurePath(name) && filepath.Ext(name) == ""
	}
	defer f.Close()
	start := make([]byte, 4096)
	n, _ := io.ReadFull(f, start)
	return filepath.Ext(name) == ".json" && bytes.Contains(start[:n], []byte(`"failure_version"`))
}

// checked is the project whose properties judge. It has none, and so no Spec, where flags say what to judge by; the
// property without any flag is linearizability.
func (a *app) checked(c *cobra.Command, j *judging, args []string, id bool) (*project, error) {
	named := len(args) > 1 || j.config != "" || len(j.compose) > 0
	if !named && !id {
		if len(j.properties) > 0 {
			return nil, errors.New("--property: which configuration has it? name its folder after the history, or give --config FILE")
		}
		return &project{spec: &world.Spec{Properties: []world.Property{{Name: "linearizability", Kind: world.Safety,
			Check: world.Check{Type: world.Linearizability}}}}}, nil
	}
	p, err := a.load(c.Context(), &j.flags, args[1:])
	if err == nil || named || !report.IsFailurePath(args[0]) {
		return p, err
	}
	return &project{state: filepath.Dir(filepath.Dir(args[0]))}, nil // a file of a failure needs no project
}

// chosen are the properties of a configuration that flags name, or all.
func (j *judging) chosen(all []world.Property, file string) ([]world.Property, error) {
	if len(j.properties) == 0 {
		return all, nil
	}
	var list []world.Property
	for _, name := range j.properties {
		i := slices.IndexFunc(all, func(p world.Property) bool { return p.Name == name })
		if i < 0 {
			if len(all) == 0 {
				return nil, fmt.Errorf("--property: %s has no property %q, and no other", file, name)
			}
			var names []string
			for _, p := range all {
				names = append(names, fmt.Sprintf("%q", p.Name))
			}
			return nil, fmt.Errorf("--property: %s has no property %q; there are %s", file, name, strings.Join(names, ", "))
		}
		list = append(list, all[i])
	}
	return list, nil
}

// overHistories leaves out the properties that need a run, which a history does not have, unless they were named.
func (a *app) overHistories(all []world.Property, named bool) []world.Property {
	var list []world.Property
	for _, p := range all {
		if p.Check.Type.Probes() && !named {
			a.note("note: property %q is not judged: its check looks at servers, and a history has none", p.Name)
			continue
		}
		if p.Check.Type.Kind().Basis == world.ByModel && !named {
			a.note("note: property %q is not judged: its check looks at logs, and a history has none", p.Name)
			continue
		}
		list = append(list, p)
	}
	return list
}

// again judges the run of a failure.
func (j *judging) again(p *project, failure *report.Failure, args []string, own []world.Property) (verdicts []check.Verdict,
	length int, weight check.Evidence, err error) {
	e, err := report.LoadEvidence(p.state, failure)
	if errors.Is(err, report.ErrNoEvidence) {
		again := "bloodhound replay " + shellQuote(args[0])
		if failure.Smallest != nil {
			again += " --original"
		}
		return nil, 0, weight, program.WithCode(check.ExitUnknown, fmt.Errorf("failure %s: %w; `%s` makes the run again and stores it", failure.ID, err, again))
	}
	if err != nil {
		return nil, 0, weight, err
	}
	properties, was := own, failure.Spec
	if p.spec != nil {
		was = was.Allowing(p.spec)
	}
	if len(own) == 0 {
		all, file := failure.Spec.Properties, args[0]
		if p.spec != nil {
			all, file = p.spec.Properties, p.config
		}
		if properties, err = j.chosen(all, file); err != nil {
			return nil, 0, weight, err
		}
	}
	return check.Again(was, properties, e.Outcome), len(e.Outcome.History), check.EvidenceOf(&e.Outcome.Outcome), nil
}

// guarded judges a history from a file. A check that breaks on it says nothing about the history.
func guarded(p *world.Property, h *recorded, judge func(*world.Property, *recorded) check.Verdict) (v check.Verdict) {
	defer func() {
		if r := recover(); r != nil {
			v = check.Verdict{Property: p.Name, Kind: string(p.Kind), Status: check.Unknown,
				Reason: fmt.Sprintf("the check crashed on this history: %v; this is a bug of Bloodhound: %s", r, firstFrame(debug.Stack()))}
		}
	}()
	return judge(p, h)
}

// firstFrame is the line of a stack that the panic came from.
func firstFrame(stack []byte) string {
	_, after, _ := strings.Cut(string(stack), "panic(")
	for line := range strings.Lines(after) {
		if line = strings.TrimSpace(line); strings.Contains(line, ".go:") && !strings.Contains(line, "/runtime/") {
			return line
		}
	}
	return "no stack"
}

// readLists reads the transactions of a file, and nothing else of it, if all properties are about transactions over lists. It gives nothing where the
// history is another one, or needs a second look at its events.
func (j *judging) readLists(name string, properties []world.Property) (*recorded, error) {
	size, ok := sizeOfFile(name)
	if !ok || len(properties) == 0 || slices.ContainsFunc(properties, func(p world.Property) bool { return !histories.OverLists(&p) }) {
		return nil, nil
	}
	lists := histories.NewListTransactions(min(eventsOf(name, size), history.MaxEvents) / 2)
	h := &recorded{lists: lists}
	_, err := j.paired(name, h, history.NewPairingEach(lists.Add))
	if err != nil || h.length == 0 || j.inSessions {
		j.inSessions = false
		if errors.Is(err, errUnpaired) {
			err = nil
		}
		return nil, err
	}
	return h, nil
}

// sizeOfFile is the size of a file that can be read again.
func sizeOfFile(name string) (bytes int64, ok bool) {
	info, err := os.Stat(name)
	if err != nil || !info.Mode().IsRegular() || name == "-" {
		return 0, false
	}
	return info.Size(), true
}

// errUnpaired: the events of a history make no operations.
var errUnpaired = errors.New("events without operations")

// paired reads a history by its operations, and what else is recorded of it.
func (j *judging) paired(name string, h *recorded, pairing *history.Pairing) ([]history.Operation, error) {
	var collector check.Collector
	err := j.readEach(name, func(e *history.Event) error {
		h.length++
		pairing.Add(e)
		collector.Add(e)
		return nil
	})
	if err != nil {
		return nil, err
	}
	ops, err := pairing.Operations()
	if err != nil {
		return nil, fmt.Errorf("%w: %w", errUnpaired, err)
	}
	h.evidence = collector.Evidence()
	return ops, nil
}

// read reads a history. Of a file it keeps the operations alone, where the check needs no events: those take as
// much memory again.
func (j *judging) read(name string, byEvents bool) (*recorded, error) {
	if size, ok := sizeOfFile(name); ok && !byEvents {
		h := &recorded{}
		ops, err := j.paired(name, h, history.NewPairing(min(eventsOf(name, size), history.MaxEvents)/2))
		if err != nil && !errors.Is(err, errUnpaired) {
			return nil, err
		}
		if h.ops = ops; len(ops) > 0 {
			return h, nil
		}
	}
	h := &recorded{}
	err := j.readEach(name, func(e *history.Event) error {
		h.events = append(h.events, *e)
		return nil
	})
	h.length, h.evidence = len(h.events), check.EvidenceOf(&record.Outcome{History: h.events})
	return h, err
}

// eventsOf guesses by the beginning of a file how many events it has, one a line. A slice of operations that grows is there twice.
func eventsOf(name string, sizeBytes int64) int {
	f, err := os.Open(name)
	if err != nil {
		return 0
	}
	defer f.Close()
	start := make([]byte, 64<<10)
	n, _ := io.ReadFull(f, start)
	return int(int64(bytes.Count(start[:n], []byte("\n"))) * sizeBytes / int64(max(n, 1)))
}

// readEach reads a history event by event.
func (j *judging) readEach(name string, do func(*history.Event) error) error {
	in := io.Reader(os.Stdin)
	if name != "-" {
		f, err := os.Open(name)
		if err != nil {
			return fmt.Errorf("%w; name a file that is there, or the id of a failure", err)
		}
		defer f.Close()
		if info, err := f.Stat(); err == nil && info.IsDir() {
			events, err := j.readFolder(name)
			if err != nil {
				return fmt.Errorf("%s: %w", name, err)
			}
			return each(events, do)
		}
		in = f
	}
	const readAhead = 64 << 10 // by which a format is recognized
	b := bufio.NewReaderSize(in, readAhead)
	const mark = "\ufeff" // of byte order, with which some editors begin a file
	if start, _ := b.Peek(len(mark)); string(start) == mark {
		b.Discard(len(mark))
	} else if len(start) > 1 && (start[0] == 0xff && start[1] == 0xfe || start[0] == 0xfe && start[1] == 0xff) {
		return fmt.Errorf("%s: it is UTF-16; save it as UTF-8", name)
	}
	format := j.formatOf(name, b)
	if j.keyed && format != formatEDN && format != formatJepsen {
		return errors.New("--keyed is for EDN, and JSON of the same fields; other records have a field for the key")
	}
	ofJepsen := func(e *history.Event) error {
		isRead := e.Type == history.Invoke && history.IsRead(e.Op)
		if isRead && !j.keyed && j.model != histories.SetFull && histories.AsksForPair(e.Key, e.Input) {
			return fmt.Errorf("a read asks for %s, which is a key and no value yet, as jepsen.independent writes them; add --keyed", e.Input)
		}
		return do(e)
	}
	readEDN, readJSON := formats.ReadEDN, formats.ReadJepsenJSON
	if j.inOrder {
		readEDN, readJSON = formats.ReadEDNInOrder, formats.ReadJepsenJSONInOrder
	}
	j.typed = format == formatEDN || format == formatJepsen || format == formatLog
	var err error
	switch format {
	case formatEDN:
		err = readEDN(b, j.keyed, ofJepsen)
	case formatJepsen:
		err = readJSON(b, j.keyed, ofJepsen)
	case formatLog:
		err = formats.ReadJepsenLog(b, do)
	case formatPorcupine:
		err = formats.ReadPorcupine(b, do)
	case formatRecords:
		err = history.ReadEach(b, do)
	default:
		j.inSessions = true
		var events []history.Event
		if events, err = formats.ReadSessions(b, formats.Format(format)); err == nil {
			err = each(events, do)
		}
	}
	if err != nil {
		return fmt.Errorf("%s: %w", name, err)
	}
	return nil
}

func each(events []history.Event, do func(*history.Event) error) error {
	for i := range events {
		if err := do(&events[i]); err != nil {
			return err
		}
	}
	return nil
}

// Formats of histories that are none in sessions.
const (
	formatRecords   = "records"
	formatEDN       = "edn"
	formatJepsen    = "jepsen-json"
	formatLog       = "jepsen-log"
	formatPorcupine = "porcupine"
	formatCobra     = "cobra"
	formatViper     = "viper"
)

// formatNames are the words of --format.
func formatNames() []string {
	list := []string{formatRecords, formatEDN, formatJepsen, formatLog, formatPorcupine}
	for _, f := range formats.Formats {
		list = append(list, string(f))
	}
	return append(list, formatCobra, formatViper)
}

// formatOf is the format of a file: the one that is asked for, or recognized by its name and by how it begins.
func (j *judging) formatOf(name string, b *bufio.Reader) string {
	start, _ := b.Peek(b.Size())
	switch {
	case j.format != "":
		return j.format
	case j.edn || filepath.Ext(name) == ".edn":
		return formatEDN
	case filepath.Ext(name) == ".bincode":
		return string(formats.Bincode)
	}
	switch formats.JSONOf(start) {
	case formats.JepsenJSON:
		return formatJepsen
	case formats.Records:
		return formatRecords
	}
	if f := formats.FormatOf(start); f != "" {
		return string(f)
	}
	switch {
	case formats.IsJepsenLog(start):
		return formatLog
	case formats.IsPorcupine(start):
		return formatPorcupine
	}
	if looksLikeEDN(start) {
		return formatEDN
	}
	return formatRecords
}

// readFolder reads a history that is a folder: of DBCop, or logs of Cobra.
func (j *judging) readFolder(name string) ([]history.Event, error) {
	if f, err := os.Open(filepath.Join(name, "history.bincode")); err == nil {
		defer f.Close()
		j.inSessions = true
		return formats.ReadSessions(f, formats.Bincode)
	}
	folder := os.DirFS(name)
	if formats.IsViper(folder) {
		j.inSessions = true
		return formats.ReadViper(folder)
	}
	if logs, _ := fs.Glob(folder, "*.log"); len(logs) > 0 {
		j.inSessions = true
		return formats.ReadCobra(folder)
	}
	return nil, errors.New("it is a folder without history.bincode, the *.log of Cobra or the J*.log of Viper; name a history, and the folder after it")
}

// looksLikeEDN distinguishes a history of Jepsen's from lines of JSON: its maps begin with a keyword.
func looksLikeEDN(start []byte) bool {
	text := strings.TrimLeft(string(start), " \t\r\n,[(")
	rest, isMap := strings.CutPrefix(text, "{")
	return strings.HasPrefix(text, ";") || strings.HasPrefix(text, "#") || isMap && strings.HasPrefix(strings.TrimLeft(rest, " \t\r\n,"), ":")
}
