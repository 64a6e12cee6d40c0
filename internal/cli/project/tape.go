package project

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"github.com/spf13/cobra"

	"github.com/bloodhound-dst/bloodhound/internal/cli/flags"
	"github.com/bloodhound-dst/bloodhound/internal/explore"
	"github.com/bloodhound-dst/bloodhound/internal/regular"
	"github.com/bloodhound-dst/bloodhound/internal/report"
	"github.com/bloodhound-dst/bloodhound/internal/tape"
)

// maxTapeBytes bounds the file of --tape.
const maxTapeBytes = 64 << 20

// TapeOf is the tape that the flags name.
func TapeOf(f *flags.Set, c *cobra.Command, p *Project) (tape.Tape, error) {
	if f.TapeFile == "" {
		if c.Flags().Changed("boot-seed") {
			return tape.FromReady(f.BootSeed, SeedOf(f, c, p)), nil
		}
		return tape.Tape{Seed: SeedOf(f, c, p)}, nil
	}
	const remedy = "give a file with a tape; `bloodhound docs cli` describes the format"
	text, err := regular.Read(f.TapeFile, maxTapeBytes)
	if err != nil {
		return tape.Tape{}, fmt.Errorf("--tape: %w; %s", err, remedy)
	}
	t, err := tape.Parse(string(text))
	if err != nil {
		return tape.Tape{}, fmt.Errorf("%s: %w", f.TapeFile, err)
	}
	return t, nil
}

// DefaultSeed makes the same command do the same thing each time.
const DefaultSeed = 1

// SeedOf returns the seed that the flags, or else the configuration, name.
func SeedOf(f *flags.Set, c *cobra.Command, p *Project) uint64 {
	switch {
	case c.Flags().Changed("seed"):
		return f.Seed
	case p.seed != nil:
		return *p.seed
	}
	return DefaultSeed
}

// TraceFile is the file of a job's trace, or empty.
func TraceFile(j *explore.Job) string {
	if j.Trace == nil {
		return ""
	}
	return j.Trace.File
}

// TraceJob requests the trace that the flags, or else the configuration, name; there may be none. A file that cannot be written is
// reported before anything runs.
func TraceJob(f *flags.Set, c *cobra.Command, p *Project) (*explore.Trace, error) {
	t := &explore.Trace{File: f.Trace, Format: f.Format, Level: p.Filter.Level, Events: p.Filter.Events}
	if t.File == "" {
		t.File = p.traceFile
	}
	if t.File == "" {
		if c.Flags().Changed("trace-format") {
			return nil, errors.New("--trace-format needs --trace FILE")
		}
		return nil, nil
	}
	path, err := filepath.Abs(t.File)
	if err != nil {
		return nil, err
	}
	problem, remedy := report.Unwritable(path)
	if info, err := os.Stat(path); err == nil && !info.Mode().IsRegular() && problem == "" {
		problem, remedy = "it is not a regular file", "give a regular file; the trace is written beside it and then renamed"
	}
	switch {
	case problem == "":
		t.File = path
		return t, nil
	case f.Trace != "":
		return nil, fmt.Errorf("--trace %s: %s; %s", f.Trace, problem, remedy)
	default:
		return nil, p.Result.Mistake("debug.trace_file", problem, remedy)
	}
}
