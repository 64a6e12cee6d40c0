//go:build unix

// Command tlc measures package tla side by side with TLC, in one run and with one worker each, and prints a table in Markdown:
//
//	go -C bench run ./tlc -jar tla2tools.jar[:CommunityModules.jar] [-raft FOLDER] CHECKOUT
//	go -C bench run ./tlc -jar tla2tools.jar [-from N] -random 10000 > bench/tlc/random/testdata/random.txt
//	go -C bench run ./tlc -jar tla2tools.jar -family behaviours -random 20000 > answers
//	go -C bench run ./tlc -family behaviours -table answers > bench/tlc/random/testdata/behaviours.txt
//	go -C bench run ./tlc -jar tla2tools.jar -cases tlc/cases/testdata/cases.txt
//	go -C bench run ./tlc -jar tla2tools.jar[:CommunityModules.jar] -models FOLDER > bench/tlc/models/testdata/models.txt
//
// The second form writes what TLC finds in specifications made at random, the third a table of it with digests, the last what it
// finds in the models of a folder. Tests compare both with their own answers. The fourth adds TLC's answers to the cases of a
// file that have none.
//
// CHECKOUT is one of github.com/tlaplus/Examples; FOLDER is tla of the module go.etcd.io/raft/v3, which examples/inprocess/raft uses. Rates
// are per second of CPU time, of all threads: that of the Java virtual machine has its start, its compiler and its garbage
// collector in it, as ours has the collector.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime/debug"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/bloodhound-dst/bloodhound/bench/tlc/random"
	"github.com/bloodhound-dst/bloodhound/internal/model"
	"github.com/bloodhound-dst/bloodhound/internal/model/tlc"
	"github.com/bloodhound-dst/bloodhound/internal/splitmix"
	"github.com/bloodhound-dst/bloodhound/internal/tla/eval"
	"github.com/bloodhound-dst/bloodhound/tla"
	"github.com/bloodhound-dst/bloodhound/tla/value"
)

func main() {
	jar := flag.String("jar", "", "the `path` of tla2tools.jar, and of other jars after colons")
	raft := flag.String("raft", "", "the `folder` of etcdraft.tla (default: from the module that examples/inprocess/raft uses)")
	level := flag.Int("level", 10, "states of a behaviour of etcdraft.tla, breadth first")
	walks := flag.Int("walks", 1000, "behaviours of etcdraft.tla, at random")
	only := flag.String("only", "", "measure rows whose name has this `text`")
	specifications := flag.Int("random", 0, "write the answers of TLC for so many specifications made at random")
	from := flag.Int("from", 0, "with -random: the number of the first of them")
	casesFile := flag.String("cases", "", "add TLC's answers to the cases of this `file` that have none")
	family := flag.String("family", "modules", "with -random: modules or behaviours")
	folder := flag.String("models", "", "write the answers of TLC for the models of this `folder`")
	limit := flag.Int("limit", 60, "with -models: the `seconds` that one may take")
	summed := flag.String("table", "", "write the table of the -family, of the answers in this `file`, which -random has written from number 0 on")
	keep := flag.String("keep", "", "with -random: compare with this check, and keep what differs in this `folder`")
	flag.Parse()
	i := slices.IndexFunc(random.Families, func(f random.Family) bool { return f.Name == *family })
	if i < 0 {
		fmt.Fprintf(os.Stderr, "tlc: -family: %q is neither modules nor behaviours\n", *family)
		os.Exit(2)
	}
	if *summed != "" {
		if err := summarize(&random.Families[i], *summed, os.Stdout); err != nil {
			fmt.Fprintln(os.Stderr, "tlc:", err)
			os.Exit(1)
		}
		return
	}
	if (flag.NArg() != 1 && *specifications == 0 && *folder == "" && *casesFile == "") || *jar == "" {
		fmt.Fprintln(os.Stderr, "usage: tlc -jar JAR[:JAR] [-raft FOLDER] CHECKOUT, or tlc -jar JAR and -random N, -cases FILE or -models FOLDER")
		os.Exit(2)
	}
	if *folder != "" {
		if err := table(filepath.SplitList(*jar), *folder, *only, *limit, os.Stdout); err != nil {
			fmt.Fprintln(os.Stderr, "tlc:", err)
			os.Exit(1)
		}
		return
	}
	if *casesFile != "" {
		if err := record(filepath.SplitList(*jar), *casesFile); err != nil {
			fmt.Fprintln(os.Stderr, "tlc:", err)
			os.Exit(1)
		}
		return
	}
	if *specifications > 0 {
		if err := answers(filepath.SplitList(*jar), &random.Families[i], *from, *from+*specifications, *keep, os.Stdout); err != nil {
			fmt.Fprintln(os.Stderr, "tlc:", err)
			os.Exit(1)
		}
		return
	}
	if err := measure(filepath.SplitList(*jar), *raft, flag.Arg(0), *only, *level, *walks); err != nil {
		fmt.Fprintln(os.Stderr, "tlc:", err)
		os.Exit(1)
	}
}

func measure(jars []string, raft, checkout, only string, level, walks int) error {
	if raft == "" {
		out, err := exec.Command("go", "list", "-C", filepath.Join("..", "examples", "raft"), "-m", "-f", "{{.Dir}}", "go.etcd.io/raft/v3").Output()
		if err != nil {
			return fmt.Errorf("the module go.etcd.io/raft/v3 is not found: %w; run this in the folder bench, or give -raft", err)
		}
		raft = filepath.Join(strings.TrimSpace(string(out)), "tla")
	}
	dir, err := bounded(raft, level)
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	debug.SetGCPercent(400) // as model check
	paxos := filepath.Join(checkout, "specifications", "transaction_commit", "PaxosCommit")
	fmt.Println("| what | ours | TLC | ratio |")
	fmt.Println("| --- | --- | --- | --- |")
	for _, c := range []struct {
		name string
		job  job
	}{
		{"PaxosCommit, breadth first", job{spec: paxos}},
		{fmt.Sprintf("etcdraft, breadth first, %d states deep", level), job{spec: filepath.Join(dir, "Bounded")}},
		{fmt.Sprintf("etcdraft, %d behaviours at random", walks), job{spec: filepath.Join(dir, "MCetcdraft"), walks: walks}},
	} {
		if !strings.Contains(c.name, only) {
			continue
		}
		if err := c.job.both(c.name, jars); err != nil {
			return fmt.Errorf("%s: %w", c.name, err)
		}
	}
	if strings.Contains("steps of a follower", only) {
		return steps(filepath.Join(dir, "MCetcdraft"))
	}
	return nil
}

// bounded copies the specifications of raft into a folder, with one whose behaviours have so many states at most.
func bounded(raft string, level int) (dir string, err error) {
	if dir, err = os.MkdirTemp("", "etcdraft"); err != nil {
		return "", err
	}
	var config []byte
	for _, name := range []string{"etcdraft.tla", "MCetcdraft.tla", "MCetcdraft.cfg"} {
		text, err := os.ReadFile(filepath.Join(raft, name))
		if err != nil {
			return "", err
		}
		config = text
		if err := os.WriteFile(filepath.Join(dir, name), text, 0o644); err != nil {
			return "", err
		}
	}
	module := fmt.Sprintf("---- MODULE Bounded ----\nEXTENDS MCetcdraft\nBound == TLCGet(\"level\") < %d\n====\n", level)
	if err := os.WriteFile(filepath.Join(dir, "Bounded.tla"), []byte(module), 0o644); err != nil {
		return "", err
	}
	return dir, os.WriteFile(filepath.Join(dir, "Bounded.cfg"), append(config, "\nCONSTRAINT Bound\n"...), 0o644)
}

// cost is CPU time and wall time.
type cost struct{ cpu, wall time.Duration }

func spent(f func() error) (c cost, err error) {
	used := func() time.Duration {
		var u syscall.Rusage
		syscall.Getrusage(syscall.RUSAGE_SELF, &u)
		return time.Duration(u.Utime.Nano() + u.Stime.Nano())
	}
	began, before := time.Now(), used()
	err = f()
	return cost{used() - before, time.Since(began)}, err
}

// job is a specification that both check. walks is how many behaviours; 0: all states.
type job struct {
	spec  string // without its extension
	walks int
}

const (
	walked = 100 // states of a behaviour at random
	seed   = 1
)

func (j job) both(name string, jars []string) error {
	var ours *tla.Report
	mine, err := spent(func() (err error) {
		spec, err := load(j.spec)
		if err != nil {
			return err
		}
		if j.walks > 0 {
			ours, err = tla.Simulate(spec, tla.Options{}, tla.Simulation{Number: j.walks, Depth: walked, Seed: seed})
		} else {
			ours, err = tla.Check(spec, tla.Options{})
		}
		if err == nil && len(ours.Violations) > 0 {
			err = errors.New("a property is violated")
		}
		return err
	})
	if err != nil {
		return err
	}
	run := tlc.Run{Jars: jars, Spec: j.spec + ".tla", Config: j.spec + ".cfg"}
	if j.walks > 0 {
		run.Options = []string{"-simulate", fmt.Sprintf("num=%d", j.walks), "-depth", strconv.Itoa(walked), "-seed", strconv.Itoa(seed)}
	}
	began := time.Now()
	o, err := run.Check(context.Background())
	if err != nil {
		return err
	}
	theirs := cost{o.CPU, time.Since(began)}
	if j.walks > 0 {
		o.Generated = simulated(o.Said)
		row(name+": states a second", ours.Generated, mine, o.Generated, theirs)
		return nil
	}
	if differences, aside := o.Compare(ours); len(differences)+len(aside) > 0 {
		return fmt.Errorf("the answers differ: %s", strings.Join(append(differences, aside...), "; "))
	}
	row(name+": generated states a second", ours.Generated, mine, o.Generated, theirs)
	row(name+": distinct states a second", ours.Distinct, mine, o.Distinct, theirs)
	return nil
}

var statesText = regexp.MustCompile(`The number of states generated: ([\d,]+)`)

// simulated is how many states a simulation of TLC had.
func simulated(said string) int {
	m := statesText.FindStringSubmatch(said)
	if m == nil {
		return 0
	}
	n, _ := strconv.Atoi(strings.ReplaceAll(m[1], ",", ""))
	return n
}

func row(name string, n int, mine cost, m int, theirs cost) {
	a, b := rate(n, mine), rate(m, theirs)
	fmt.Printf("| %s | %.0f (%d in %.1f s of CPU, %.1f s) | %.0f (%d in %.1f s of CPU, %.1f s) | %.2f |\n",
		name, a, n, mine.cpu.Seconds(), mine.wall.Seconds(), b, m, theirs.cpu.Seconds(), theirs.wall.Seconds(), a/b)
}

func rate(n int, c cost) float64 { return float64(n) / c.cpu.Seconds() }

func load(file string) (*tla.Spec, error) {
	config, err := tla.ReadConfig(file + ".cfg")
	if err != nil {
		return nil, err
	}
	return tla.Load(file+".tla", config)
}

// told is a step that a follower is given.
type told struct {
	name string
	args []any
}

func (t told) values() []value.Value {
	list := make([]value.Value, len(t.args))
	for i, a := range t.args {
		list[i] = a.(value.Value)
	}
	return list
}

// steps measures how many steps of raft a follower takes: those of behaviours that were drawn before.
func steps(file string) error {
	const behaviours, rounds = 1000, 5
	spec, err := load(file)
	if err != nil {
		return err
	}
	var drawn [][]told
	count := 0
	for n := range behaviours {
		list, err := draw(spec, splitmix.Mix(uint64(n)+seed))
		if err != nil {
			return err
		}
		drawn, count = append(drawn, list), count+len(list)
	}
	m, err := model.New(spec, model.Options{})
	if err != nil {
		return err
	}
	f, err := m.Follow()
	if err != nil {
		return err
	}
	evaluated, err := spent(func() error { return evaluate(spec, drawn) })
	if err != nil {
		return err
	}
	first, err := spent(func() error { return follow(f, drawn) })
	if err != nil {
		return err
	}
	again, err := spent(func() error {
		for range rounds {
			if err := follow(f, drawn); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		return err
	}
	fmt.Printf("| etcdraft, steps evaluated a second, with the fingerprints of their states | %.0f (%d in %.2f s of CPU) | | |\n",
		rate(count, evaluated), count, evaluated.cpu.Seconds())
	fmt.Printf("| etcdraft, steps of a follower a second, for the first time | %.0f (%d in %.2f s of CPU) | | |\n",
		rate(count, first), count, first.cpu.Seconds())
	fmt.Printf("| the same, of behaviours that were followed before | %.0f (%d in %.2f s of CPU) | | |\n",
		rate(count*rounds, again), count*rounds, again.cpu.Seconds())
	return nil
}

// evaluate evaluates each step, and looks nothing up.
func evaluate(spec *tla.Spec, drawn [][]told) error {
	ev := eval.NewEvaluator(spec)
	var state tla.State
	var prints uint64
	keep := func(s tla.State) error {
		prints ^= value.Hash(s)
		state = append(state[:0:0], s...)
		return nil
	}
	actions := map[string]*eval.Operator{}
	for _, list := range drawn {
		if err := ev.Initial(keep); err != nil {
			return err
		}
		for _, t := range list {
			if actions[t.name] == nil {
				var err error
				if actions[t.name], err = eval.ActionOf(spec, t.name); err != nil {
					return err
				}
			}
			if err := ev.Step(state, actions[t.name], t.values(), nil, keep); err != nil {
				return err
			}
		}
	}
	if prints == 0 {
		return errors.New("no step led anywhere")
	}
	return nil
}

func follow(f *model.Follower, drawn [][]told) error {
	for _, list := range drawn {
		f.Restart()
		for _, s := range list {
			f.Step(s.name, s.args...)
		}
		if err := f.Err(); err != nil {
			return err
		}
	}
	return nil
}

// draw draws a behaviour of raft: actions with arguments, each of which leads to one state.
func draw(spec *tla.Spec, chance uint64) (list []told, err error) {
	ev := eval.NewEvaluator(spec)
	var state tla.State
	keep := func(s tla.State) error {
		state = append(state[:0:0], s...)
		return nil
	}
	if err := ev.Initial(keep); err != nil {
		return nil, err
	}
	messages := -1
	for i, name := range spec.Variables {
		if name == "messages" {
			messages = i
		}
	}
	if messages < 0 {
		return nil, errors.New("etcdraft.tla has no variable messages")
	}
	below := func(n int) int {
		chance += splitmix.Gamma
		return int(splitmix.Mix(chance) % uint64(n))
	}
	actions := map[string]*eval.Operator{}
	servers := []value.Value{model.Name("s1"), model.Name("s2"), model.Name("s3")}
	for tries := 0; len(list) < walked && tries < 100*walked; tries++ {
		i, j := servers[below(len(servers))], servers[below(len(servers))]
		candidates := []told{{"Timeout", []any{i}}, {"RequestVote", []any{i, j}}, {"BecomeLeader", []any{i}}, {"ClientRequest", []any{i, value.Int(0)}},
			{"AppendEntriesToSelf", []any{i}}, {"AdvanceCommitIndex", []any{i}}, {"Heartbeat", []any{i, j}}, {"Ready", []any{i}}, {"Ready", []any{j}}}
		value.Each(value.Domain(state[messages]), func(m value.Value) bool {
			candidates = append(candidates, told{"Receive", []any{m}})
			return true
		})
		t := candidates[below(len(candidates))]
		if actions[t.name] == nil {
			if actions[t.name], err = eval.ActionOf(spec, t.name); err != nil {
				return nil, err
			}
		}
		var next []tla.State
		if err := ev.Step(state, actions[t.name], t.values(), nil, func(s tla.State) error {
			next = append(next, append(tla.State(nil), s...))
			return nil
		}); err != nil {
			return nil, err
		}
		if len(next) == 1 {
			state = next[0]
			list = append(list, t)
		}
	}
	return list, nil
}
