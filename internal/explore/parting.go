package explore

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"github.com/bloodhound-dst/bloodhound/internal/filedigest"
)

// Parting is where the traces of two runs of one tape part.
type Parting struct {
	// Event is the number of the first event that differs. First and Other are its text in each of them, empty where a trace has ended.
	Event        uint64
	First, Other string
	Before       []string // the last events that are equal
}

// Compare reads two traces in the text form side by side, in memory that does not grow with them, and returns where they part, or nil. A
// trace that begins later, at a snapshot, is compared from there on.
func Compare(first, other string) (*Parting, error) {
	a, err := openTrace(first)
	if err != nil {
		return nil, err
	}
	defer a.file.Close()
	b, err := openTrace(other)
	if err != nil {
		return nil, err
	}
	defer b.file.Close()
	for ; err == nil && a.line != nil && b.line != nil && a.number() < b.number(); err = a.nextLine() {
	}
	for ; err == nil && a.line != nil && b.line != nil && b.number() < a.number(); err = b.nextLine() {
	}
	var before []string
	for err == nil && bytes.Equal(a.line, b.line) {
		if a.line == nil {
			return nil, nil
		}
		if len(before) == partingContext {
			before = before[1:]
		}
		before = append(before, string(a.line))
		err = errors.Join(a.nextLine(), b.nextLine())
	}
	if err != nil {
		return nil, err
	}
	return &Parting{Event: max(a.number(), b.number()), First: string(a.line), Other: string(b.line), Before: before}, nil
}

// partingContext is how many equal events stand before those that differ.
const partingContext = 3

// traceReader reads the lines of a trace. The line is nil after the last one.
type traceReader struct {
	file  *os.File
	lines *bufio.Reader
	line  []byte
}

func openTrace(name string) (*traceReader, error) {
	f, err := os.Open(name)
	if err != nil {
		return nil, err
	}
	r := &traceReader{file: f, lines: bufio.NewReaderSize(f, 1<<16)}
	if err := r.nextLine(); err != nil {
		f.Close()
		return nil, err
	}
	return r, nil
}

func (r *traceReader) nextLine() (err error) {
	r.line, err = r.lines.ReadBytes('\n')
	switch {
	case err != nil && !errors.Is(err, io.EOF):
		return err
	case len(r.line) == 0:
		r.line = nil
	}
	r.line = bytes.TrimSuffix(r.line, []byte("\n"))
	return nil
}

// number returns the number of the event, with which its line begins; 0 after the last one.
func (r *traceReader) number() uint64 {
	text, _, _ := bytes.Cut(r.line, []byte(" "))
	n, _ := strconv.ParseUint(string(text), 10, 64)
	return n
}

// partingTries is how often a run is made again until it begins at a snapshot: a run from boot takes one for the next.
const partingTries = 2

// parting makes a run and its replay again, with traces, and names the first event that differs. do makes runs where the first one was
// made, and the snapshot may be.
func parting(r *result, scratch string, do func(*Job) (*Reply, string)) string {
	dir, err := os.MkdirTemp(scratch, "parting-")
	if err != nil {
		return "the first event that differs is unknown: " + err.Error()
	}
	defer os.RemoveAll(dir)
	traced := func(j Job, name string) (*Reply, string) {
		j.Trace, j.Full = &Trace{File: filepath.Join(dir, name), Format: "text", Late: !j.FromBoot}, true
		reply, lost := do(&j)
		if reply == nil && lost == "" {
			lost = "it was cut short"
		}
		return reply, lost
	}
	first, lost := traced(*r.job, "first")
	for try := 1; try < partingTries && lost == "" && first.Began == nil && r.reply.Began != nil; try++ {
		first, lost = traced(*r.job, "first")
	}
	if lost == "" {
		_, lost = traced(*r.again(), "boot")
	}
	if lost != "" {
		return "the first event that differs is unknown, because the run could not be repeated: " + lost
	}
	p, err := Compare(filepath.Join(dir, "first"), filepath.Join(dir, "boot"))
	switch {
	case err != nil:
		return "the first event that differs is unknown: " + err.Error()
	case p == nil && Differs(r.reply.Summary, first.Summary) != "":
		return "repeated with traces, both runs are equal event by event: the difference comes and goes"
	case p == nil:
		return "their traces are equal event by event: the difference is in no field of an event"
	}
	side := func(line string) string {
		if line == "" {
			return "nothing, the trace has ended"
		}
		return clipped(line)
	}
	return fmt.Sprintf("the first event that differs is number %d: %s, then %s", p.Event, side(p.First), side(p.Other))
}

// maxFilesNamed bounds the changed files that the difference of two runs names.
const maxFilesNamed = 5

// maxEventText bounds how much of an event's text is shown, in bytes.
const maxEventText = 400

func clipped(line string) string {
	if len(line) > maxEventText {
		return line[:maxEventText] + "..."
	}
	return line
}

// parting names the first event in which the replay of a run differs, and the files that have changed since the campaign began.
// It does so for one run of a worker: what makes one run differ does so with many.
func (s *slot) parting(ctx context.Context, r *result) string {
	c := s.campaign
	if c.Here != nil || s.parted {
		return ""
	}
	s.parted = true
	var files map[string]string // of the last of the runs
	text := "; " + parting(r, c.Setup.Scratch, func(j *Job) (*Reply, string) {
		reply, lost := s.runJob(ctx, &result{job: j})
		if reply != nil && reply.Outcome != nil {
			files = reply.Outcome.Files
		}
		return reply, lost
	})
	if list := filedigest.Meanwhile(c.began, files, files); len(list) > 0 {
		text += "; perhaps since " + strings.Join(list[:min(len(list), maxFilesNamed)], ", ")
	}
	return text
}
