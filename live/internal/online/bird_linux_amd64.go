package online

import (
	"context"
	"errors"
	"fmt"
	"net/netip"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"time"

	"github.com/bloodhound-dst/bloodhound/internal/plural"
	"github.com/bloodhound-dst/bloodhound/live/internal/bgp/prefixset"
	"github.com/bloodhound-dst/bloodhound/live/internal/config"
	"github.com/bloodhound-dst/bloodhound/live/internal/daemon"
	"github.com/bloodhound-dst/bloodhound/live/internal/router"
	"github.com/bloodhound-dst/bloodhound/live/internal/router/probe"
	"github.com/bloodhound-dst/bloodhound/live/internal/search"
)

// copyBudget bounds what a copy of BIRD may use for what it gets at once.
var copyBudget = daemon.Budget{Calls: 1 << 20, CPU: time.Minute}

// changeName is the name by which a copy reads the configuration that is tried.
const changeName = "/the change"

// birdCheckpoint is a checkpoint of a running BIRD.
type birdCheckpoint struct {
	*daemon.Checkpoint
	daemon   int    // the number of BIRD's process
	program  string // its file
	control  string // the name of its control socket, as BIRD has it
	sessions []probe.Session
}

// takeBIRD makes a checkpoint of a running BIRD.
func takeBIRD(n *config.Node) (*birdCheckpoint, error) {
	pid, err := birdProcess(n.BIRD)
	if err != nil {
		return nil, err
	}
	d, err := daemon.Attach(pid)
	if err != nil {
		return nil, err
	}
	c := &birdCheckpoint{daemon: pid, program: program(pid)}
	var ok bool
	if c.control, ok = bound(pid, n.BIRD.Control); !ok {
		return nil, fmt.Errorf("process %d (%s) does not listen at %s: it is not BIRD, or uses another control "+
			"socket", pid, c.program, n.BIRD.Control)
	}
	if c.Checkpoint, err = d.TakeCheckpoint(); err != nil {
		return nil, err
	}
	if err := c.list(); err != nil {
		return nil, errors.Join(err, c.Close())
	}
	return c, nil
}

// program is the file of a process's program.
func program(pid int) string {
	name, _ := os.Readlink(fmt.Sprintf("/proc/%d/exe", pid))
	return name
}

// birdProcess is the number of BIRD's process.
func birdProcess(b *config.BIRD) (int, error) {
	switch {
	case b.PID != 0:
		return b.PID, nil
	case b.PIDFile == "":
		return listener(b.Control)
	}
	text, err := os.ReadFile(b.PIDFile)
	if err != nil {
		return 0, fmt.Errorf("%w; start BIRD with `-P FILE`, or remove pid_file", err)
	}
	pid, err := strconv.Atoi(strings.TrimSpace(string(text)))
	if err != nil || pid <= 0 {
		return 0, fmt.Errorf("%s has no number of a process", b.PIDFile)
	}
	return pid, nil
}

// listener finds the process that listens at a socket.
func listener(path string) (int, error) {
	entries, err := os.ReadDir("/proc")
	if err != nil {
		return 0, err
	}
	for _, e := range entries {
		if pid, err := strconv.Atoi(e.Name()); err == nil {
			if _, ok := bound(pid, path); ok {
				return pid, nil
			}
		}
	}
	return 0, fmt.Errorf("no process of this user listens at %s: start BIRD, give its control socket (its option -s), or run "+
		"bloodhound as BIRD's user or as root", path)
}

// bound is the name that a process has given to a socket at which it listens (proc_net_unix(5)).
func bound(pid int, path string) (name string, ok bool) {
	want, err := os.Stat(path)
	if err != nil {
		return "", false
	}
	files, err := filepath.Glob(fmt.Sprintf("/proc/%d/fd/*", pid))
	if err != nil || len(files) == 0 {
		return "", false
	}
	open := map[string]bool{}
	for _, f := range files {
		target, _ := os.Readlink(f)
		open[target] = true
	}
	table, err := os.ReadFile(fmt.Sprintf("/proc/%d/net/unix", pid))
	if err != nil {
		return "", false
	}
	for line := range strings.Lines(string(table)) {
		const flags, inode, name, accepts = 3, 6, 7, "00010000"
		f := strings.Fields(line)
		if len(f) <= name || f[flags] != accepts || !open["socket:["+f[inode]+"]"] {
			continue
		}
		at := fmt.Sprintf("/proc/%d/root%s", pid, f[name])
		if !filepath.IsAbs(f[name]) {
			at = fmt.Sprintf("/proc/%d/cwd/%s", pid, f[name])
		}
		if info, err := os.Stat(at); err == nil && os.SameFile(info, want) {
			return f[name], true
		}
	}
	return "", false
}

// list asks a copy for BIRD's sessions.
func (c *birdCheckpoint) list() error {
	r, err := c.fresh(nil)
	if err != nil {
		return err
	}
	defer r.Close()
	text, err := r.Ask(c.control, "show protocols all")
	if err != nil || !strings.HasPrefix(text, "0001 BIRD ") {
		said, _, _ := strings.Cut(text, "\n")
		return errors.Join(fmt.Errorf("process %d (%s) does not answer at its socket %s as BIRD 2 does: %q", c.daemon, c.program, c.control, said), err)
	}
	for _, s := range probe.Sessions(text) {
		if s.AS != s.Local && s.Address.Is4() {
			c.sessions = append(c.sessions, s)
		}
	}
	return nil
}

// answered reports how BIRD took a configuration.
var answered = regexp.MustCompile(`(?m)^(0003|0004|0018) `)

// refused is the error of a configuration that BIRD does not take.
type refused struct{ why string }

func (r *refused) Error() string { return "the change is refused: " + r.why }

// fresh is a copy that has got nothing since the checkpoint, but a configuration if there is one.
func (c *birdCheckpoint) fresh(change []byte) (*router.Router, error) {
	y, err := c.Copy()
	if err != nil {
		return nil, err
	}
	if change != nil {
		y.GiveFile(changeName, change)
	}
	r, err := router.New(y, copyBudget)
	if err != nil {
		return nil, errors.Join(err, y.Close())
	}
	if r.Pending.Status != daemon.Done {
		err = fmt.Errorf("a copy of BIRD ended before it received anything: status %d, signal "+
			"%d", r.Pending.Status, r.Pending.Signal)
	} else if change != nil {
		var text string
		if text, err = r.Ask(c.control, `configure "`+changeName+`"`); err == nil && !answered.MatchString(text) {
			lines := strings.Split(strings.TrimSpace(text), "\n")
			err = &refused{strings.TrimPrefix(lines[len(lines)-1], "8002 ")}
		}
	}
	if err != nil {
		return nil, errors.Join(err, r.Close())
	}
	return r, nil
}

// birdHandlers are the names of BIRD's sessions with other ASes.
func birdHandlers(n *config.Node) ([]string, error) {
	c, err := takeBIRD(n)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", n.Name, err)
	}
	defer c.Close()
	var names []string
	for _, s := range c.sessions {
		names = append(names, s.Name)
	}
	if names == nil {
		return nil, fmt.Errorf("%s: BIRD has no established session with another AS over IPv4", n.Name)
	}
	return names, nil
}

// exploreBIRD takes a checkpoint of a BIRD, and finds out what one of its neighbours could take over.
func exploreBIRD(ctx context.Context, t *Task, b *config.Budget, pace *Pace) (*Explored, error) {
	begun := time.Now()
	c, s, err := takeSession(&t.Node, t.Handler)
	if err != nil {
		return nil, err
	}
	defer c.Close()
	if err := pace.join(c.PID); err != nil {
		return nil, err
	}
	file, err := birdFile(t.Node.BIRD, c.daemon)
	if err != nil {
		return nil, err
	}
	text, err := os.ReadFile(file)
	if err != nil {
		return nil, fmt.Errorf("BIRD's configuration: %w; set `config` to its path", err)
	}
	configuration, err := birdConfig(file, text)
	if err != nil {
		return nil, err
	}
	constants := probe.ParseConstants(configuration)
	var change []byte
	if t.Change != nil {
		changed, err := birdConfig(file, t.Change)
		if err != nil {
			return nil, err
		}
		change, constants = []byte(changed), constants.Both(probe.ParseConstants(changed))
	}
	x := &Explored{Node: t.Node.Name, Handler: t.Handler, Program: c.program, Paused: c.Paused, Known: make([]bool, len(t.Known)),
		BIRD: &Probed{}, Result: &search.Result{}}
	target, err := c.target(s, change)
	if err != nil {
		return x.refused(err)
	}
	target.Spent = func(d time.Duration) { x.CPU += d; pace.spent(d) }
	list, left := constants.Announcements(s.AS, s.Local, s.Address)
	x.BIRD.Announcements = len(list)
	early := make([]prefixset.Set, len(list))
	limits := constants.Limits
	for _, f := range t.Known { // what is known is tried first
		if r, ok := rangeOf(&f); ok {
			limits = append([]prefixset.Range{prefixset.Exactly(firstOf(r))}, limits...)
		}
	}
	until := begun.Add(b.Explore)
	n, err := target.Run(probe.Search{Announced: list, Limits: limits, Excepted: prefixset.FromRanges(t.Node.BIRD.Anycast...),
		Found: func(i int, p netip.Prefix) {
			if len(early[i].Ranges()) < rangesMax {
				early[i] = early[i].Union(prefixset.FromRanges(prefixset.Exactly(p)))
			}
		},
		Stop: func() bool {
			pace.wait(ctx, c.PID)
			return ctx.Err() != nil || time.Now().After(until)
		}})
	x.ResidentBytes, x.OwnBytes = memory(c.PID)
	own := pace.checkpoint(c.PID)
	pace.spent(own)
	x.CPU += own
	x.Took = time.Since(begun)
	x.Paths, x.BIRD.Routes = n.Probes, n.Routes
	var crash *probe.Crashed
	switch {
	case errors.As(err, &crash):
		x.Left = "a copy has ended"
		how := *crash
		x.Findings = append(x.Findings, search.Finding{What: fmt.Sprintf("%v of %s", &how, s.Name), Path: 1, Paths: 1})
	case err != nil:
		return nil, err
	case n.Stopped:
		x.Left = "the budget ended"
	default:
		x.Left = left
	}
	var all prefixset.Set
	for i := range list {
		if x.Left != "" {
			n.Leaks[i] = n.Leaks[i].Union(early[i])
		}
		all = all.Union(n.Leaks[i])
	}
	// A range that is known stands if all of it was found, or its first prefix when not all was tried.
	rest := all
	for i, f := range t.Known {
		r, ok := rangeOf(&f)
		if !ok {
			continue
		}
		known := prefixset.FromRanges(r)
		if x.Known[i] = all.Contains(firstOf(r)) && (n.Stopped || known.Minus(all).Empty()); x.Known[i] {
			x.Findings = append(x.Findings, f)
			rest = rest.Minus(known)
		}
	}
	found, more := findings(s, list, n.Leaks, rest)
	x.Findings, x.BIRD.More = append(x.Findings, found...), more
	return x, nil
}

// takeSession makes a checkpoint at which no message of a neighbour has arrived in part.
func takeSession(n *config.Node, name string) (*birdCheckpoint, probe.Session, error) {
	const most = 10
	for range most {
		c, err := takeBIRD(n)
		if err != nil {
			return nil, probe.Session{}, err
		}
		s, err := c.session(name)
		var between bool
		if err == nil {
			between, err = c.between(s)
		}
		if err == nil && between {
			return c, s, nil
		}
		c.Close()
		if err != nil {
			return nil, probe.Session{}, err
		}
	}
	return nil, probe.Session{}, fmt.Errorf("at each of %s, only part of a message of %s had "+
		"arrived", plural.Count(most, "checkpoint"), name)
}

func (c *birdCheckpoint) session(name string) (probe.Session, error) {
	var names []string
	for _, s := range c.sessions {
		if s.Name == name {
			return s, nil
		}
		names = append(names, s.Name)
	}
	return probe.Session{}, fmt.Errorf("BIRD has no established session %s: it has %v", name, names)
}

func (c *birdCheckpoint) between(s probe.Session) (bool, error) {
	r, err := c.fresh(nil)
	if err != nil {
		return false, err
	}
	defer r.Close()
	from, err := r.Neighbour(s.Address)
	if err != nil {
		return false, err
	}
	return r.Between(from)
}

// target is the neighbour, with copies that have taken the change if there is one.
func (c *birdCheckpoint) target(s probe.Session, change []byte) (probe.Target, error) {
	r, err := c.fresh(change)
	if err != nil {
		return probe.Target{}, err
	}
	defer r.Close()
	from, err := r.Neighbour(s.Address)
	if err != nil && change != nil {
		err = fmt.Errorf("the change ends the session with %s, and nothing can reopen it in a copy, so the "+
			"change cannot be tried (BIRD keeps the session when filters change if the neighbour supports route "+
			"refresh): %w", s.Name, err)
	}
	if err == nil && len(r.Neighbours()) < 2 {
		err = fmt.Errorf("BIRD has no other neighbour than %s; its choices are visible only in announcements to "+
			"others", s.Name)
	}
	return probe.Target{Copy: func() (*router.Router, error) { return c.fresh(change) }, Control: c.control, From: from}, err
}

// refused makes a finding of a change that BIRD does not take.
func (x *Explored) refused(err error) (*Explored, error) {
	var why *refused
	if !errors.As(err, &why) {
		return nil, err
	}
	x.Findings = append(x.Findings, search.Finding{What: why.Error(), Path: 1, Paths: 1})
	return x, nil
}
