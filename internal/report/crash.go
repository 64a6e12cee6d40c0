package report

import (
	"fmt"
	"strings"

	"github.com/bloodhound-dst/bloodhound/internal/config/shell"
	"github.com/bloodhound-dst/bloodhound/internal/plural"
	"github.com/bloodhound-dst/bloodhound/internal/record"
)

// Bounds of what a story has of a crash; the page has more.
const (
	StoryFrames = 24
	PageFrames  = 200
)

// Crash is the end of a program that the violation is about, if something is left of that program; nil if nothing is.
func (s *StoryOf) Crash() *record.Crash {
	var first *record.Crash
	for i := range s.Outcome.Crashes {
		c := &s.Outcome.Crashes[i]
		if c.Dump == nil {
			continue
		}
		if c.Position == s.Verdict.Position() {
			return c
		}
		if first == nil && s.Verdict.Event == 0 {
			first = c
		}
	}
	return first
}

// crashStory prints where a program crashed.
func crashStory(b *strings.Builder, s *StoryOf) {
	c := s.Crash()
	if c == nil {
		return
	}
	d := c.Dump
	fmt.Fprintf(b, "\ncrash\n  %s: %s\n", c.Signal, crashWhy(d))
	if d.Instruction != "" {
		fmt.Fprintf(b, "  at %s\n", clip(d.Instruction))
	}
	if len(d.Threads) > 0 {
		frames := d.Threads[0].Frames
		for i, row := range stackRows(&d.Threads[0]) {
			if i == StoryFrames {
				fmt.Fprintf(b, "  ... and %d more\n", len(frames)-i)
				break
			}
			fmt.Fprintf(b, "  %-4s %s\n", row.Number, clip(strings.TrimSpace(row.Function+"  "+row.Place)))
		}
	}
	if debugger := Debugger(d); debugger != "" {
		fmt.Fprintf(b, "  %s\n", debugger)
	}
	if d.CoreNote != "" {
		fmt.Fprintf(b, "  core file: %s\n", clip(d.CoreNote))
	}
}

// crashWhy returns the reason for a signal, with the address.
func crashWhy(d *record.Dump) string {
	if d.Address == "" {
		return d.Why
	}
	return d.Why + ": " + d.Address
}

// Debugger is the command that opens the core file of a crash; empty if there is none.
func Debugger(d *record.Dump) string {
	if d.Core == "" {
		return ""
	}
	program := d.Program
	if program == "" {
		program = "PROGRAM"
	}
	return "gdb " + shell.Quote(program) + " " + shell.Quote(d.Core)
}

// stackRow is a line of a backtrace.
type stackRow struct {
	Number, Function, Place, PC, Module string
	Inlined                             bool
}

// stackRows are the lines of a backtrace: of the frames, and of what is left out between them.
func stackRows(s *record.ThreadStack) (rows []stackRow) {
	number := 0
	for i, f := range s.Frames {
		if s.Skipped > 0 && i == s.SkippedAt {
			text := plural.Count(s.Skipped, "frame")
			if s.Endless {
				text = "more than " + text
			}
			rows = append(rows, stackRow{Function: text})
			number += s.Skipped
		}
		row := stackRow{Number: fmt.Sprintf("#%d", number), Function: f.Function, PC: f.PC, Module: f.Module, Inlined: f.Inlined}
		if row.Function == "" {
			row.Function = f.PC
		}
		switch {
		case f.File != "":
			row.Place = fmt.Sprintf("%s:%d", f.File, f.Line)
		case f.Module != "":
			row.Place = "in " + f.Module
		}
		rows = append(rows, row)
		number++
	}
	return rows
}
