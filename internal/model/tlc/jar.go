package tlc

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/bloodhound-dst/bloodhound/tla"
)

// Run describes a check by a jar of TLC.
type Run struct {
	Jars       []string // the class path: tla2tools.jar, and others such as CommunityModules.jar
	Spec       string   // a file
	Config     string   // a file
	Libraries  []string // folders with modules
	NoDeadlock bool
	Continue   bool     // after a violation
	Options    []string // others of TLC's, before the specification
	Java       []string // options of the Java virtual machine
	Dir        string   // where it runs; empty: here
}

// Opinion is the result of TLC.
type Opinion struct {
	Version    string
	Violations []Violation // the kinds and names that were broken, each once
	Generated  int
	Distinct   int
	Left       int
	Depth      int
	Completed  bool          // it found no error
	Said       string        // all that it wrote
	CPU        time.Duration // of the whole process

	told int // violations, the same ones, too
}

// Violation names a property that a behaviour breaks.
type Violation struct {
	Kind   tla.Kind `json:"kind"`
	Name   string   `json:"name,omitempty"` // where TLC prints one
	States int      `json:"states"`         // of the counterexample; 0 if there is none, or if there are several
}

// Codes of TLC's messages (tlc2.output.EC).
const (
	codeAssumption       = 2104
	codeInvariantInitial = 2107
	codePropertyInitial  = 2108
	codeInvariant        = 2110
	codeActionProperty   = 2112
	codeDeadlock         = 2114
	codeTemporal         = 2116
	codeSuccess          = 2193
	codeDepth            = 2194
	codeStatistics       = 2199
	codeState            = 2217
	codeVersion          = 2262
	codeAssert           = 2132
	codePostcondition    = 2404
)

const (
	noGenerate = "-noGenerateSpecTE"
	mostSaid   = 20 // lines of what TLC wrote, in an error
)

var kinds = map[int]tla.Kind{
	codeAssumption:       tla.AssumptionViolated,
	codeInvariantInitial: tla.InvariantViolated,
	codePropertyInitial:  tla.InitialViolated,
	codeInvariant:        tla.InvariantViolated,
	codeActionProperty:   tla.StepViolated,
	codeDeadlock:         tla.Deadlocked,
	codeTemporal:         tla.TemporalViolated,
	codeAssert:           tla.AssertViolated,
	codePostcondition:    tla.PostViolated,
}

// Ready reports what is missing to run TLC: java on PATH, or a jar.
func (r *Run) Ready() error {
	if _, err := exec.LookPath("java"); err != nil {
		return errors.New("java is not on PATH; install a Java runtime, version 11 or later, to run TLC")
	}
	for _, jar := range r.Jars {
		if _, err := os.Stat(jar); err != nil {
			return fmt.Errorf("the TLC jar cannot be read: %w; download tla2tools.jar from the releases of github.com/tlaplus/tlaplus", err)
		}
	}
	return nil
}

// Check runs TLC with one worker, and keeps its files in a temporary folder.
func (r *Run) Check(ctx context.Context) (*Opinion, error) {
	if err := r.Ready(); err != nil {
		return nil, err
	}
	dir, err := os.MkdirTemp("", "tlc")
	if err != nil {
		return nil, err
	}
	defer os.RemoveAll(dir)
	o, err := r.run(ctx, dir, noGenerate)
	if err != nil && o != nil && strings.Contains(o.Said, "unrecognized option") && strings.Contains(o.Said, noGenerate) { // it is older than that option
		return r.run(ctx, dir)
	}
	return o, err
}

// run runs TLC once. The opinion has what it said also if there is an error.
func (r *Run) run(ctx context.Context, dir string, options ...string) (*Opinion, error) {
	spec, err := filepath.Abs(r.Spec)
	if err != nil {
		return nil, err
	}
	config, err := filepath.Abs(r.Config)
	if err != nil {
		return nil, err
	}
	args := append([]string{"-XX:+UseParallelGC"}, r.Java...)
	if len(r.Libraries) > 0 {
		args = append(args, "-DTLA-Library="+strings.Join(r.Libraries, string(filepath.ListSeparator)))
	}
	args = append(args, "-cp", strings.Join(r.Jars, string(filepath.ListSeparator)), "tlc2.TLC", "-tool", "-workers", "1",
		"-lncheck", "final", "-metadir", dir, "-config", config)
	if r.NoDeadlock {
		args = append(args, "-deadlock")
	}
	if r.Continue {
		args = append(args, "-continue")
	}
	args = append(append(append(args, options...), r.Options...), spec)
	c := exec.CommandContext(ctx, "java", args...)
	c.WaitDelay, c.Dir = time.Second, r.Dir
	var out bytes.Buffer
	c.Stdout, c.Stderr = &out, &out
	ran := c.Run()
	o := Read(out.String())
	if c.ProcessState != nil {
		o.CPU = c.ProcessState.UserTime() + c.ProcessState.SystemTime()
	}
	var exit *exec.ExitError
	switch {
	case ctx.Err() != nil:
		return o, fmt.Errorf("TLC was stopped before it finished: %w", ctx.Err())
	case ran != nil && !errors.As(ran, &exit):
		return o, fmt.Errorf("TLC cannot be run: %w", ran)
	case o.Version == "":
		return o, fmt.Errorf("%s does not contain TLC: %s", strings.Join(r.Jars, ", "), o.end())
	case len(o.Violations) == 0 && (ran != nil || !strings.Contains(o.Said, startOf(codeStatistics)) && len(r.Options) == 0):
		return o, fmt.Errorf("TLC gave no result:\n%s", o.end())
	}
	return o, nil
}

// end has the last lines of what TLC said, without its marks.
func (o *Opinion) end() string {
	var lines []string
	for _, line := range strings.Split(o.Said, "\n") {
		if line = strings.TrimRight(line, " \r"); line != "" && !strings.HasPrefix(line, mark) {
			lines = append(lines, line)
		}
	}
	return strings.Join(lines[max(0, len(lines)-mostSaid):], "\n")
}

// mark begins the lines by which TLC shows programs where a message begins and ends.
const mark = "@!@!@"

func startOf(code int) string { return fmt.Sprintf("%sSTARTMSG %d:", mark, code) }

var (
	startLine      = regexp.MustCompile(`^@!@!@STARTMSG (\d+):(\d+) @!@!@$`)
	statisticsText = regexp.MustCompile(`([\d,.]+) states generated, ([\d,.]+) distinct states found, ([\d,.]+) states left on queue`)
	depthText      = regexp.MustCompile(`depth of the complete state graph search is (\d+)`)
	nameText       = regexp.MustCompile(`^(?:Invariant|Action property|Property|Temporal property|Postcondition) (\S+) (?:is violated|was violated|at line)`)
)

// Read takes what TLC says with -tool apart.
func Read(said string) *Opinion {
	o := &Opinion{Said: said}
	code := 0
	var text []string
	ends := func() {
		o.message(code, strings.TrimSpace(strings.Join(text, "\n")))
		code, text = 0, nil
	}
	for line := range strings.Lines(said) {
		line = strings.TrimRight(line, "\r\n")
		switch {
		case startLine.MatchString(line):
			code, _ = strconv.Atoi(startLine.FindStringSubmatch(line)[1])
			text = nil
		case strings.HasPrefix(line, mark+"ENDMSG"):
			ends()
		case code != 0:
			text = append(text, line)
		}
	}
	return o
}

func (o *Opinion) message(code int, text string) {
	if kind, ok := kinds[code]; ok {
		v := Violation{Kind: kind}
		if m := nameText.FindStringSubmatch(text); m != nil {
			v.Name = m[1]
		}
		if code == codeInvariantInitial || code == codePropertyInitial {
			v.States = 1
		}
		if o.told++; o.told > 1 { // it went on after the first
			o.Violations[0].States, v.States = 0, 0
		}
		if !slices.ContainsFunc(o.Violations, func(w Violation) bool { return w.Kind == v.Kind && w.Name == v.Name }) {
			o.Violations = append(o.Violations, v)
		}
		return
	}
	switch code {
	case codeSuccess:
		o.Completed = true
	case codeVersion:
		o.Version = text
	case codeState:
		if o.told == 1 {
			o.Violations[0].States++
		}
	case codeStatistics:
		if m := statisticsText.FindStringSubmatch(text); m != nil {
			o.Generated, o.Distinct, o.Left = number(m[1]), number(m[2]), number(m[3])
		}
	case codeDepth:
		if m := depthText.FindStringSubmatch(text); m != nil {
			o.Depth = number(m[1])
		}
	}
}

// number reads a number whose digits may stand in groups.
func number(text string) int {
	n, _ := strconv.Atoi(strings.NewReplacer(",", "", ".", "").Replace(text))
	return n
}
