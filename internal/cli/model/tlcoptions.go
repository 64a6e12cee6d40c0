package model

import (
	"errors"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/bloodhound-dst/bloodhound/internal/cli/console"
	"github.com/bloodhound-dst/bloodhound/internal/cli/flags"
	"github.com/bloodhound-dst/bloodhound/internal/model/tlc"
	"github.com/bloodhound-dst/bloodhound/internal/report"
	"github.com/bloodhound-dst/bloodhound/tla"
)

// Options that TLC has and that change nothing here. Those with a value take it.
var (
	idleSwitches = map[string]string{
		"modelcheck":          "it is the default",
		"cleanup":             "files of states are removed at the end",
		"gzip":                "files of states are not compressed",
		"nowarning":           "there are no warnings",
		"terse":               "values are printed in full",
		"debug":               "it concerns TLC's own code",
		"noGenerateSpecTE":    "no specification of a trace is written",
		"noTE":                "no specification of a trace is written",
		"noGenerateSpecTEBin": "no specification of a trace is written",
		"noTEBin":             "no specification of a trace is written",
	}
	idleValues = map[string]string{
		"checkpoint": "there are no checkpoints",
		"fp":         "there is only one kind of fingerprint",
		"fpbits":     "fingerprints are in one table",
		"fpmem":      "--memory bounds the memory",
		"lncheck":    "temporal properties are checked once, at the end",
		"maxSetSize": "sets that are spelled out have at most 4,000,000 members",
	}
	// Options that would mean something else here than there.
	refusedSwitches = map[string]string{
		"generateSpecTE": "no specification of a trace is written; -dumpTrace tla FILE writes the counterexample as a module",
		"view":           "counterexamples show all variables; name an operator with the values to show under ALIAS",
		"tool":           "messages have no codes here; --json prints one document for programs",
		"debugger":       "there is no debugger",
		"generate":       "use -simulate, which draws an action and one of the steps that it allows",
	}
	refusedValues = map[string]string{
		"simulate-file":    "behaviours of a simulation are not written; -dumpTrace json FILE writes a counterexample",
		"simulate-part":    "write -simulate num=5; -depth, -seed and the like are separate options",
		"simulate-stats":   "there is no graph of actions; --coverage counts them",
		"recover":          "there are no checkpoints; run the check again",
		"dfid":             "the search is breadth first; --depth bounds the behaviours",
		"aril":             "a simulation depends only on its seed; give --seed",
		"inv":              "write the formula as an operator of the specification, and name it under INVARIANT",
		"invlevel":         "write TLCGet(\"level\") < N as an operator of the specification, and name it under INVARIANT",
		"loadTrace":        "traces are not read; bloodhound model trace validates a log",
		"teSpecOutDir":     "no specification of a trace is written; -dumpTrace tla FILE writes the counterexample as a module",
		"messagesAsErrors": "messages have no codes here",
		"suppressMessages": "messages have no codes here",
	}
)

// idleFlag is an option that changes nothing.
type idleFlag struct{ bool }

func (f idleFlag) Type() string {
	if f.bool {
		return "bool"
	}
	return "value"
}
func (idleFlag) String() string   { return "" }
func (idleFlag) Set(string) error { return nil }

// refusedFlag is an option that is refused; says is why, and the remedy.
type refusedFlag struct {
	idleFlag
	says string
}

func (f refusedFlag) Set(string) error { return errors.New(f.says) }

// workersFlag is the number of TLC's workers, or auto.
type workersFlag struct{ given *string }

func (workersFlag) Type() string     { return "number" }
func (f workersFlag) String() string { return flags.Value(f.given) }
func (f workersFlag) Set(text string) error {
	if n, err := strconv.ParseUint(text, 10, 31); text != "auto" && (err != nil || n < 1) {
		return errors.New("give a number of workers, 1 or more, or auto")
	}
	*f.given = text
	return nil
}

// seedFlag is a seed, which TLC prints as a signed number.
type seedFlag struct{ seed *uint64 }

func (seedFlag) Type() string     { return "number" }
func (f seedFlag) String() string { return flags.Number(f.seed, 0, 0, "").String() }
func (f seedFlag) Set(text string) error {
	if n, err := strconv.ParseInt(text, 10, 64); err == nil {
		*f.seed = uint64(n)
		return nil
	}
	return flags.Number(f.seed, 0, math.MaxUint64, "a seed is a whole number, such as 42").Set(text)
}

// tlcFlags adds TLC's options to model check that are no flags of its own.
func (m *modelling) tlcFlags(c *cobra.Command) {
	f := c.Flags()
	add := func(names map[string]string, switches, refused bool) {
		for name, says := range names {
			flag := idleFlag{switches}
			if refused {
				f.Var(refusedFlag{flag, says}, name, says)
			} else {
				f.Var(flag, name, says)
			}
			if switches {
				f.Lookup(name).NoOptDefVal = "true"
			}
			f.Lookup(name).Hidden = true
		}
	}
	add(idleSwitches, true, false)
	add(idleValues, false, false)
	add(refusedSwitches, true, true)
	add(refusedValues, false, true)
}

// nameFlag is the value of a flag that names an operator of the specification.
type nameFlag struct{ name *string }

func (nameFlag) Type() string     { return "operator" }
func (f nameFlag) String() string { return flags.Value(f.name) }
func (f nameFlag) Set(text string) error {
	if text == "" {
		return errors.New("give the name of an operator of the specification")
	}
	*f.name = text
	return nil
}

// foldersFlag is the value of a flag that names folders, one each time that it is given.
type foldersFlag struct{ names *[]string }

func (foldersFlag) Type() string   { return "folder" }
func (foldersFlag) String() string { return "" }
func (f foldersFlag) Set(text string) error {
	switch i, err := os.Stat(text); {
	case err != nil:
		return err
	case !i.IsDir():
		return fmt.Errorf("%s is not a folder", text)
	}
	*f.names = append(*f.names, text)
	return nil
}

// formatted are TLC's options that may have a format before their file.
var formatted = []string{"--dump", "--dumpTrace"}

// DoubleDashes makes TLC's options, which have one dash, ours.
func DoubleDashes(args []string) []string {
	var list []string
	for i := 0; i < len(args); i++ {
		arg := args[i]
		if name, ok := strings.CutPrefix(arg, "-"); ok && len(name) > 1 && name[0] != '-' && strings.Trim(name, "0123456789") != "" {
			arg = "-" + arg
		}
		if parts, ok := strings.CutPrefix(arg, "--simulate="); ok && ofSimulation(parts) {
			list = append(list, simulating(parts)...)
			continue
		}
		switch {
		case arg == "--simulate" && i+1 < len(args) && ofSimulation(args[i+1]):
			i++
			list = append(list, simulating(args[i])...)
			continue
		case arg == "--coverage" && i+1 < len(args) && strings.Trim(args[i+1], "0123456789") == "":
			i++ // the minutes between two tables: here there is one, at the end
		case slices.Contains(formatted, arg) && i+2 < len(args) && isFormat(arg, args[i+1]) && args[i+2] != "" && args[i+2][0] != '-':
			list = append(list, arg, args[i+1]+":"+args[i+2])
			i += 2
			continue
		}
		list = append(list, arg)
	}
	return list
}

// simulating are our flags for what -simulate has behind it.
func simulating(parts string) []string {
	list := []string{"--simulate"}
	for _, part := range strings.Split(parts, ",") {
		switch key, _, _ := strings.Cut(part, "="); key {
		case "num":
		case "file", "stats":
			part = "simulate-" + part
		default:
			part = "simulate-part=" + part
		}
		list = append(list, "--"+part)
	}
	return list
}

// ofSimulation reports whether an argument is what -simulate has behind it.
func ofSimulation(arg string) bool {
	return slices.ContainsFunc([]string{"num=", "file=", "stats="},
		func(key string) bool { return strings.HasPrefix(arg, key) || strings.Contains(arg, ","+key) })
}

func isFormat(option, arg string) bool {
	if option == "--dumpTrace" {
		return slices.Contains([]string{"json", "tla"}, strings.ToLower(arg))
	}
	return arg == "dot" || strings.HasPrefix(arg, "dot,") && !strings.Contains(arg, ":")
}

// oneSpecification refuses other arguments than a specification.
func (m *modelling) oneSpecification(args []string) error {
	text := "model check takes one specification: bloodhound model check SPEC.tla"
	switch {
	case len(args) == 1 && args[0] != "":
		return nil
	case len(args) > 1:
		text = fmt.Sprintf("model check takes one specification, not %d: %s", len(args), strings.Join(args, " "))
	}
	if m.simulate && len(args) > 1 {
		text += "\nThe number of behaviours to walk is written as bloodhound model check -simulate num=5 SPEC.tla"
	}
	return errors.New(text)
}

// traceFlag is a file for a counterexample: FORMAT:FILE. It may be given several times.
type traceFlag struct{ to *[]dumpedTrace }

type dumpedTrace struct{ format, file string }

func (traceFlag) Type() string     { return "format:file" }
func (f traceFlag) String() string { return "" }
func (f traceFlag) Set(text string) error {
	format, file, _ := strings.Cut(text, ":")
	if !isFormat("--dumpTrace", format) || file == "" {
		return errors.New("write -dumpTrace json FILE or -dumpTrace tla FILE, or a colon between the two")
	}
	*f.to = append(*f.to, dumpedTrace{strings.ToLower(format), file})
	return nil
}

// idle says what options that were given have no effect, and why.
func (m *modelling) idle(a *console.App, c *cobra.Command) {
	c.Flags().Visit(func(f *pflag.Flag) {
		if _, ok := f.Value.(idleFlag); ok {
			a.Note("-%s has no effect: %s", f.Name, f.Usage)
		}
	})
	if m.workers != "" && m.workers != "1" {
		a.Note("-workers %s has no effect: a check has one thread", m.workers)
	}
	switch {
	case !m.simulate && c.Flags().Changed("num"):
		a.Note("--num has no effect without --simulate")
	case m.simulate && c.Flags().Changed("max-states"):
		a.Note("--max-states has no effect with --simulate; use --num")
	}
}

// configure makes what options say part of the configuration.
func (m *modelling) configure(config *tla.Config, file string) error {
	if m.deadlock {
		config.NoDeadlock = true
	}
	if m.post == "" {
		return nil
	}
	module, name, ok := strings.Cut(m.post, "!")
	if !ok {
		module, name = strings.TrimSuffix(filepath.Base(file), ".tla"), m.post
	}
	switch {
	case module+".tla" != filepath.Base(file):
		return fmt.Errorf("--postCondition %s: the operator must belong to the specification itself, %s", m.post,
			strings.TrimSuffix(filepath.Base(file), ".tla"))
	case !slices.Contains(config.Postconditions, name):
		config.Postconditions, config.PostconditionFrom = append(config.Postconditions, name), "--postCondition"
	}
	return nil
}

// dumpTraces writes a counterexample to the files that were named.
func (m *modelling) dumpTraces(spec *tla.Spec, v *tla.Violation) error {
	for _, t := range m.traces {
		var text []byte
		var err error
		if t.format == "json" {
			text, err = v.JSON(spec)
		} else {
			text, err = v.Module(spec, strings.TrimSuffix(filepath.Base(t.file), ".tla"))
		}
		if err == nil {
			err = report.WriteFile(t.file, text)
		}
		if err != nil {
			return console.Failed(fmt.Errorf("--dumpTrace: %w", err))
		}
	}
	return nil
}

// dump is the value of the flag that names a file for the states that a check reaches, or for the graph of them.
type dump struct {
	file string
	out  *os.File
	tlc.Dump
}

func (d *dump) Type() string   { return "file" }
func (d *dump) String() string { return d.file }
func (d *dump) Set(text string) error {
	format, file, _ := strings.Cut(text, ":")
	if d.Dot = isFormat("--dump", format); !d.Dot {
		file = text
	} else {
		for _, option := range strings.Split(format, ",")[1:] {
			switch option {
			case "actionlabels":
				d.Labels = true
			case "colorize":
				d.Colours = true
			default:
				return fmt.Errorf("%s is not supported; dot allows actionlabels and colorize", option)
			}
		}
	}
	if file == "" {
		return errors.New("give the name of a file: -dump FILE or -dump dot,actionlabels FILE")
	}
	extension := ".dump"
	if d.Dot {
		extension = ".dot"
	}
	d.file = strings.TrimSuffix(file, extension) + extension
	return nil
}

// begin opens the file.
func (d *dump) begin() (err error) {
	if d.out, err = os.Create(d.file); err != nil {
		return fmt.Errorf("--dump: %w", err)
	}
	d.StartWriting(d.out)
	return nil
}

// end closes the file.
func (d *dump) end() error {
	err := d.End()
	if e := d.out.Close(); err == nil {
		err = e
	}
	if err != nil {
		return console.Failed(fmt.Errorf("--dump: %w", err))
	}
	return nil
}
