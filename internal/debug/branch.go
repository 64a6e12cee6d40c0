package debug

import (
	"fmt"
	"slices"
	"strconv"
)

// A debugger that writes to memory or registers makes a branch: a timeline of its own, which begins with a copy of the world in which that was written.
// The run that the tape makes stays as it was.

// branch is a timeline that begins with a write.
type branch struct {
	number   int
	timeline *Timeline
	from     int
	at       Position // where in the run that it was made of
	wrote    string   // what was written first
}

func (b *branch) String() string {
	return fmt.Sprintf("branch %d begins %s of %s: %s", b.number, b.at, runName(b.from), b.wrote)
}

// runName names a branch, or the run that the tape makes.
func runName(number int) string {
	if number == 0 {
		return "the recorded run"
	}
	return fmt.Sprintf("branch %d", number)
}

// maxBranches bounds the branches of a session. The oldest one ends when there are more.
const maxBranches = 8

// Branch is the number of the branch that is looked at, 0 for the run that the tape makes.
func (s *Session) Branch() int { return s.branch }

// timelineOf is the timeline of a branch, or of the recorded run; nil if there is none.
func (s *Session) timelineOf(number int) *Timeline {
	if number == s.branch {
		return s.Timeline
	}
	if number == 0 {
		return s.recorded
	}
	if i := slices.IndexFunc(s.branches, func(b branch) bool { return b.number == number }); i >= 0 {
		return s.branches[i].timeline
	}
	return nil
}

// turnTo makes a timeline the one that is looked at.
func (s *Session) turnTo(number int) {
	t := s.timelineOf(number)
	if s.branch == 0 {
		s.recorded = s.Timeline
	}
	s.Timeline, s.branch = t, number
}

// write changes the world for a debugger: in a branch that has just been made, and else in a new one, of which it gives what to print.
func (s *Session) write(what string, change func(World) error) (note string, err error) {
	if s.branch != 0 {
		if done, err := s.Timeline.Amend(change); done {
			return "", err
		}
	}
	t, err := s.Timeline.Branch(change)
	if err != nil {
		return "", err
	}
	s.made++
	s.branches = append(s.branches, branch{s.made, t, s.branch, s.Timeline.Position(), what})
	s.turnTo(s.made)
	if len(s.branches) > maxBranches {
		err = s.branches[0].timeline.Close()
		s.branches = slices.Delete(s.branches, 0, 1)
	}
	return fmt.Sprintf("%s; `branch 0` returns to the recorded run", &s.branches[len(s.branches)-1]), err
}

// begun returns the text to print where a world stands at the beginning of its timeline.
func (s *Session) begun() string {
	if s.branch == 0 {
		return ""
	}
	return fmt.Sprintf("this is the beginning of branch %d; `branch 0` returns to the recorded run, which "+
		"includes earlier events", s.branch)
}

// lookAt goes to a branch where it was left.
func (s *Session) lookAt(args []string) (string, error) {
	if len(args) == 0 {
		return s.where() + "\n", nil
	}
	number, err := strconv.Atoi(args[0])
	if err != nil || len(args) > 1 || s.timelineOf(number) == nil {
		return "", fmt.Errorf("branch takes the number of a branch, or 0 for the recorded run; there are %d "+
			"branches, and `timeline` lists them", len(s.branches))
	}
	s.turnTo(number)
	return s.where() + "\n", nil
}
