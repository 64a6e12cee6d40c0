//go:build linux && amd64

package main

import (
	"errors"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
)

func main() {
	write := flag.String("write", "", "also write the table into this `FILE`, between its two lines that name bench")
	only := flag.String("only", "", "make only the measurements whose `NAME` has this in it")
	where := flag.Bool("where", false, "print what the CPU time of runs goes into, instead of the table")
	first := flag.Bool("first", false, "print how soon known bugs are found with and without snapshots, instead of the table")
	flag.Parse()
	if err := run(*write, *only, *where, *first); err != nil {
		fmt.Fprintln(os.Stderr, "bench:", err)
		os.Exit(1)
	}
}

// row is a line of the table.
type row struct {
	what, measured, aim, detail string
}

// bench is where measurements find what they run.
type bench struct {
	program, loop, kv, dir string
}

// measurement makes some lines of the table. It answers errMissing where the machine lacks a program.
type measurement struct {
	name string
	make func(*bench) ([]row, error)
}

var measurements = []measurement{
	{"calls", (*bench).calls},
	{"outside", (*bench).against},
	{"quickstart", (*bench).quickstart},
	{"engines", (*bench).engines},
	{"switches", (*bench).switches},
	{"redis-failover", (*bench).failover},
	{"etcd", (*bench).etcd},
	{"forks", (*bench).forks},
	{"snapshots", (*bench).snapshots},
	{"debug", (*bench).debug},
	{"idle", (*bench).idle},
	{"loaded", (*bench).loaded},
	{"nodes", (*bench).nodes},
	{"history", (*bench).history},
	{"sdk", (*bench).sdk},
}

// errMissing is the error of a measurement whose program is not on this machine.
var errMissing = errors.New("not on this machine")

func run(write, only string, where, first bool) error {
	dir, err := os.MkdirTemp("", "bloodhound-bench-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	b := &bench{program: filepath.Join(dir, "bloodhound"), dir: dir, loop: filepath.Join(dir, "loop"), kv: filepath.Join(dir, "kv")}
	for program, source := range map[string]string{b.program: "../cmd/bloodhound", b.loop: "worlds/loop", b.kv: "../examples/quickstart/kv"} {
		if out, err := exec.Command("env", "CGO_ENABLED=0", "go", "-C", source, "build", "-o", program, ".").CombinedOutput(); err != nil {
			return fmt.Errorf("go build %s (run it in the folder bench): %w\n%s", source, err, out)
		}
	}
	if where {
		return b.where(only)
	}
	if first {
		return b.first(only)
	}
	table := fmt.Sprintf("Measured by `make bench` on: %s, %d CPUs, kernel %s, load average %s. One core runs one world.\n\n",
		cpuModel(), runtime.NumCPU(), word("/proc/sys/kernel/osrelease"), word("/proc/loadavg"))
	table += "| what | measured | aim | detail |\n|---|---|---|---|\n"
	fmt.Print(table)
	for _, m := range measurements {
		if !strings.Contains(m.name, only) {
			continue
		}
		rows, err := m.make(b)
		if errors.Is(err, errMissing) {
			rows = []row{{what: m.name, measured: "skipped", detail: err.Error()}}
		} else if err != nil {
			return fmt.Errorf("%s: %w", m.name, err)
		}
		for _, r := range rows {
			line := fmt.Sprintf("| %s | %s | %s | %s |\n", r.what, r.measured, r.aim, r.detail)
			fmt.Print(line)
			table += line
		}
	}
	if write == "" {
		return nil
	}
	return replace(write, table)
}

// The table is between these lines of a file.
const (
	tableBegins = "<!-- bench: made by `make bench` -->\n"
	tableEnds   = "<!-- bench: end -->\n"
)

func replace(path, table string) error {
	text, err := os.ReadFile(path)
	if err != nil {
		return err
	}
	before, rest, ok := strings.Cut(string(text), tableBegins)
	_, after, ended := strings.Cut(rest, tableEnds)
	if !ok || !ended {
		return fmt.Errorf("%s has no place for the table: put these two lines into it:\n%s%s", path, tableBegins, tableEnds)
	}
	return os.WriteFile(path, []byte(before+tableBegins+table+tableEnds+after), 0o644)
}

func installed(programs ...string) error {
	for _, p := range programs {
		if _, err := exec.LookPath(p); err != nil {
			return fmt.Errorf("%s is %w", p, errMissing)
		}
	}
	return nil
}

func word(path string) string {
	b, _ := os.ReadFile(path)
	if f := strings.Fields(string(b)); len(f) > 0 {
		return f[0]
	}
	return "unknown"
}

func cpuModel() string {
	b, _ := os.ReadFile("/proc/cpuinfo")
	for line := range strings.Lines(string(b)) {
		if name, ok := strings.CutPrefix(line, "model name"); ok {
			return strings.Trim(name, "\t :\n")
		}
	}
	return runtime.GOARCH
}
