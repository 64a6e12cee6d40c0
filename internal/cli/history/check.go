// Package history has the verb check, which judges recorded histories.
package history

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
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
	"github.com/bloodhound-dst/bloodhound/internal/cli/console"
	"github.com/bloodhound-dst/bloodhound/internal/cli/flags"
	"github.com/bloodhound-dst/bloodhound/internal/cli/project"
	"github.com/bloodhound-dst/bloodhound/internal/explore"
	"github.com/bloodhound-dst/bloodhound/internal/formats"
	"github.com/bloodhound-dst/bloodhound/internal/plural"
	"github.com/bloodhound-dst/bloodhound/internal/program"
	"github.com/bloodhound-dst/bloodhound/internal/record"
	"github.com/bloodhound-dst/bloodhound/internal/regular"
	"github.com/bloodhound-dst/bloodhound/internal/report"
	"github.com/bloodhound-dst/bloodhound/internal/world"
)

// judging holds the flags of check.
type judging struct {
	flags.Set
	model      string
	level      string
	condition  string
	invariant  string
	monotonic  bool
	durability bool
	delivery   string
	order      string
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

// Verbs makes the verb check.
func Verbs(a *console.App) []*cobra.Command {
	return []*cobra.Command{checkVerb(a)}
}

func checkVerb(a *console.App) *cobra.Command {
	j := &judging{}
	c := &cobra.Command{
		Use:   "check FILE|ID [FOLDER or FILE]",
		Short: "Check recorded operations (a history) or a stored failure, without running anything",
		Long: "Judge a history that another program recorded. FILE contains JSON lines (`bloodhound docs workloads`), a " +
			"Jepsen history in EDN or JSON, a history from Porcupine's tests, or transactions grouped by session in the " +
			"format of DBCop, PolySI, Plume, AWDIT, Cobra or Viper (`bloodhound docs checks`). If FILE is -, the " +
			"command reads standard input.\n\n" +
			"Without flags, it tests whether the history is linearizable and treats each key as a register. If you give a " +
			"configuration (by --config, or as a folder or file after the history), its properties judge the history.\n\n" +
			"If you give the id or the file of a failure instead, the command judges the stored run " +
			"again, by the configuration's current properties or by the flags.",
		Args: func(c *cobra.Command, args []string) error {
			if len(args) < 1 || len(args) > 2 {
				return errors.New("usage: bloodhound check FILE|ID [FOLDER or FILE]; FILE is a history, ID the id or the file of a failure")
			}
			return flags.NoneEmpty(args)
		},
		RunE: func(c *cobra.Command, args []string) error { return checkHistories(a, c, j, args) },
	}
	j.AddPlacesAndDocument(c)
	c.Flags().StringVar(&j.model, "model", "",
		"judge by this `model`: register, cas-register, key-value, set, queue, lock, counter or append-list; for transactions: "+
			"list-append or rw-register; for Jepsen's workloads: "+strings.Join(histories.WorkloadModels, ", "))
	c.Flags().StringVar(&j.level, "isolation", "", "judge transactions by this `level` of isolation, such as serializable")
	c.Flags().StringVar(&j.condition, "expression", "", "judge the whole history by this `condition`")
	c.Flags().StringVar(&j.invariant, "invariant", "", "judge the history at every event by this `condition`")
	flags.AddSwitch(c, &j.monotonic, "monotonic", "judge that values never decrease")
	flags.AddSwitch(c, &j.durability, "durability", "judge that acknowledged values are there at the end")
	c.Flags().StringVar(&j.delivery, "delivery", "", "judge the delivery of messages by this `level`: at-least-once, at-most-once, exactly-once")
	c.Flags().StringVar(&j.order, "order", "", "with --delivery, the required `order` of the "+
		"messages' first arrivals: none, publisher (as each client published them), total (one order for all)")
	c.Flags().StringSliceVar(&j.operations, "operations", nil, "judge the results of these `operations` only")
	c.Flags().StringSliceVar(&j.keys, "keys", nil, "judge only the keys that match these `patterns`; * and ? are wildcards, a leading ! excludes")
	c.Flags().StringArrayVar(&j.properties, "property", nil, "judge only the property of this `name`; repeat for several")
	flags.AddSwitch(c, &j.keyed, "keyed", "EDN: each value is a pair of key and value, as jepsen.independent writes them")
	flags.AddSwitch(c, &j.edn, "edn", "the file is EDN, whatever its name")
	c.Flags().StringVar(&j.format, "format", "", "the file's `format`, if its name and content do not show it: "+strings.Join(formatNames(), ", "))
	c.Flags().StringVar(&j.total, "total-amount", "", "with --model bank: the balances add up to `N` (default: the sum of the first read)")
	flags.AddSwitch(c, &j.negative, "allow-negative-balances", "with --model bank: allow balances below zero")
	c.Flags().IntVar(&j.groupSize, "group-size", 0, "with --model long-fork: each read has `N` keys; 0 means any number")
	c.MarkFlagsMutuallyExclusive("isolation", "expression", "invariant", "monotonic", "durability", "delivery")
	return c
}

// CheckDocument is the JSON document of check.
type CheckDocument struct {
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

func checkHistories(a *console.App, c *cobra.Command, j *judging, args []string) error {
	doc := CheckDocument{Bloodhound: program.Version(), Verb: "check"}
	own, err := j.property(c)
	if err != nil {
		return err
	}
	var failure *report.Failure
	id := isFailure(args[0])
	p, err := checked(a, c, j, args, id)
	if err != nil && id {
		if _, missing := os.Stat(args[0]); missing != nil {
			return fmt.Errorf("there is no file %s, and looking up a failure with that id needs a project: %w", args[0], err)
		}
	}
	if err != nil {
		return err
	}
	properties := own
	if !id && len(own) == 0 {
		if properties, err = j.chosen(p.Spec.Properties, p.Config); err != nil {
			return err
		}
		properties = overHistories(a, properties, len(j.properties) > 0)
	}
	summary, world := &explore.Summary{Repeat: record.Repeat{Reproducible: true}}, &world.Spec{Properties: properties}
	err = unlessInterrupted(c.Context(), func() (err error) {
		if !id {
			doc.Verdicts, doc.Events, summary.Evidence, err = j.judge(args[0], properties)
			doc.File = args[0]
			return err
		}
		if failure, err = report.Load(p.State, args[0]); err != nil {
			return fmt.Errorf("%w, and no history file has that name", err)
		}
		doc.Failure, world = failure.ID, failure.Spec
		doc.Verdicts, doc.Events, summary.Evidence, err = j.again(p, failure, args, own)
		return err
	})
	if err != nil {
		return err
	}
	if len(doc.Verdicts) == 0 {
		return errors.New("no property judges a history; add one to the configuration, or choose a check: " +
			"--model, --isolation, --expression")
	}
	summary.Verdicts = doc.Verdicts
	status := explore.StatusOf(world, summary)
	doc.Judgement, doc.ExitCode, doc.Notices = report.Judgement(status, 1), status.ExitCode(), status.Notices
	a.Code = doc.ExitCode
	if j.JSON {
		return a.PrintJSON(doc)
	}
	what := "history " + doc.File
	if failure != nil {
		what = "the run of failure " + doc.Failure
		if failure.Smallest != nil {
			what = "the original run of failure " + doc.Failure + " (replay and report use its smallest)"
		}
	}
	fmt.Fprintf(a.Out, "%s: %s\n", what, plural.Count(doc.Events, "event"))
	if err := report.Verdicts(a.Out, doc.Verdicts); err != nil {
		return err
	}
	for _, n := range doc.Notices {
		fmt.Fprintf(a.Out, "\nnote: %s\n", n)
	}
	fmt.Fprintf(a.Out, "\n%s\n", doc.Judgement)
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
		return project.ErrInterrupted
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

// property returns the properties that the flags ask for; none where the configuration names them.
func (j *judging) property(c *cobra.Command) ([]world.Property, error) {
	p := world.Property{Name: "linearizability", Kind: world.Safety}
	k := &p.Check
	k.Operations, k.KeyPatterns = j.operations, j.keys
	if j.model == "mutex" { // as Knossos and elle-cli name it
		j.model = "lock"
	}
	transactions := j.model == histories.ListAppend || j.model == histories.RWRegister
	set := c.Flags().Changed
	if err := j.readLimits(set); err != nil {
		return nil, err
	}
	switch {
	case slices.Contains(histories.WorkloadModels, j.model):
		for _, flag := range []string{"isolation", "expression", "invariant", "monotonic", "durability", "delivery", "operations", "keys"} {
			if set(flag) {
				return nil, fmt.Errorf("--%s does not apply to the model %s; leave it out", flag, j.model)
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
			return nil, errors.New("--operations does not apply to transactions; leave it out")
		}
	case set("expression"):
		p.Name, k.Type, k.Condition = "expression", world.Expression, j.condition
	case set("invariant"):
		p.Name, p.Kind, k.Type, k.Condition = "invariant", world.Invariant, world.InvariantCheck, j.invariant
	case j.monotonic:
		p.Name, k.Type = "monotonic", world.Monotonic
	case j.durability:
		p.Name, k.Type, k.Model = "durability", world.Durability, j.model
	case set("delivery"):
		p.Name, k.Type, k.Level, k.Order = "delivery", world.Delivery, j.delivery, j.order
	case set("model") || set("operations") || set("keys"):
		k.Type, k.Model = world.Linearizability, j.model
	default:
		return nil, nil
	}
	if set("order") && k.Type != world.Delivery {
		return nil, errors.New("--order needs --delivery; add that, or leave out --order")
	}
	if len(k.Operations) > 0 && !k.Type.Kind().Uses("operations") {
		return nil, fmt.Errorf("--operations does not apply to %s, which judges all operations; leave it out", p.Name)
	}
	if len(k.KeyPatterns) > 0 && !k.Type.Kind().Uses("keys") {
		return nil, fmt.Errorf("--keys does not apply to %s, which judges all keys; leave it out", p.Name)
	}
	if set("model") && k.Model != j.model {
		return nil, fmt.Errorf("--model does not apply to %s; leave it out", p.Name)
	}
	if len(j.properties) > 0 {
		return nil, errors.New("--property selects a property of the configuration, but another flag chooses a " +
			"check; leave out one of them")
	}
	if err := histories.Validate(&p); err != nil {
		return nil, fmt.Errorf("%w; `bloodhound docs histories` describes the checks", err)
	}
	return []world.Property{p}, nil
}

// readLimits checks the format, and reads the flags of Jepsen's workloads.
func (j *judging) readLimits(set func(flag string) bool) error {
	if j.format != "" && !slices.Contains(formatNames(), j.format) {
		return fmt.Errorf("--format: no format %q; formats are %s", j.format, strings.Join(formatNames(), ", "))
	}
	if j.format != "" && formats.Named(formats.Format(j.format)).OfFolder() {
		return fmt.Errorf("--format %s: give the folder of the logs, and leave out --format", j.format)
	}
	for flag, model := range map[string]string{"total-amount": histories.Bank, "allow-negative-balances": histories.Bank, "group-size": histories.LongFork} {
		if set(flag) && j.model != model {
			return fmt.Errorf("--%s is for --model %s", flag, model)
		}
	}
	j.limits = histories.WorkloadLimits{Negative: j.negative, GroupSize: j.groupSize}
	if j.total != "" {
		total, ok := new(big.Int).SetString(j.total, 10)
		if !ok {
			return fmt.Errorf("--total-amount: %q is not an integer", j.total)
		}
		j.limits.Total = total
	}
	return nil
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
func checked(a *console.App, c *cobra.Command, j *judging, args []string, id bool) (*project.Project, error) {
	named := len(args) > 1 || j.Config != "" || len(j.Compose) > 0
	if !named && !id {
		if len(j.properties) > 0 {
			return nil, errors.New("--property needs a configuration: give its folder after the history, or give " +
				"--config FILE")
		}
		return &project.Project{Spec: &world.Spec{Properties: []world.Property{{Name: "linearizability", Kind: world.Safety,
			Check: world.Check{Type: world.Linearizability}}}}}, nil
	}
	p, err := project.Load(c.Context(), a, &j.Set, args[1:])
	if err == nil || named || !report.IsFailurePath(args[0]) {
		return p, err
	}
	return &project.Project{State: filepath.Dir(filepath.Dir(args[0]))}, nil // a file of a failure needs no project
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
				return nil, fmt.Errorf("--property: %s has no property %q, because it has none", file, name)
			}
			var names []string
			for _, p := range all {
				names = append(names, fmt.Sprintf("%q", p.Name))
			}
			return nil, fmt.Errorf("--property: %s has no property %q; properties are %s", file, name, strings.Join(names, ", "))
		}
		list = append(list, all[i])
	}
	return list, nil
}

// overHistories leaves out the properties that need a run, which a history does not have, unless they were named.
func overHistories(a *console.App, all []world.Property, named bool) []world.Property {
	var list []world.Property
	for _, p := range all {
		if p.Check.Type.Probes() && !named {
			a.Note("note: skipping property %q: its check queries servers, and a history has none", p.Name)
			continue
		}
		if p.Check.Type.Kind().Basis == world.ByModel && !named {
			a.Note("note: skipping property %q: its check reads logs, and a history has none", p.Name)
			continue
		}
		list = append(list, p)
	}
	return list
}

// again judges the run of a failure.
func (j *judging) again(p *project.Project, failure *report.Failure, args []string, own []world.Property) (verdicts []check.Verdict,
	length int, weight check.Evidence, err error) {
	e, err := report.LoadEvidence(p.State, failure)
	if errors.Is(err, report.ErrNoEvidence) {
		again := "bloodhound replay " + flags.ShellQuote(args[0])
		if failure.Smallest != nil {
			again += " --original"
		}
		return nil, 0, weight, program.WithCode(check.ExitUnknown, fmt.Errorf("failure %s: %w; `%s` replays the run "+
			"and stores it", failure.ID, err, again))
	}
	if err != nil {
		return nil, 0, weight, err
	}
	properties, was := own, failure.Spec
	if p.Spec != nil {
		was = was.Allowing(p.Spec)
	}
	if len(own) == 0 {
		all, file := failure.Spec.Properties, args[0]
		if p.Spec != nil {
			all, file = p.Spec.Properties, p.Config
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
				Reason: fmt.Sprintf("the check crashed on this history: %v; this is a bug in Bloodhound: %s", r, firstFrame(debug.Stack()))}
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
