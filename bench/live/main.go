// Command live compares how soon a bug behind rare conditions is found: by `bloodhound live test`, by random inputs, and by `go
// test -fuzz`, each for the same time on the same machine.
//
//	go -C bench run ./live -time 60s
//	go -C bench run ./live -time 60s -handlers   # those of examples/handlers, with what each method covers
package main

import (
	"errors"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"time"
)

// needles are the functions of testdata/needles, in its order.
var needles = []string{"route", "text", "hash", "states", "filter"}

func main() {
	limit := flag.Duration("time", time.Minute, "for each method and needle")
	handlers := flag.Bool("handlers", false, "compare with the handlers of examples/handlers")
	flag.Parse()
	run := compare
	if *handlers {
		run = compareHandlers
	}
	if err := run(*limit); err != nil {
		fmt.Fprintln(os.Stderr, "live:", err)
		os.Exit(1)
	}
}

// outcome is how a method fared with a needle.
type outcome struct {
	found string // seconds, or "" if it was not
	tries string
}

func (o outcome) String() string {
	if o.found == "" {
		return "not in " + o.tries + " tries"
	}
	return o.found + " s, " + o.tries + " tries"
}

func compare(limit time.Duration) error {
	dir, err := os.MkdirTemp("", "needles-*")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	if err := copyModule(dir); err != nil {
		return err
	}
	tool, err := build(dir)
	if err != nil {
		return err
	}
	solved, err := own(dir, limit, tool, "test", "--run", "TestLive", ".")
	if err != nil {
		return err
	}
	random, err := own(dir, limit, "go", "test", "-timeout", "0", "-v", "-run", "TestRandom", ".")
	if err != nil {
		return err
	}
	fmt.Printf("| needle | `bloodhound live test` | random inputs | `go test -fuzz` |\n|---|---|---|---|\n")
	for _, n := range needles {
		fuzzed, err := fuzz(dir, limit, n)
		if err != nil {
			return err
		}
		fmt.Printf("| %s | %v | %v | %v |\n", n, solved[n], random[n], fuzzed)
	}
	return nil
}

// build builds the command in a folder.
func build(dir string) (tool string, err error) {
	tool = filepath.Join(dir, "bloodhound-live")
	if out, err := exec.Command("go", "-C", "../live", "build", "-o", tool, "./cmd/bloodhound-live").CombinedOutput(); err != nil {
		return "", fmt.Errorf("%w\n%s", err, out)
	}
	return tool, nil
}

// copyModule copies the needles to a folder: the fuzzer leaves files beside the tests.
func copyModule(dir string) error {
	root, err := filepath.Abs("..")
	if err != nil {
		return err
	}
	from := filepath.Join(root, "bench", "live", "testdata", "needles")
	if err := os.CopyFS(dir, os.DirFS(from)); err != nil {
		return fmt.Errorf("run it in the folder bench: %w", err)
	}
	out, err := execute(exec.Command("go", "mod", "edit", "-replace=github.com/bloodhound-dst/bloodhound="+root,
		"-replace=github.com/bloodhound-dst/bloodhound/live="+filepath.Join(root, "live")), dir)
	if err != nil {
		return fmt.Errorf("%w\n%s", err, out)
	}
	return nil
}

// execute runs a command in a folder. That it reports a failed test is no error: a needle that was found is one.
func execute(c *exec.Cmd, dir string) (string, error) {
	c.Dir = dir
	out, err := c.CombinedOutput()
	var exit *exec.ExitError
	if errors.As(err, &exit) {
		err = nil
	}
	return string(out), err
}

var (
	name    = regexp.MustCompile(`=== RUN +Test\w+/(\w+)`)
	result  = regexp.MustCompile(`needle: ([0-9.]+) (\d+) `)
	elapsed = regexp.MustCompile(`elapsed: (\d+)s, execs: (\d+)`)
)

// own runs tests of the needles that print their outcome.
func own(dir string, limit time.Duration, command ...string) (map[string]outcome, error) {
	c := exec.Command(command[0], command[1:]...)
	c.Env = append(os.Environ(), "NEEDLES_TIME="+limit.String())
	out, err := execute(c, dir)
	if err != nil {
		return nil, err
	}
	outcomes, current := map[string]outcome{}, ""
	for line := range strings.Lines(out) {
		if m := name.FindStringSubmatch(line); m != nil {
			current = m[1]
		}
		if m := result.FindStringSubmatch(line); m != nil {
			o := outcome{m[1], m[2]}
			if o.found == "0.0000" {
				o.found = ""
			}
			outcomes[current] = o
		}
	}
	if len(outcomes) != len(needles) {
		return nil, fmt.Errorf("%v has %d outcomes instead of %d:\n%s", command, len(outcomes), len(needles), out)
	}
	return outcomes, nil
}

// fuzz runs the fuzzer of Go on a needle.
func fuzz(dir string, limit time.Duration, needle string) (o outcome, err error) {
	begun := time.Now()
	target := "Fuzz" + strings.ToUpper(needle[:1]) + needle[1:]
	out, err := execute(exec.Command("go", "test", "-run", "^$", "-fuzz", "^"+target+"$", "-fuzztime", limit.String(), "."), dir)
	if err != nil {
		return o, err
	}
	all := elapsed.FindAllStringSubmatch(out, -1)
	if len(all) == 0 {
		return o, fmt.Errorf("the fuzzer reports nothing:\n%s", out)
	}
	o.tries = all[len(all)-1][2]
	if strings.Contains(out, "Failing input written") {
		o.found = fmt.Sprintf("%.1f", time.Since(begun).Seconds())
	}
	return o, nil
}
