package container

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"sync"

	"golang.org/x/sys/unix"

	"github.com/bloodhound-dst/bloodhound/internal/engine/container/docker"
	"github.com/bloodhound-dst/bloodhound/internal/engine/container/hand"
	"github.com/bloodhound-dst/bloodhound/internal/engine/director"
)

// proc is a program that the Director has started: the main process of a node, or one that a launcher runs in its container.
type proc struct {
	id      int64
	node    *node
	tag     int64
	kind    director.JobKind
	program string
	stdout  string // names of streams
	stderr  string
	main    bool
	over    bool // as the loop knows
	byFault bool
	ended   chan struct{} // closed when it has ended, before the loop knows

	mu     sync.Mutex
	stream *docker.Stream // of a launcher, nil before it runs
	early  [][]byte       // orders that came before
	killed bool
}

func (w *World) newProc(l *director.Launch) *proc {
	w.lastProc++
	p := &proc{id: w.lastProc, node: w.nodes[l.Node], tag: l.Tag, kind: l.Kind, program: l.Argv[0], stdout: l.Stdout,
		stderr: l.Stderr, ended: make(chan struct{})}
	w.procs[p.id] = p
	return p
}

// Wait statuses (wait(2)).
func exited(code int) int { return code << 8 }

// maxExitSignal is the highest exit code that stands for a signal: 128 and its number.
const (
	exitSignal    = 128
	maxExitSignal = exitSignal + 64
)

// statusOf is the wait status behind an exit code of a container. A program that exits with 128 and more by itself looks the same.
func statusOf(code int) int {
	if code > exitSignal && code <= maxExitSignal {
		return code - exitSignal
	}
	return exited(code)
}

// startMain starts the container of a node.
func (w *World) startMain(l *director.Launch) (*proc, error) {
	n := w.nodes[l.Node]
	if n.proc != nil { // its end may not be known yet
		<-n.proc.ended
	}
	p := w.newProc(l)
	p.main = true
	stream, err := w.client.Hijack(w.ctx, "/containers/"+n.main+"/attach", url.Values{"stream": {"1"}, "stdout": {"1"}, "stderr": {"1"}}, nil)
	if err != nil {
		return nil, err
	}
	if err := w.client.Call(w.ctx, http.MethodPost, "/containers/"+n.main+"/start", nil, nil, nil); err != nil {
		stream.Close()
		close(p.ended)
		p.over = true
		return nil, startError(err)
	}
	n.proc = p
	go func() {
		w.lines(p, stream)
		var end struct{ StatusCode int }
		err := w.client.Call(w.ctx, http.MethodPost, "/containers/"+n.main+"/wait", nil, nil, &end)
		close(p.ended)
		w.notice(func(at int64, _ string) error {
			if err != nil {
				return fmt.Errorf("cannot determine how a program on node %s ended: %w", n.spec.Name, err)
			}
			return w.ended(p, at, statusOf(end.StatusCode))
		}, "")
	}()
	return p, nil
}

// startError makes a refusal to start a container the Director's.
func startError(err error) error {
	var refused *docker.Error
	if !errors.As(err, &refused) {
		return err
	}
	e := &director.StartError{Text: refused.Text}
	for _, text := range []string{"no such file or directory", "executable file not found"} {
		if strings.Contains(refused.Text, text) {
			e.Missing, e.Errno = true, int(unix.ENOENT)
		}
	}
	if strings.Contains(refused.Text, "permission denied") {
		e.Errno = int(unix.EACCES)
	}
	return e
}

// lines takes in what a container writes until it has ended.
func (w *World) lines(p *proc, stream *docker.Stream) {
	defer stream.Close()
	stream.Lines(func(which int, text []byte) {
		name := p.stdout
		if which == 2 {
			name = p.stderr
		}
		w.logged(p, name, string(text))
	})
}

// startGuest has a launcher start a program in a container that runs: that of a node, or its keeper for programs of Bloodhound's own. It
// does not wait.
func (w *World) startGuest(l *director.Launch) (*proc, error) {
	n := w.nodes[l.Node]
	user, _, err := n.credentials(l.As)
	if err != nil {
		return nil, err
	}
	p := w.newProc(l)
	env := slices.Clone(l.Env)
	if l.Kind == director.JobDriver || l.Kind == director.JobRecovery {
		env = append(env, "BLOODHOUND_REPORT="+reportPath)
	}
	argv, in, dir := l.Argv, n.main, l.As.WorkingDir
	if l.Own {
		argv = append([]string{selfPath}, argv...)
		if starts := slices.Contains(l.Argv, "composer") || slices.Contains(l.Argv, "probe"); !starts {
			in, user, dir = n.keeper, "0", "/"
		}
	}
	e := &docker.Exec{AttachStdin: true, AttachStdout: true, AttachStderr: true,
		Cmd: append([]string{selfPath, "driver", hand.Verb, hand.Run}, argv...), Env: n.environment(env), User: user, WorkingDir: dir}
	go func() {
		status, err := w.execute(p, in, e)
		if err != nil {
			w.logged(p, p.stderr, err.Error())
			status = exited(notExecuted)
		}
		w.readReport() // what it has written comes before its end
		close(p.ended)
		w.notice(func(at int64, _ string) error { return w.ended(p, at, status) }, "")
	}()
	return p, nil
}

// notExecuted is the exit code of a program that could not be started, as a shell has it.
const notExecuted = 126

// execute runs a program in a container by a launcher, to its end.
func (w *World) execute(p *proc, in string, e *docker.Exec) (status int, err error) {
	if in == "" {
		return 0, fmt.Errorf("node %s has no container to run %s in; give it a command, an image or a root", p.node.spec.Name, p.program)
	}
	var made struct {
		ID string `json:"Id"`
	}
	if err := w.client.Call(w.ctx, http.MethodPost, "/containers/"+in+"/exec", nil, e, &made); err != nil {
		return 0, err
	}
	stream, err := w.client.Hijack(w.ctx, "/exec/"+made.ID+"/start", nil, map[string]bool{"Detach": false, "Tty": false})
	if err != nil {
		return 0, err
	}
	defer stream.Close()
	p.attachStream(stream)
	var end *hand.Sign
	said := ""
	err = stream.Lines(func(which int, text []byte) {
		var s hand.Sign
		switch {
		case which != 1:
			said = string(text)
		case json.Unmarshal(text, &s) != nil:
			said = string(text)
		case s.Ended:
			end = &s
		case s.Stream == "answer":
			w.notice(func(at int64, text string) error { return w.answered(p, at, text) }, s.Text)
		case s.Stream == "stderr":
			w.logged(p, p.stderr, s.Text)
		default:
			w.logged(p, p.stdout, s.Text)
		}
	})
	switch {
	case end != nil && end.Failed != "":
		return 0, errors.New(end.Failed)
	case end != nil:
		return end.Status, nil
	case p.wasKilled() || said == "": // with its container
		return int(unix.SIGKILL), nil
	}
	return 0, fmt.Errorf("%s (%w)", said, err)
}

// attachStream gives a launcher what was ordered before it ran.
func (p *proc) attachStream(stream *docker.Stream) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.stream = stream
	for _, line := range p.early {
		p.write(line)
	}
	p.early = nil
	if p.killed {
		stream.CloseWrite()
	}
}

// order writes a line to the standard input of a program.
func (p *proc) order(line []byte) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.killed || p.over {
		return false
	}
	if p.stream == nil {
		p.early = append(p.early, slices.Clone(line))
		return true
	}
	return p.write(line)
}

func (p *proc) write(line []byte) bool {
	text, err := json.Marshal(hand.Signal{Line: string(line)})
	if err != nil {
		return false
	}
	_, err = p.stream.Write(append(text, '\n'))
	return err == nil
}

// kill has a launcher kill its program.
func (p *proc) kill() {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.killed {
		return
	}
	p.killed = true
	if p.stream != nil {
		p.stream.CloseWrite()
	}
}

func (p *proc) wasKilled() bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.killed
}
