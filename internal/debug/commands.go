package debug

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"math"
	"slices"
	"strings"

	"github.com/bloodhound-dst/bloodhound/internal/engine"
	"github.com/bloodhound-dst/bloodhound/internal/view"
)

// verb is a command of the prompt, and of gdb's monitor command.
type verb struct {
	name, arguments, does string
	most                  int // arguments
	run                   func(s *Session, args []string) (string, error)
}

// verbs lists them in the order of the help text. The views of a session follow.
var verbs = []verb{
	{"when", "", "where the world stands", 0, func(s *Session, _ []string) (string, error) { return s.where() + "\n", nil }},
	{"goto", "EVENT|TIME|violation|fault N|begin|end", "go to a point of the run", 2,
		func(s *Session, args []string) (string, error) { return s.GoTo(strings.Join(args, " ")) }},
	{"snapshot", "", "keep a snapshot of this point until the end", 0, func(s *Session, _ []string) (string, error) {
		if err := s.Timeline.Keep(); err != nil {
			return "", err
		}
		return fmt.Sprintf("snapshot %d: %s\n", len(s.kept()), s.where()), nil
	}},
	{"restore", "N", "go to a snapshot that was kept", 1, (*Session).restore},
	{"why-blocked", "[NODE]", "what each thread waits for", 1, (*Session).whyBlocked},
	{"track", "NODE[/PID] EXPRESSION [BYTES]", "every change of a variable or a place in memory, in the whole run", math.MaxInt, (*Session).track},
	{"branch", "N", "go to a branch, which a write created; 0 is the recorded run", 1, (*Session).lookAt},
	{"timeline", "", "the snapshots, the branches, and where the world stands", 0, func(s *Session, _ []string) (string, error) { return s.timeline(), nil }},
}

// run executes a command, and gives what it prints.
func (s *Session) run(line string) (string, error) {
	words := strings.Fields(line)
	if len(words) == 0 {
		return "", nil
	}
	args := words[1:]
	if i := slices.IndexFunc(verbs, func(v verb) bool { return v.name == words[0] }); i >= 0 {
		v := &verbs[i]
		if len(args) > v.most {
			return "", usage(v.name, v.arguments)
		}
		return v.run(s, args)
	}
	if i := slices.IndexFunc(s.Views, func(v View) bool { return v.Name == words[0] }); i >= 0 {
		v := &s.Views[i]
		if len(args) < v.Least || len(args) > v.Most {
			return "", usage(v.Name, v.Arguments)
		}
		return v.Print(s.Timeline.World(), args)
	}
	switch {
	case words[0] == "help" && len(words) == 1:
		return s.help(), nil
	case words[0] == "help":
		return "", errors.New("help takes no arguments: it lists all commands")
	case slices.Contains(quits, words[0]):
		return "", errors.New("quit takes no arguments, and works only at the prompt of `bloodhound debug`")
	}
	return "", fmt.Errorf("there is no command %q; help lists them", words[0])
}

// usage is the error of a command with a wrong number of arguments.
func usage(name, arguments string) error {
	return fmt.Errorf("give %s", strings.TrimSpace(name+" "+arguments))
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
	line("help", "", "this list")
	line("quit", "", "end the debugger (only at the prompt)")
	return b.String()
}

// GoTo goes to a point of the run as a user names it, begin or end, and prints where that is.
func (s *Session) GoTo(text string) (string, error) {
	note := ""
	var err error
	switch text {
	case "begin":
		err = s.Timeline.GotoBeginning()
	case "end":
		_, err = s.Timeline.GotoUntil(engine.Until{})
	default:
		note, err = s.goToPlace(text)
	}
	if err != nil {
		return "", err
	}
	note += s.where() + "\n"
	if s.Timeline.Position().End && s.Ended != nil {
		note += s.Ended(s.Timeline.World()) + "\n"
	}
	return note, nil
}

// CheckPoint checks that GoTo can read a point of a run.
func CheckPoint(text string) error {
	if text == "begin" || text == "end" {
		return nil
	}
	_, err := parsePlace(text)
	return err
}

func parsePlace(text string) (view.Place, error) {
	p, err := view.ParsePlace(text)
	if err != nil {
		err = fmt.Errorf("%w, or begin or end", err)
	}
	return p, err
}

// goToPlace goes to a place of the run; to the beginning of the timeline, with a note, if the place is before it.
func (s *Session) goToPlace(text string) (note string, err error) {
	place, err := parsePlace(text)
	if err != nil {
		return "", err
	}
	until, err := s.Until(place)
	if err != nil {
		return "", err
	}
	if s.before(place, until) {
		if s.branch != 0 {
			return "", fmt.Errorf("%s is before the beginning of branch %d; `branch 0` returns to the recorded "+
				"run, which includes it", text, s.branch)
		}
		return fmt.Sprintf("%s is before the point at which servers are up and the workload begins; debuggers begin there\n", text), s.Timeline.GotoBeginning()
	}
	there, err := s.Timeline.GotoUntil(until)
	if err == nil && !there && until != (engine.Until{}) {
		err = fmt.Errorf("%s is beyond the end of the run: %s", text, s.where())
	}
	return "", err
}

// before reports whether a place is before the beginning of the timeline.
func (s *Session) before(p view.Place, u engine.Until) bool {
	first := &s.Timeline.snapshots[0]
	switch {
	case u.Event > 0:
		return u.Event < first.at.Event
	case u.TimeNs > 0:
		return u.TimeNs < first.ns
	}
	return p.Kind == view.AtEvent || p.Kind == view.AtTime // event 0 and time 0; that of a violation is the end of the run
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

// quits end a prompt.
var quits = []string{"quit", "q", "exit"}

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
		if slices.Contains(quits, line) {
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
