//go:build linux

// Command screens records what explore, run, replay and test show at their end, on terminals of 80 and of 150 columns, for a violation, a clean campaign, one
// without a verdict and one that is interrupted. It compares two builds of bloodhound, and writes bench/SCREENS.md:
//
//	go -C bench run ./screens -before OLD -after NEW -write SCREENS.md
package main

import (
	"bytes"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"syscall"
	"time"
	"unicode/utf8"

	"golang.org/x/sys/unix"

	"github.com/bloodhound-dst/bloodhound/internal/plural"
)

func main() {
	before := flag.String("before", "", "the older `PROGRAM`; without one, only the newer is recorded")
	after := flag.String("after", "bin/bloodhound", "the newer `PROGRAM`")
	write := flag.String("write", "", "write the document into this `FILE` instead of standard output")
	flag.Parse()
	if err := record(*before, *after, *write); err != nil {
		fmt.Fprintln(os.Stderr, "screens:", err)
		os.Exit(1)
	}
}

// scene is a command and the project that it is about.
type scene struct {
	title   string
	verb    string
	project string
	args    []string // ID stands for the failure that explore has found in the project
	stop    time.Duration
}

const failureID = "ID"

// scenes are in an order in which the failure that replay takes is there.
var scenes = []scene{
	{"a violation", "explore", "kv", []string{"--seeds", "200"}, 0},
	{"a violation", "run", "kv", []string{"--seed", "48"}, 0},
	{"a violation", "replay", "kv", []string{failureID}, 0},
	{"a violation", "test", "kv", []string{"--seeds", "100"}, 0},
	{"interrupted", "replay", "kv", []string{failureID}, 100 * time.Millisecond},
	{"clean", "explore", "fixed", []string{"--seeds", "20"}, 0},
	{"clean", "run", "fixed", nil, 0},
	{"clean", "test", "fixed", []string{"--seeds", "20"}, 0},
	{"clean", "replay", "repaired", []string{"--all"}, 0},
	{"unknown", "explore", "dead", []string{"--seeds", "20"}, 0},
	{"unknown", "run", "dead", nil, 0},
	{"unknown", "test", "dead", []string{"--seeds", "20"}, 0},
	{"interrupted", "explore", "fixed", []string{"--seeds", "2000"}, 3 * time.Second},
	{"interrupted", "test", "fixed", []string{"--seeds", "2000"}, 3 * time.Second},
	{"interrupted", "run", "long", nil, 2 * time.Second},
}

// widths are the columns of the terminals.
var widths = []int{80, 150}

// shown is what a command has shown.
type shown struct {
	text string
	code int
}

func record(before, after, write string) error {
	out := io.Writer(os.Stdout)
	builds := []string{after}
	if before != "" {
		builds = append(builds, before)
	}
	screens := map[string]shown{}
	for _, program := range builds {
		if err := recordBuild(program, screens); err != nil {
			return err
		}
	}
	var b strings.Builder
	document(&b, before, after, screens)
	if write != "" {
		return os.WriteFile(write, []byte(b.String()), 0o666)
	}
	_, err := io.WriteString(out, b.String())
	return err
}

func key(program string, columns int, s *scene) string {
	return fmt.Sprintf("%s %d %s %s", program, columns, s.verb, s.title)
}

// recordBuild records all scenes of a build, each width in fresh projects.
func recordBuild(program string, screens map[string]shown) error {
	program, err := filepath.Abs(program)
	if err != nil {
		return err
	}
	for _, columns := range widths {
		dir, err := os.MkdirTemp("", "screens")
		if err != nil {
			return err
		}
		defer os.RemoveAll(dir)
		if err := projects(dir); err != nil {
			return err
		}
		for i := range scenes {
			s := &scenes[i]
			screen, err := play(program, dir, columns, s)
			if err != nil {
				return fmt.Errorf("%s of %s: %w", s.verb, s.project, err)
			}
			screens[key(program, columns, s)] = screen
			if s.verb == "explore" && s.project == "kv" {
				if err := repair(dir); err != nil {
					return err
				}
			}
		}
	}
	return nil
}

// projects makes the folders of the scenes: the store of the quickstart, the same without its bug, the same for a long time, and a server that cannot start.
func projects(dir string) error {
	store := filepath.Join(dir, "store")
	if text, err := exec.Command("go", "-C", "../examples/quickstart/kv", "build", "-o", store, ".").CombinedOutput(); err != nil {
		return fmt.Errorf("%w: %s", err, text)
	}
	build := regexp.MustCompile(`(?m)^ +build: .*\n`)
	long := strings.NewReplacer("max_time: 60s", "max_time: 3000s", "max_operations: 100\n", "max_operations: 100000\n", "duration: 10s", "duration: 2000s")
	for name, of := range map[string]string{"kv": "bloodhound.yaml", "fixed": "fixed.yaml", "long": "fixed.yaml"} {
		text, err := os.ReadFile(filepath.Join("../examples/quickstart", of))
		if err != nil {
			return err
		}
		folder := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Join(folder, ".bloodhound", "bin"), 0o777); err != nil {
			return err
		}
		config := build.ReplaceAllString(string(text), "")
		if name == "long" {
			config = long.Replace(config)
		}
		if err := os.WriteFile(filepath.Join(folder, "bloodhound.yaml"), []byte(config), 0o666); err != nil {
			return err
		}
		if err := copyFile("../examples/quickstart/has-leader.sh", filepath.Join(folder, "has-leader.sh")); err != nil {
			return err
		}
		if err := copyFile(store, filepath.Join(folder, ".bloodhound", "bin", "kv")); err != nil {
			return err
		}
	}
	return os.CopyFS(filepath.Join(dir, "dead"), os.DirFS("../internal/cli/testdata/screens/dead"))
}

func copyFile(from, to string) error {
	b, err := os.ReadFile(from)
	if err != nil {
		return err
	}
	return os.WriteFile(to, b, 0o755)
}

// repair copies the project with the bug as one in which it is repaired, with its failure.
func repair(dir string) error {
	repaired := filepath.Join(dir, "repaired")
	if err := os.CopyFS(repaired, os.DirFS(filepath.Join(dir, "kv"))); err != nil {
		return err
	}
	name := filepath.Join(repaired, "bloodhound.yaml")
	text, err := os.ReadFile(name)
	if err != nil {
		return err
	}
	return os.WriteFile(name, []byte(strings.ReplaceAll(string(text), "-ack-by index", "-ack-by entry")), 0o666)
}

// play executes the command of a scene on a terminal.
func play(program, dir string, columns int, s *scene) (shown, error) {
	args := append([]string{s.verb}, s.args...)
	if i := slices.Index(args, failureID); i >= 0 {
		id, err := failureOf(filepath.Join(dir, s.project))
		if err != nil {
			return shown{}, err
		}
		args[i] = id
	}
	args = append(args, s.project)
	screen, terminal, err := openTerminal(columns)
	if err != nil {
		return shown{}, err
	}
	defer screen.Close()
	cmd := exec.Command(program, args...)
	cmd.Dir = dir
	cmd.Env = append(os.Environ(), "CI=", "GITHUB_ACTIONS=", "TERM=xterm-256color", "BLOODHOUND_AS_ROOT=1")
	var messages bytes.Buffer
	cmd.Stdin, cmd.Stdout, cmd.Stderr = terminal, terminal, &messages
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true, Setctty: true}
	if err := cmd.Start(); err != nil {
		return shown{}, err
	}
	terminal.Close()
	if s.stop > 0 {
		stop := time.AfterFunc(s.stop, func() { cmd.Process.Signal(os.Interrupt) })
		defer stop.Stop()
	}
	var text strings.Builder
	// When the last process has closed the terminal, and everything was read, the other side answers EIO (pty(7)).
	if _, err := io.Copy(&text, screen); err != nil && !errors.Is(err, syscall.EIO) {
		return shown{}, err
	}
	cmd.Wait()
	screenText := strings.ReplaceAll(text.String(), "\r\n", "\n")
	if screenText == "" { // all that it says is a message
		screenText = messages.String()
	}
	return shown{screenText, cmd.ProcessState.ExitCode()}, nil
}

// failureOf is the id of the failure that a project has.
func failureOf(project string) (string, error) {
	names, err := filepath.Glob(filepath.Join(project, ".bloodhound", "failures", "*.json"))
	if err != nil || len(names) == 0 {
		return "", fmt.Errorf("%s has no failure", project)
	}
	return strings.TrimSuffix(filepath.Base(names[0]), ".json"), nil
}

// openTerminal makes a terminal: the side of its screen, and that of programs.
func openTerminal(columns int) (screen, terminal *os.File, err error) {
	screen, err = os.OpenFile("/dev/ptmx", os.O_RDWR, 0)
	if err != nil {
		return nil, nil, err
	}
	number, err := unix.IoctlGetInt(int(screen.Fd()), unix.TIOCGPTN)
	if err == nil {
		err = unix.IoctlSetPointerInt(int(screen.Fd()), unix.TIOCSPTLCK, 0)
	}
	if err == nil {
		err = unix.IoctlSetWinsize(int(screen.Fd()), unix.TIOCSWINSZ, &unix.Winsize{Row: 50, Col: uint16(columns)})
	}
	if err == nil {
		terminal, err = os.OpenFile(fmt.Sprintf("/dev/pts/%d", number), os.O_RDWR|syscall.O_NOCTTY, 0)
	}
	if err != nil {
		screen.Close()
		return nil, nil, err
	}
	return screen, terminal, nil
}

var colours = regexp.MustCompile("\x1b\\[[0-9;?]*[a-zA-Z]")

// plain is what a terminal shows, without colours.
func plain(text string) string { return colours.ReplaceAllString(text, "") }

// measure counts the lines of a text, and the columns of the longest.
func measure(text string) (lines, columns int) {
	for line := range strings.Lines(plain(text)) {
		lines++
		columns = max(columns, utf8.RuneCountInString(strings.TrimRight(line, "\r\n")))
	}
	return lines, columns
}

func document(b *strings.Builder, before, after string, screens map[string]shown) {
	fmt.Fprintf(b, `# Screens

What %s show on standard output at their end, on a terminal, recorded by

    go -C bench run ./screens -before OLD -after ../bin/bloodhound -write SCREENS.md

The store is that of the quickstart; `+"`fixed` is the same without its bug, `long` runs for 2,000 s of virtual time, and `dead`"+` is a server that ends at its start.
A screen has at most 24 lines. All but commands fit into 80 columns, whatever the width of the terminal. Times differ from machine to machine.
The clean replay is `+"`replay --all`"+` after the repair, which prints a line for each failure and no screen; an interrupted replay prints a message.

## Lines and longest line

`, "`explore`, `run`, `replay` and `test`")
	old, _ := filepath.Abs(before)
	now, _ := filepath.Abs(after)
	b.WriteString("| command | case | before, 80 columns | before, 150 | after, 80 | after, 150 |\n|---|---|---|---|---|---|\n")
	for i := range scenes {
		s := &scenes[i]
		fmt.Fprintf(b, "| %s | %s |", s.verb, s.title)
		for _, program := range []string{old, now} {
			for _, columns := range widths {
				screen, recorded := screens[key(program, columns, s)]
				if !recorded {
					b.WriteString(" - |")
					continue
				}
				lines, longest := measure(screen.text)
				fmt.Fprintf(b, " %s, %s |", plural.Count(lines, "line"), plural.Count(longest, "column"))
			}
		}
		b.WriteString("\n")
	}
	b.WriteString("\n## After\n")
	for i := range scenes {
		s := &scenes[i]
		screen := screens[key(now, widths[0], s)]
		fmt.Fprintf(b, "\n%s, %s (exit code %d):\n\n%s", s.verb, s.title, screen.code, block(screen.text))
	}
	if first := &scenes[0]; before != "" {
		fmt.Fprintf(b, "\n## Before\n\n%s, %s:\n\n%s", first.verb, first.title, block(screens[key(old, widths[0], first)].text))
	}
}

// block indents a text as Markdown has literal ones.
func block(text string) string {
	var b strings.Builder
	for line := range strings.Lines(plain(text)) {
		if line = strings.TrimRight(line, " \r\n"); line != "" {
			line = "    " + line
		}
		b.WriteString(line + "\n")
	}
	return b.String()
}
