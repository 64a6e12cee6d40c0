package report

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"time"

	"github.com/bloodhound-dst/bloodhound/internal/check"
	"github.com/bloodhound-dst/bloodhound/internal/coverage/code"
	"github.com/bloodhound-dst/bloodhound/internal/engine"
)

// Switched says in words what a decision of a run means that switches a thread in the midst of its own code, and when it was made, where the run does not say
// that of all decisions. Of any other decision it is empty.
func Switched(o *check.Judged, decision int) string {
	stream, before := o.Decisions[decision].Stream, 0
	for _, d := range o.Decisions[:decision] {
		if d.Stream == stream {
			before++
		}
	}
	i := slices.IndexFunc(o.Switches, func(s engine.Switch) bool {
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
		where = nativePlace(o, s)
	}
	text := fmt.Sprintf("thread %s gives way %s, %s", s.Thread, until, where)
	if len(o.DecisionsNs) != len(o.Decisions) {
		text = Seconds(s.TimeNs) + ": " + text
	}
	return text
}

// nativePlace is where a thread of a native program was switched: the function and the line, if the program's file on this machine has them, and the address.
func nativePlace(o *check.Judged, s *engine.Switch) string {
	at := fmt.Sprintf("%s+0x%x", s.Program, s.Address)
	if s.Instructions == 1 {
		at = "1 instruction behind " + at
	} else {
		at = fmt.Sprintf("%d instructions behind %s", s.Instructions, at)
	}
	i := slices.IndexFunc(o.Programs, func(p engine.Program) bool { return p.Path == s.Program })
	if i < 0 {
		return at
	}
	file, err := os.ReadFile(o.Programs[i].File)
	if err != nil {
		return at
	}
	b, err := code.Analyse(file)
	if err != nil {
		return at
	}
	place, ok := b.Find(s.Address)
	var debug []byte
	if name := code.DebugFile(file); name != "" {
		debug, _ = os.ReadFile(name) // most machines have none
	}
	names, err := code.NewNames(b, file, debug)
	if !ok || err != nil {
		return at
	}
	f := slices.IndexFunc(names.Functions, func(f code.Function) bool { return f.First <= place && place < f.Last })
	if f < 0 {
		return at
	}
	in := "in " + names.Functions[f].Name
	if lines := names.Lines(place); len(lines) > 0 {
		in += fmt.Sprintf(" (%s:%d)", filepath.Base(lines[0].File), lines[0].Line)
	}
	return in + ", " + at
}
