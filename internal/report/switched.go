package report

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"time"

	"github.com/bloodhound-dst/bloodhound/internal/check"
	"github.com/bloodhound-dst/bloodhound/internal/coverage/code"
	"github.com/bloodhound-dst/bloodhound/internal/plural"
	"github.com/bloodhound-dst/bloodhound/internal/record"
)

// Switches says in words what decisions of a run mean that switch a thread in the midst of its own code. It reads each program's names once.
type Switches struct {
	of    *check.Judged
	named map[string]*named // by the program's path in the world; nil where there are no names
}

// named is a program with the names of its blocks.
type named struct {
	blocks *code.Binary
	names  *code.Names
}

// SwitchesOf returns the switches of a run.
func SwitchesOf(o *check.Judged) *Switches { return &Switches{o, map[string]*named{}} }

// Says explains a decision about a switch, and says when it was made unless the run says that of all decisions. It
// returns "" for any other decision.
func (w *Switches) Says(decision int) string {
	o := w.of
	stream, before := o.Decisions[decision].Stream, 0
	for _, d := range o.Decisions[:decision] {
		if d.Stream == stream {
			before++
		}
	}
	i := slices.IndexFunc(o.Switches, func(s record.Switch) bool {
		if s.Stream == stream {
			before--
		}
		return before < 0
	})
	if i < 0 {
		return ""
	}
	s := &o.Switches[i]
	until := "until the others have had their turns"
	if s.ForNs > 0 {
		until = "for " + time.Duration(s.ForNs).String()
	}
	where := "at " + s.Place.String()
	if s.Program != "" {
		where = w.nativePlace(s)
	}
	text := fmt.Sprintf("thread %s gives way %s, %s", s.Thread, until, where)
	if len(o.DecisionsNs) != len(o.Decisions) {
		text = Seconds(s.TimeNs) + ": " + text
	}
	return text
}

// nativePlace is where a thread of a native program was switched: the function and the line, if the program's file on this machine has them, and the address.
func (w *Switches) nativePlace(s *record.Switch) string {
	at := fmt.Sprintf("%s+0x%x", s.Program, s.Address)
	if s.Instructions == 1 {
		at = "1 instruction behind " + at
	} else {
		at = fmt.Sprintf("%s behind %s", plural.Count(s.Instructions, "instruction"), at)
	}
	p, known := w.named[s.Program]
	if !known {
		p = readNames(w.of, s.Program)
		w.named[s.Program] = p
	}
	if p == nil {
		return at
	}
	place, ok := p.blocks.Find(s.Address)
	f := slices.IndexFunc(p.names.Functions, func(f code.Function) bool { return f.First <= place && place < f.Last })
	if !ok || f < 0 {
		return at
	}
	in := "in " + p.names.Functions[f].Name
	if lines := p.names.Lines(place); len(lines) > 0 {
		in += fmt.Sprintf(" (%s:%d)", filepath.Base(lines[0].File), lines[0].Line)
	}
	return in + ", " + at
}

// readNames reads the names of a program of a run from its file on this machine, or is nil.
func readNames(o *check.Judged, program string) *named {
	i := slices.IndexFunc(o.Programs, func(p record.Program) bool { return p.Path == program })
	if i < 0 {
		return nil
	}
	file, err := os.ReadFile(o.Programs[i].File)
	if err != nil {
		return nil
	}
	b, err := code.Analyse(file)
	if err != nil {
		return nil
	}
	var debug []byte
	if name := code.DebugFile(file); name != "" {
		debug, _ = os.ReadFile(name) // most machines have none
	}
	names, err := code.NewNames(b, file, debug)
	if err != nil {
		return nil
	}
	return &named{b, names}
}
