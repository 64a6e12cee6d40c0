package model

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"github.com/bloodhound-dst/bloodhound/internal/check"
	"github.com/bloodhound-dst/bloodhound/internal/cli/console"
	"github.com/bloodhound-dst/bloodhound/internal/cli/flags"
	"github.com/bloodhound-dst/bloodhound/internal/cli/project"
	"github.com/bloodhound-dst/bloodhound/internal/explore"
	"github.com/bloodhound-dst/bloodhound/internal/model"
	"github.com/bloodhound-dst/bloodhound/internal/model/propose"
	"github.com/bloodhound-dst/bloodhound/internal/plural"
	"github.com/bloodhound-dst/bloodhound/internal/regular"
	"github.com/bloodhound-dst/bloodhound/internal/runner"
	"github.com/bloodhound-dst/bloodhound/internal/tape"
	"github.com/bloodhound-dst/bloodhound/internal/world"
	"github.com/bloodhound-dst/bloodhound/tla"
)

// proposing holds the flags of model propose.
type proposing struct {
	mapping world.Mapping
	world   string
	flags   flags.Set
}

func modelProposeVerb(a *console.App) *cobra.Command {
	m := &proposing{}
	c := &cobra.Command{
		Use:   "propose [SPEC.tla] [LOG...]",
		Short: "Propose which log lines are which actions of a specification",
		Long: "Print a mapping from log lines and SDK events to actions of a specification, in the form of " +
			"exploration.guide and of checks of type model, for you to edit.\n\n" +
			"The lines come from files, one for each node and named after it, from the output of `bloodhound run " +
			"--logs`, or, with --world, from one run. Without SPEC.tla, propose uses the specification of the " +
			"world's guide or property.\n\n" +
			"It then follows the lines by the proposed rules, and appends comments about how far they carry.",
		Args: func(_ *cobra.Command, args []string) error { return flags.NoneEmpty(args) },
		RunE: func(c *cobra.Command, args []string) error { return modelPropose(a, c, m, args) },
	}
	f := c.Flags()
	f.Var(flags.File(&m.mapping.Config), "config", "read this configuration `file` instead of SPEC.cfg")
	f.Var(foldersFlag{&m.mapping.Library}, "library", "also look for modules in this `folder`; repeat for several")
	f.StringVar(&m.world, "world", "", "run the world of this `folder or file` once, and use its lines")
	m.flags.AddOneSeed(c)
	m.flags.AddEngine(c, "", "run the world with this `engine`: ")
	return c
}

func modelPropose(a *console.App, c *cobra.Command, m *proposing, args []string) error {
	args, err := m.readArguments(args)
	if err != nil {
		return err
	}
	var p *project.Project
	dir := "."
	if m.world != "" {
		var err error
		m.flags.AsWritten = true
		if p, err = project.Load(c.Context(), a, &m.flags, []string{m.world}); err != nil {
			return err
		}
		if dir = p.Spec.Dir; m.mapping.Spec == "" && !m.followed(p.Spec) {
			return fmt.Errorf("%s: the world has no specification, in exploration.guide or in a property of type "+
				"model; give one: bloodhound model propose SPEC.tla --world %s", p.Config, m.world)
		}
	}
	config, file, err := modelFiles(m.mapping.Spec, &m.mapping.Config)
	if err != nil {
		return err
	}
	m.mapping.Spec = file
	spec, err := tla.Load(file, config, m.mapping.Library...)
	if err != nil {
		return err
	}
	var events []model.Event
	from, unordered, lost := "", "", 0
	if p != nil {
		t := tape.Tape{Seed: project.SeedOf(&m.flags, c, p)}
		from = fmt.Sprintf("the run of seed %d of %s", t.Seed, flags.RelativeTo(dir, p.Config))
		events, lost, err = linesOfRun(c.Context(), a, p, t)
	} else {
		from = strings.Join(args, ", ")
		events, unordered, err = linesOfFiles(a, args)
	}
	if err != nil {
		return err
	}
	proposal, err := propose.New(spec, events)
	if err != nil {
		return fmt.Errorf("%s, %s: %w", file, from, err)
	}
	written := world.Mapping{Spec: flags.RelativeTo(dir, file)}
	if m.mapping.Config != strings.TrimSuffix(file, ".tla")+".cfg" {
		written.Config = flags.RelativeTo(dir, m.mapping.Config)
	}
	for _, folder := range m.mapping.Library {
		written.Library = append(written.Library, flags.RelativeTo(dir, folder))
	}
	if err := proposal.Write(a.Out, &written, from); err != nil {
		return err
	}
	verdict, code := "NOT FOLLOWED: "+unordered, check.ExitUnknown
	if unordered == "" {
		m.mapping.Lines, m.mapping.Rules, m.mapping.LeftOut = proposal.LinesPattern(), proposal.Rules(), 1
		if verdict, code, err = followProposal(&m.mapping, events, proposal); err != nil {
			return err
		}
		if lost > 0 && code == check.ExitHolds {
			verdict, code = fmt.Sprintf("UNKNOWN: all recorded lines are steps of the specification, but the last %s of the run %s not kept",
				plural.Count(lost, "line"), plural.Verb(lost, "was", "were")), check.ExitUnknown
		}
	}
	a.Code = code
	for line := range strings.SplitSeq(verdict, "\n") {
		fmt.Fprintln(a.Out, strings.TrimRight("# "+line, " "))
	}
	return nil
}

// readArguments takes the specification from the arguments, and returns the logs.
func (m *proposing) readArguments(args []string) (logs []string, err error) {
	const remedy = "usage: bloodhound model propose SPEC.tla LOG..., or bloodhound model propose [SPEC.tla] --world FOLDER"
	if len(args) > 0 && strings.HasSuffix(args[0], ".tla") {
		m.mapping.Spec, args = args[0], args[1:]
	}
	switch {
	case m.world != "" && len(args) > 0:
		return nil, fmt.Errorf("%s and --world %s both give lines; leave out one of them", args[0], m.world)
	case m.world == "" && m.mapping.Spec == "":
		return nil, errors.New("no specification given; " + remedy)
	case m.world == "" && len(args) == 0:
		return nil, errors.New("no log lines given; " + remedy)
	}
	return args, nil
}

// followed takes the specification of a world's guide, or of a property.
func (m *proposing) followed(spec *world.Spec) bool {
	of := spec.Guide
	for i := range spec.Properties {
		of = cmp.Or(of, spec.Properties[i].Check.Mapping)
	}
	if of == nil {
		return false
	}
	m.mapping.Spec, m.mapping.Config, m.mapping.Library = of.Spec, cmp.Or(m.mapping.Config, of.Config), append(m.mapping.Library, of.Library...)
	return true
}

// linesOfRun runs a world once. lost counts the lines that were not kept.
func linesOfRun(ctx context.Context, a *console.App, p *project.Project, t tape.Tape) (events []model.Event, lost int, err error) {
	if err := p.Build(ctx, a); err != nil {
		return nil, 0, err
	}
	s, err := p.Open()
	if err != nil {
		return nil, 0, err
	}
	defer s.Close()
	reply, err := project.OneRun(ctx, a, s, &explore.Job{Request: runner.Play(t), Full: true}, false)
	if err == nil && ctx.Err() != nil {
		err = project.ErrInterrupted
	}
	if err != nil {
		return nil, 0, err
	}
	out := &reply.Outcome.Outcome
	return check.Happened(p.Spec, out, func(k model.EventKind) bool { return k == model.SDKEvent }), int(out.LogLost), nil
}

// maxLogBytes bounds a log.
const maxLogBytes = 256 << 20

// linesOfFiles reads files of logs, and reports why their order is not known, if it is not.
func linesOfFiles(a *console.App, names []string) (events []model.Event, unordered string, err error) {
	var texts []string
	for _, name := range names {
		text, err := regular.Read(name, maxLogBytes)
		if err != nil {
			return nil, "", fmt.Errorf("cannot read the log: %w", err)
		}
		if strings.TrimSpace(string(text)) == "" {
			return nil, "", fmt.Errorf("%s is empty, so there is nothing to map", name)
		}
		texts = append(texts, string(text))
	}
	logs := propose.ReadLogs(names, texts)
	if logs.Left > 0 {
		a.Note("note: left out %s around the lines of runs", plural.Count(logs.Left, "line"))
	}
	return logs.Events, logs.Disordered, nil
}

// followProposal follows events by a proposed mapping.
func followProposal(m *world.Mapping, events []model.Event, p *propose.Proposal) (verdict string, code int, err error) {
	c, err := model.Map(m)
	if err != nil {
		return "", 0, fmt.Errorf("cannot load the proposed mapping: %w", err)
	}
	var wanted []model.Event
	for _, e := range events {
		if e.Kind != model.SDKEvent || c.Wants(model.SDKEvent) {
			wanted = append(wanted, e)
		}
	}
	f, err := c.Follow(wanted, false)
	if err != nil {
		return fmt.Sprintf("CANNOT BE FOLLOWED: %v\nCorrect the arguments of the rule, or the values of constants in %s.", err,
			m.Config), check.ExitUnknown, nil
	}
	counted := "Followed by these rules: " + f.Tally.String() + "\n"
	where := ""
	if f.At != nil {
		where = fmt.Sprintf("\nThe event is %s (event %d)", f.At, f.At.Number)
		if f.By >= 0 {
			where += ", mapped by " + m.Place(f.By)
		}
	}
	var left *model.Divergence
	switch lacks, strangers := strings.Join(p.Unmapped(), ", "), strings.Join(p.Strangers(), ", "); {
	case errors.As(f.Err, &left):
		reason, state, _ := strings.Cut(left.Error(), "\nin the state\n")
		return counted + "LEAVES THE MODEL: " + reason + where +
			"\nThe rule or the specification is wrong, or the program is. The model was in the state\n" + state, check.ExitViolated, nil
	case f.Err != nil:
		return counted + "UNKNOWN: " + f.Err.Error() + where, check.ExitUnknown, nil
	case strangers != "":
		return counted + "UNKNOWN: the mapped events are steps of the specification, but the " +
			"specification lacks " + strangers, check.ExitUnknown, nil
	case lacks != "":
		return counted + "UNKNOWN: the mapped events are steps of the specification, but no rule " +
			"covers " + lacks, check.ExitUnknown, nil
	}
	return counted + "FOLLOWED: the mapped events are steps of the specification. This does not prove that each " +
		"rule maps to the right action.", check.ExitHolds, nil
}
