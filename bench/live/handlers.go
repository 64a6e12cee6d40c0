package main

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"time"
)

// handler is an example whose handler the methods explore.
type handler struct {
	name       string
	test, fuzz string
	instrument []string
	covered    string // the packages of the handler
	prepare    func(root, dir string) error
}

var handlers = []handler{
	{"raft", "TestStep", "FuzzStep", []string{"--instrument", "./...", "--instrument", "go.etcd.io/raft/v3/..."},
		"go.etcd.io/raft/v3", func(root, dir string) error {
			return run(filepath.Join(root, "examples", "handlers", "raft"), "go", "run", "./seed", dir)
		}},
	{"dns", "TestAnswer", "FuzzAnswer", nil, ".", func(root, dir string) error {
		if err := os.CopyFS(dir, os.DirFS(filepath.Join(root, "examples", "handlers", "dns"))); err != nil {
			return err
		}
		const own = "github.com/bloodhound-dst/bloodhound"
		return run(dir, "go", "mod", "edit", "-replace="+own+"="+root, "-replace="+own+"/live="+filepath.Join(root, "live"))
	}},
}

func run(dir, name string, args ...string) error {
	c := exec.Command(name, args...)
	c.Dir = dir
	if out, err := c.CombinedOutput(); err != nil {
		return fmt.Errorf("%s %s: %w\n%s", name, strings.Join(args, " "), err, out)
	}
	return nil
}

func compareHandlers(limit time.Duration) error {
	root, err := filepath.Abs("..")
	if err != nil {
		return err
	}
	dir, err := os.MkdirTemp("", "handlers-*")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	tool, err := build(dir)
	if err != nil {
		return err
	}
	fmt.Printf("| handler | method | tries | a second | found after | blocks covered |\n|---|---|---|---|---|---|\n")
	for _, h := range handlers {
		folder := filepath.Join(dir, h.name)
		if err := h.prepare(root, folder); err != nil {
			return err
		}
		for _, method := range []func(string, string, time.Duration) (row, error){h.solved, h.random, h.fuzzed} {
			r, err := method(folder, tool, limit)
			if err != nil {
				return err
			}
			fmt.Printf("| %s | %s | %d | %.0f | %s | %s |\n", h.name, r.method, r.tries, float64(r.tries)/r.took.Seconds(), r.found, r.covered)
		}
	}
	return nil
}

// row is what a method did with a handler.
type row struct {
	method         string
	tries          int
	took           time.Duration
	found, covered string
}

var (
	searched = regexp.MustCompile(`live: (\d+) paths in (\S+) \(`)
	atPath   = regexp.MustCompile(`\(path (\d+), and`)
	drawn    = regexp.MustCompile(`(?:after|not found in) (\d+) tries(?: and ([0-9.]+) s)?`)
	blocks   = regexp.MustCompile(`coverage: ([0-9.]+%)`)
)

func (h *handler) solved(dir, tool string, limit time.Duration) (row, error) {
	r := row{method: "`bloodhound live test`", found: "no"}
	inputs := filepath.Join(dir, "inputs.json")
	c := exec.Command(tool, append([]string{"test", "--run", h.test}, h.instrument...)...)
	c.Env = append(os.Environ(), "HANDLER_TIME="+limit.String(), "HANDLER_INPUTS="+inputs)
	out, err := execute(c, dir)
	if err != nil {
		return r, err
	}
	m := searched.FindStringSubmatch(out)
	if m == nil {
		return r, fmt.Errorf("no search of %s:\n%s", h.name, out)
	}
	r.tries, _ = strconv.Atoi(m[1])
	if r.took, err = time.ParseDuration(m[2]); err != nil {
		return r, err
	}
	if m := atPath.FindStringSubmatch(out); m != nil {
		n, _ := strconv.Atoi(m[1])
		r.found = fmt.Sprintf("path %d, about %.2f s", n, r.took.Seconds()*float64(n)/float64(r.tries))
	}
	r.covered, err = h.cover(dir, "TestReplay", "HANDLER_INPUTS="+inputs)
	return r, err
}

func (h *handler) random(dir, _ string, limit time.Duration) (row, error) {
	r := row{method: "random inputs", found: "no", took: limit}
	c := exec.Command("go", "test", "-timeout", "0", "-v", "-run", "TestRandom", "-coverpkg", h.covered, ".")
	c.Env = append(os.Environ(), "HANDLER_TIME="+limit.String())
	out, err := execute(c, dir)
	if err != nil {
		return r, err
	}
	m := drawn.FindStringSubmatch(out)
	if m == nil {
		return r, fmt.Errorf("no random inputs for %s:\n%s", h.name, out)
	}
	r.tries, _ = strconv.Atoi(m[1])
	if m[2] != "" {
		r.found = m[2] + " s"
		if r.took, err = time.ParseDuration(m[2] + "s"); err != nil {
			return r, err
		}
	}
	if m := blocks.FindStringSubmatch(out); m != nil {
		r.covered = m[1]
	}
	return r, nil
}

func (h *handler) fuzzed(dir, _ string, limit time.Duration) (row, error) {
	r := row{method: "`go test -fuzz`", found: "no", took: limit}
	cache := filepath.Join(dir, "cache")
	corpus := filepath.Join(dir, "testdata", "fuzz", h.fuzz)
	begun := time.Now()
	out, err := execute(exec.Command("go", "test", "-run", "^$", "-fuzz", "^"+h.fuzz+"$", "-fuzztime", limit.String(), "-test.fuzzcachedir", cache, "."), dir)
	if err != nil {
		return r, err
	}
	all := elapsed.FindAllStringSubmatch(out, -1)
	if len(all) == 0 {
		return r, fmt.Errorf("the fuzzer reports nothing:\n%s", out)
	}
	r.tries, _ = strconv.Atoi(all[len(all)-1][2])
	if strings.Contains(out, "Failing input written") {
		r.took = time.Since(begun)
		r.found = fmt.Sprintf("%.1f s", r.took.Seconds())
		if err := os.RemoveAll(corpus); err != nil { // the failing one, which ends a run
			return r, err
		}
	}
	found := filepath.Join(cache, h.fuzz)
	if _, err := os.Stat(found); err == nil {
		if err := os.CopyFS(corpus, os.DirFS(found)); err != nil && !errors.Is(err, os.ErrExist) {
			return r, err
		}
	}
	r.covered, err = h.cover(dir, h.fuzz)
	return r, err
}

// cover is how many blocks of the handler's package a test covers.
func (h *handler) cover(dir, test string, env ...string) (string, error) {
	c := exec.Command("go", "test", "-count=1", "-run", "^"+test+"$", "-coverpkg", h.covered, ".")
	c.Env = append(os.Environ(), env...)
	out, err := execute(c, dir)
	if err != nil {
		return "", err
	}
	m := blocks.FindStringSubmatch(out)
	if m == nil {
		return "", fmt.Errorf("no coverage of %s:\n%s", test, out)
	}
	return m[1], nil
}
