package cli

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/bloodhound-dst/bloodhound/explore"
	"github.com/bloodhound-dst/bloodhound/tape"
)

// flags holds those flags that mean the same for every verb that has them.
type flags struct {
	compose   string
	config    string
	json      bool
	seed      uint64
	seeds     uint64
	timeout   time.Duration
	workers   int
	keepGoing bool
	runs      uint64
	tapeFile  string
	trace     string
	format    string
	until     uint64
}

func (f *flags) where(c *cobra.Command) {
	c.Flags().StringVar(&f.compose, "compose", "", "read the nodes from this Compose `file`")
	c.Flags().StringVar(&f.config, "config", "", "read this configuration `file` instead of bloodhound.yaml")
	c.Flags().BoolVar(&f.json, "json", false, "print one JSON document")
}

func (f *flags) oneSeed(c *cobra.Command) {
	c.Flags().Uint64Var(&f.seed, "seed", 0, "`seed` of the tape (default: exploration.seed, or 1)")
}

func (f *flags) oneTape(c *cobra.Command) {
	f.oneSeed(c)
	c.Flags().StringVar(&f.tapeFile, "tape", "", "play the tape in this `file`, in a tape's text form")
	c.MarkFlagsMutuallyExclusive("seed", "tape")
}

func (f *flags) tracing(c *cobra.Command) {
	c.Flags().StringVar(&f.trace, "trace", "", "write the trace of the run to this `file`")
	c.Flags().StringVar(&f.format, "trace-format", "text", "`format` of the trace: text, or chrome for ui.perfetto.dev")
}

func (f *flags) campaign(c *cobra.Command) {
	c.Flags().Uint64Var(&f.seed, "seed", 0, "`seed` of the campaign; tape i follows from it and i (default: exploration.seed, or 1)")
	c.Flags().Uint64Var(&f.seeds, "seeds", 0, "how many tapes to run (default: simulation.seeds, or 1000)")
	c.Flags().DurationVar(&f.timeout, "timeout", 0, "stop after this `time`")
	c.Flags().IntVar(&f.workers, "workers", 0, "how many worlds to run at once (default: exploration.parallel_workers, or one a CPU)")
	c.Flags().BoolVar(&f.keepGoing, "keep-going", false, "go on after the first violation")
}

// oneArgument accepts a folder or a file.
func oneArgument(c *cobra.Command, args []string) error {
	if len(args) > 1 {
		return fmt.Errorf("%s takes one folder or file, not %d: %s", c.Name(), len(args), strings.Join(args, " "))
	}
	return nil
}

// tape is the tape that the flags name.
func (f *flags) tape(c *cobra.Command, p *project) (tape.Tape, error) {
	if f.tapeFile != "" {
		text, err := os.ReadFile(f.tapeFile)
		if err != nil {
			return tape.Tape{}, err
		}
		t, err := tape.Parse(string(text))
		if err != nil {
			return tape.Tape{}, fmt.Errorf("%s: %w", f.tapeFile, err)
		}
		return t, nil
	}
	return tape.Tape{Seed: f.seedOf(c, p)}, nil
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

// traceJob asks for the trace that the flags or else the configuration want, or none.
func (f *flags) traceJob(p *project) (*explore.Trace, error) {
	t := &explore.Trace{File: f.trace, Format: f.format, Level: p.filter.Level, Events: p.filter.Events}
	if t.File == "" {
		t.File = p.traceFile
	}
	if t.File == "" {
		return nil, nil
	}
	if t.Format != "text" && t.Format != "chrome" {
		return nil, fmt.Errorf("--trace-format %q is unknown; formats are text and chrome", t.Format)
	}
	path, err := filepath.Abs(t.File)
	if err != nil {
		return nil, err
	}
	t.File = path
	return t, nil
}
