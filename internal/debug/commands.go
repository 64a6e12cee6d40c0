package debug

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/bloodhound-dst/bloodhound/internal/engine"
)

// verb is a command of the prompt, and of gdb's monitor command.
type verb struct {
	name, arguments, does string
	run                   func(s *Session, args []string) (string, error)
}

// verbs lists them in the order of the help text. The views of a session follow.
var verbs = []verb{
	{"when", "", "where the world stands", func(s *Session, _ []string) (string, error) { return s.where() + "\n", nil }},
	{"goto", "EVENT|TIME|violation|fault N|begin|end", "go to a point of the run", (*Session).goTo},
	{"snapshot", "", "keep a snapshot here, which stays until the end", func(s *Session, _ []string) (string, error) {
		if err := s.Timeline.Keep(); err != nil {
			return "", err
		}
		return fmt.Sprintf("snapshot %d: %s\n", len(s.kept()), s.where()), nil
	}},
	{"restore", "N", "go to a snapshot that was kept", (*Session).restore},
	{"why-blocked", "[NODE]", "what each thread waits for", (*Session).whyBlocked},
	{"track", "NODE[/PID] EXPRESSION [BYTES]", "every change of a variable or a place in memory, in the whole run", (*Session).track},
	{"branch", "N", "go to a branch, which a write has made; 0 is the recorded run", (*Session).lookAt},
	{"timeline", "", "the snapshots, the branches, and where the world stands", func(s *Session, _ []string) (string, error) { return s.timeline(), nil }},
}

// run executes a command, and gives what it prints.
func (s *Session) run(line string) (string, error) {
	words := strings.Fields(line)
	if len(words) == 0 {
		return "", nil
	}
	if words[0] == "help" {
		return s.help(), nil
	}
	if i := slices.IndexFunc(verbs, func(v verb) bool { return v.name == words[0] }); i >= 0 {
		return verbs[i].run(s, words[1:])
	}
	if i := slices.IndexFunc(s.Views, func(v View) bool { return v.Name == words[0] }); i >= 0 {
		return s.Views[i].Print(s.Timeline.World(), words[1:])
	}
	return "", fmt.Errorf("there is no command %q; help lists them", words[0])
}

func (s *Session) help() string {
	var b strings.Builder
	line := func(name, arguments, does string) {
		fmt.Fprintf(&b, "  %-48s %s\n", strings.TrimSpace(name+" "+arguments), does)
	}
	for i := range verbs {
		line(verbs[i].name, verbs[i].arguments, verbs[i].does)
	}
	for i := range s.Views {
		line(s.Views[i].Name, s.Views[i].Arguments, s.Views[i].Does)
	}
	return b.String()
}

func (s *Session) goTo(args []string) (string, error) {
	text := strings.Join(args, " ")
	var err error
	switch text {
	case "":
		return "", errors.New("goto takes a point of the run: an event, a time, violation, a fault, begin or end")
	case "begin":
		err = s.Timeline.Begin()
	case "end":
		_, err = s.Timeline.GotoUntil(engine.Until{})
	default:
		var until engine.Until
		if until, err = s.Place(text); err != nil {
			return "", err
		}
		if err := s.reaches(until, text); err != nil {
			return "", err
		}
		var there bool
		if there, err = s.Timeline.GotoUntil(until); err == nil && !there && until != (engine.Until{}) {
			return "", fmt.Errorf("%s is beyond the end of the run: %s", text, s.where())
		}
	}
	if err != nil {
		return "", err
	}
	text = s.where() + "\n"
	if s.Timeline.At().End && s.Ended != nil {
		text += s.Ended(s.Timeline.World()) + "\n"
	}
	return text, nil
}

// kept are the positions of the snapshots that a user wanted.
func (s *Session) kept() (list []Position) {
	for i := range s.Timeline.snapshots {
		if o := &s.Timeline.snapshots[i]; o.kept {
			list = append(list, o.at)
		}
	}
	return list
}

func (s *Session) restore(args []string) (string, error) {
	list, n := s.kept(), 0
	if len(args) == 1 {
		fmt.Sscan(args[0], &n)
	}
	if n < 1 || n > len(list) {
		return "", fmt.Errorf("restore takes the number of a snapshot that was kept; there are %d, numbered in the order of the run", len(list))
	}
	if err := s.Timeline.Goto(list[n-1]); err != nil {
		return "", err
	}
	return s.where() + "\n", nil
}

func (s *Session) timeline() string {
	var b strings.Builder
	kept := 0
	for i := range s.Timeline.snapshots {
		o := &s.Timeline.snapshots[i]
		note := ""
		if o.kept {
			kept++
			note = fmt.Sprintf("  snapshot %d", kept)
		}
		fmt.Fprintf(&b, "  %12.6f s  %s%s\n", float64(o.ns)/1e9, o.at, note)
	}
	for i := range s.branches {
		fmt.Fprintf(&b, "  %s\n", &s.branches[i])
	}
	fmt.Fprintf(&b, "here: %s\n", s.where())
	return b.String()
}

// Prompt executes the commands that a user types, until quit or the end of the input. It reports whether that was quit.
func (s *Session) Prompt(in io.Reader, out io.Writer, terminal bool) (quit bool) {
	lines := bufio.NewScanner(in)
	for {
		if terminal {
			fmt.Fprint(out, "(bloodhound) ")
		}
		if !lines.Scan() {
			return false
		}
		line := strings.TrimSpace(lines.Text())
		if line == "quit" || line == "q" || line == "exit" {
			return true
		}
		s.lock.Lock()
		text, err := s.run(line)
		s.lock.Unlock()
		fmt.Fprint(out, text)
		if err != nil {
			fmt.Fprintln(out, "error:", err)
		}
	}
}
