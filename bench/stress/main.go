//go:build unix

// Command stress runs the stressors of stress-ng, one at a time, each alone in a world and once outside of worlds, and prints a table in
// Markdown of what each does there:
//
//	go -C bench run ./stress [-only NAME,NAME] [-write STRESS.md]
//
// It runs on Linux. It takes some twenty minutes. With -only, other rows of the file stay.
package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"syscall"
	"time"
)

// classes are those of stress-ng that are about a system rather than a processor.
var classes = []string{"os", "filesystem", "network", "scheduler", "pipe", "interrupt"}

// harmful are stressors that may change or exhaust the machine: they run in worlds alone.
var harmful = map[string]bool{
	"bigheap": true, "binderfs": true, "cpu-online": true, "forkheavy": true, "icmp-flood": true, "klog": true, "kvm": true, "loop": true, "memhotplug": true,
	"mmapfork": true, "oom-pipe": true, "pageswap": true, "ramfs": true, "rawpkt": true, "reboot": true, "resources": true, "softlockup": true, "swap": true,
	"sysinval": true, "tun": true, "udp-flood": true, "vforkmany": true, "vm-segv": true, "watchdog": true, "zombie": true,
}

// What a stressor is asked to do, and how long it may take: virtual, in a world and outside.
const (
	operations = "20"
	seconds    = "1"
	worldTime  = 2 * time.Minute
	realTime   = 20 * time.Second
)

func main() {
	only := flag.String("only", "", "run only the stressors of these `NAMES`")
	write := flag.String("write", "", "also write the table to this `FILE`")
	flag.Parse()
	if err := run(*only, *write); err != nil {
		fmt.Fprintln(os.Stderr, "stress:", err)
		os.Exit(1)
	}
}

func run(only, write string) error {
	dir, err := os.MkdirTemp("", "bloodhound-stress-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	if err := os.Chmod(dir, 0o755); err != nil {
		return err
	}
	program := filepath.Join(dir, "bloodhound")
	if out, err := exec.Command("go", "build", "-o", program, "../cmd/bloodhound").CombinedOutput(); err != nil {
		return fmt.Errorf("go build ../cmd/bloodhound (run it in the folder bench): %w\n%s", err, out)
	}
	version, err := exec.Command("stress-ng", "--version").Output()
	if err != nil {
		return fmt.Errorf("stress-ng is missing (on Debian: apt-get install stress-ng): %w", err)
	}
	short, _, _ := strings.Cut(string(version), "(")
	names, in, err := stressors()
	if err != nil {
		return err
	}
	rows := map[string]string{}
	if only != "" && write != "" {
		if rows, err = rowsOf(write); err != nil {
			return err
		}
	}
	fmt.Print(columns)
	for _, name := range names {
		if only != "" && !slices.Contains(strings.Split(only, ","), name) {
			continue
		}
		s := &stressor{name: name, program: program, dir: dir}
		if err := s.inside(); err != nil {
			return fmt.Errorf("%s: %w", name, err)
		}
		outside := "not run"
		if !harmful[name] {
			if s.outside, err = s.real(); err != nil {
				return fmt.Errorf("%s outside: %w", name, err)
			}
			outside = fmt.Sprint(s.outside)
		}
		what, why := s.judge()
		rows[name] = fmt.Sprintf("| %s | %s | %s | %s | %d, %s | %d |\n", name, strings.Join(in[name], ", "), what, why, s.code, outside, s.events)
		fmt.Print(rows[name])
	}
	if write == "" {
		return nil
	}
	table := columns
	counts := map[string]int{}
	for _, name := range slices.Sorted(maps.Keys(rows)) {
		table += rows[name]
		counts[strings.Split(rows[name], " | ")[2]]++
	}
	var summary []string
	for _, what := range verdicts {
		summary = append(summary, fmt.Sprintf("%s %d", what, counts[what]))
	}
	return os.WriteFile(write, fmt.Appendf(nil, head, strings.TrimSpace(short), operations, seconds, worldTime.Minutes(),
		strings.Join(summary, ", "), table), 0o644)
}

const columns = "| stressor | classes | in a world | why, or without what | exit codes: world, outside | events |\n|---|---|---|---|---|---|\n"

// rowsOf are the rows of a table that was written before, by stressor.
func rowsOf(file string) (map[string]string, error) {
	text, err := os.ReadFile(file)
	if err != nil {
		return nil, err
	}
	rows := map[string]string{}
	for line := range strings.Lines(string(text)) {
		if name, rest, ok := strings.Cut(strings.TrimPrefix(line, "| "), " | "); ok && strings.Count(rest, " | ") == 4 && name != "stressor" {
			rows[name] = line
		}
	}
	return rows, nil
}

const head = `# stress-ng in a world

Made by ` + "`go -C bench run ./stress -write STRESS.md`" + ` with %s. Each stressor of the classes
os, filesystem, network, scheduler, pipe and interrupt runs with one instance, %s operations and at most %s s, as root, alone on a node with a
memory limit of 1 GiB and %g minutes of real time, twice; and, where it cannot harm the machine, once outside as an ordinary user. It *works* if stress-ng ends with exit code 0 in the world and was refused nothing; *in part*
if it ends so though calls were refused, which are named; it is *refused* if it ends otherwise because of such calls; *as outside* if it ends
otherwise and does so outside, too; it *fails* if it does so in the world alone. *Not reproducible* says that the run reports it.
*Limit* is a run that a limit of the world has ended.

What users would expect of the odd ones, and why they are as they are:

- *vdso, x86syscall*: a loop counts while it waits for the alarm, without a call and without a clock. How far it comes depends on the machine (docs/reference/limits.md, spins).
- *mmapfork*: its processes want more memory together than a world may have, or than the machine gives.
- *aiol, io-uring*: io_setup and io_uring_setup are not there (ENOSYS), as on kernels without them; libraries fall back to threads.
- *bind-mount, binderfs, swap, reboot*: mounts, swap and a reboot are refused, as in a container without privileges. *netlink-proc, netlink-task*: connectors of the kernel are not there. *icmp-flood, rawpkt, rawsock, rawudp*: raw sockets are refused.
- *pty*: there are no terminals. *pci*: there are no PCI devices, and stress-ng takes that for a lack of resources.
- *sysfs*: its child is killed in the world and outside.
- A *limit* of real time is the machine's: these change memory maps some hundred thousand times, and each change is a stop. With more time madvise ends, too, and says that it repeats.

%s.

%s`

const (
	works, part, refused, alike, fails, unrepeatable, limited, differs = "works", "in part", "refused", "as outside", "fails",
		"not reproducible", "limit", "DIFFERS"
)

var verdicts = []string{works, part, refused, alike, fails, unrepeatable, limited, differs}

// stressors lists the stressors of all classes, and the classes of each.
func stressors() (names []string, in map[string][]string, err error) {
	in = map[string][]string{}
	for _, class := range classes {
		out, err := exec.Command("stress-ng", "--class", class+"?").Output()
		if err != nil {
			return nil, nil, fmt.Errorf("stress-ng --class %s?: %w", class, err)
		}
		_, list, ok := strings.Cut(string(out), ":")
		if !ok {
			return nil, nil, fmt.Errorf("stress-ng --class %s? says %q", class, out)
		}
		for _, name := range strings.Fields(list) {
			if in[name] == nil {
				names = append(names, name)
			}
			in[name] = append(in[name], class)
		}
	}
	slices.Sort(names)
	return names, in, nil
}

// stressor is one of them, and what it did.
type stressor struct {
	name, program, dir string

	code, outside int
	events        uint64
	reason        string // why the run ended
	detail        string
	unrepeatable  string
	refused       []string
	hashes        []string
	said          []string // warnings and failures of stress-ng
}

func (s *stressor) command() []string {
	argv := []string{"stress-ng", "--" + s.name, "1", "-t", seconds, "--no-rand-seed"}
	if s.name != "binderfs" { // which has no such option
		argv = append(argv, "--"+s.name+"-ops", operations)
	}
	return argv
}

// document is what is read of run --json.
type document struct {
	Error string `json:"error"`
	Run   *struct {
		Hash   string `json:"hash"`
		Reason string `json:"reason"`
		Detail string `json:"detail"`
		Events uint64 `json:"events"`
		Repeat struct {
			Reproducible bool   `json:"reproducible"`
			Reason       string `json:"reason"`
		} `json:"repeat"`
		Refused []struct {
			Call, Errno string
		} `json:"refused"`
		Verdicts []struct {
			Reason   string   `json:"reason"`
			Evidence []string `json:"evidence"`
		} `json:"verdicts"`
	} `json:"run"`
}

var (
	ended = regexp.MustCompile(` on n: \S*stress-ng ended (?:with exit code |by )(\S+)`)
	said  = regexp.MustCompile(`stress-ng: (?:fail|warn|error): +\[\d+\] (.*)|stress-ng: info: +\[\d+\] (.*(?:skip|not (?:implemented|supported|available)).*)`)
)

// inside runs it in a world: once for the facts, and once for what it says.
func (s *stressor) inside() error {
	project := filepath.Join(s.dir, s.name)
	defer os.RemoveAll(project)
	if err := os.Mkdir(project, 0o755); err != nil {
		return err
	}
	words, err := json.Marshal(append(s.command(), "--pathological"))
	if err != nil {
		return err
	}
	config := fmt.Sprintf("nodes:\n  n: {command: %s, restart: \"no\", mem_limit: 1g}\nsimulation: {max_time: 20s, limits: "+
		"{wall_time: %s, memory_bytes: 3000000000}}\n", words, worldTime)
	if err := os.WriteFile(filepath.Join(project, "bloodhound.yaml"), []byte(config), 0o644); err != nil {
		return err
	}
	out, err := s.output(2*worldTime, s.program, "run", "--json", project)
	if err != nil {
		return err
	}
	var d document
	if err := json.Unmarshal(out, &d); err != nil {
		return fmt.Errorf("no document: %w\n%s", err, out)
	}
	if d.Run == nil {
		s.reason, s.detail = "no run", d.Error
		return nil
	}
	s.events, s.reason, s.detail = d.Run.Events, d.Run.Reason, d.Run.Detail
	if !d.Run.Repeat.Reproducible {
		s.unrepeatable = d.Run.Repeat.Reason
	}
	for _, r := range d.Run.Refused {
		call := r.Call
		if r.Errno != "" {
			call += " (" + r.Errno + ")"
		}
		s.refused = append(s.refused, call)
	}
	for _, v := range d.Run.Verdicts {
		if m := ended.FindStringSubmatch(v.Reason); m != nil {
			if _, err := fmt.Sscan(m[1], &s.code); err != nil {
				s.code = 128
			}
		}
	}
	log, err := s.output(2*worldTime, s.program, "run", "--logs", project)
	if err != nil {
		return err
	}
	for _, m := range said.FindAllStringSubmatch(string(log), -1) {
		if line := strings.TrimSpace(m[1] + m[2]); !slices.Contains(s.said, line) {
			s.said = append(s.said, line)
		}
	}
	if m := regexp.MustCompile(`NOT reproducible: (.*)`).FindSubmatch(log); m != nil {
		s.unrepeatable = string(m[1])
	}
	s.hashes = []string{d.Run.Hash}
	if m := regexp.MustCompile(`trace hash ([0-9a-f]+)`).FindSubmatch(log); m != nil {
		s.hashes = append(s.hashes, string(m[1]))
	}
	return nil
}

// output runs a program and gives what it prints, whatever its exit code.
func (s *stressor) output(limit time.Duration, argv ...string) ([]byte, error) {
	ctx, cancel := context.WithTimeout(context.Background(), limit)
	defer cancel()
	c := exec.CommandContext(ctx, argv[0], argv[1:]...)
	var out bytes.Buffer
	c.Stdout = &out
	err := c.Run()
	var exit *exec.ExitError
	if err != nil && !errors.As(err, &exit) {
		return nil, err
	}
	if ctx.Err() != nil {
		return nil, fmt.Errorf("it did not end within %v", limit)
	}
	return out.Bytes(), nil
}

// nobody is an ordinary user.
const nobody = 65534

// real runs it outside of worlds, as an ordinary user, and gives its exit code.
func (s *stressor) real() (int, error) {
	dir, err := os.MkdirTemp(s.dir, "outside-")
	if err != nil {
		return 0, err
	}
	defer os.RemoveAll(dir)
	ctx, cancel := context.WithTimeout(context.Background(), realTime)
	defer cancel()
	argv := s.command()
	c := exec.CommandContext(ctx, argv[0], argv[1:]...)
	c.Dir = dir
	c.WaitDelay = time.Second
	c.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	c.Cancel = func() error { return syscall.Kill(-c.Process.Pid, syscall.SIGKILL) }
	if os.Getuid() == 0 {
		if err := os.Chown(dir, nobody, nobody); err != nil {
			return 0, err
		}
		c.SysProcAttr.Credential = &syscall.Credential{Uid: nobody, Gid: nobody}
	}
	err = c.Run()
	var exit *exec.ExitError
	if err != nil && !errors.As(err, &exit) {
		return 0, err
	}
	return c.ProcessState.ExitCode(), nil
}

// most bounds how many refused calls are named.
const most = 4

// judge reports in a word how the run ended, and why.
func (s *stressor) judge() (what, why string) {
	calls := strings.Join(s.refused[:min(len(s.refused), most)], ", ")
	if n := len(s.refused) - most; n > 0 {
		calls += fmt.Sprintf(" and %d more", n)
	}
	last := ""
	if len(s.said) > 0 {
		last = s.said[0]
	}
	switch {
	case s.reason == "limit":
		what, why = limited, s.detail
	case s.unrepeatable != "":
		what, why = unrepeatable, s.unrepeatable
	case len(s.hashes) == 2 && s.hashes[0] != s.hashes[1]:
		what, why = differs, "two runs of a tape, "+strings.Join(s.hashes, " and ")
	case s.reason != "finished":
		what, why = limited, s.reason+": "+s.detail
	case s.code == 0 && calls == "":
		what, why = works, last
	case s.code == 0:
		what, why = part, calls
	case !harmful[s.name] && s.outside == s.code:
		what, why = alike, last
	case calls != "":
		what, why = refused, calls
	case !harmful[s.name] && s.outside != 0:
		what, why = alike, last
	default:
		what, why = fails, last
	}
	return what, strings.ReplaceAll(why, "|", "\\|")
}
