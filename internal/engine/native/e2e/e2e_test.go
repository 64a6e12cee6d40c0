//go:build linux && amd64

package e2e

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/bloodhound-dst/bloodhound/internal/engine/native"
	"github.com/bloodhound-dst/bloodhound/internal/testkit/needs"
)

// server is a world of unmodified servers and a client that drives them.
type server struct {
	name  string
	dir   string   // of its bloodhound.yaml
	needs []string // programs; a machine without one skips the world
	// minOK is how many operations must be ok in every run: a world whose servers fail at start repeats well, too.
	minOK int
	seeds int // tapes in an ordinary test run; all three in a soak
}

var servers = []server{
	{"quickstart", "../../../../examples/quickstart", nil, 60, 1},
	{"redis", "../../../../examples/redis-failover", []string{"redis-server", "redis-sentinel"}, 200, 1},
	{"etcd", "../../../../examples/etcd", []string{"etcd"}, 100, 1},
	{"nginx", "testdata/nginx", []string{"nginx"}, 150, 2},
	{"postgres", "testdata/postgres", []string{"/usr/lib/postgresql/*/bin/postgres", "psql"}, 21, 1},
	{"python", "testdata/python", []string{"/usr/bin/python3"}, 150, 1},
	{"jvm", "testdata/jvm", []string{"java", "javac"}, 120, 1},
	{"nats", "testdata/nats", []string{"/usr/bin/python3"}, 60, 1},
	{"sshd", "testdata/sshd", []string{"sshd", "ssh", "scp", "sftp", "ssh-keygen"}, 7, 1},
	{"mosquitto", "testdata/mosquitto", []string{"mosquitto", "mosquitto_pub", "gcc"}, 30, 1},
	{"haskell", "testdata/haskell", []string{"hledger-web", "rustc", "curl"}, 22, 1},
	{"memcached", "testdata/memcached", []string{"memcached", "haproxy", "/usr/bin/python3"}, 120, 1},
}

// Seeds and runs of a soak: the whole matrix.
const (
	soakSeeds = 3
	soakRuns  = 10
)

var soak = os.Getenv("BLOODHOUND_SOAK") != ""

// bloodhound is the program under test.
var bloodhound string

func TestMain(m *testing.M) {
	if name := os.Getenv(busyVariable); name != "" {
		beBusy()
	}
	os.Exit(func() int {
		dir, err := os.MkdirTemp("", "bloodhound-e2e-")
		if err != nil {
			fmt.Fprintln(os.Stderr, err)
			return 1
		}
		defer os.RemoveAll(dir)
		bloodhound = filepath.Join(dir, "bloodhound")
		build := exec.Command("env", "CGO_ENABLED=0", "go", "build", "-ldflags=-w", "-o", bloodhound, "../../../../cmd/bloodhound")
		if out, err := build.CombinedOutput(); err != nil {
			fmt.Fprintf(os.Stderr, "go build: %v\n%s", err, out)
			return 1
		}
		return m.Run()
	}())
}

// busyVariable makes this test program a process that keeps a CPU busy until its standard input ends.
const busyVariable = "BLOODHOUND_TEST_BUSY"

func beBusy() {
	go func() {
		for n := 0; ; n++ {
		}
	}()
	os.Stdin.Read(make([]byte, 1))
	os.Exit(0)
}

// keepBusy loads every CPU until the test is over.
func keepBusy(t *testing.T) {
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	for range runtime.NumCPU() {
		c := exec.Command(self)
		c.Env = append(os.Environ(), busyVariable+"=1")
		in, err := c.StdinPipe()
		if err != nil {
			t.Fatal(err)
		}
		if err := c.Start(); err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() {
			in.Close()
			c.Wait()
		})
	}
}

// TestServersRepeat runs each world several times on each of several tapes and compares the traces event by event;
// different tapes must give different traces. BLOODHOUND_E2E="nginx jvm" picks worlds. A single case:
//
//	go test ./engine/native/e2e -run 'Repeat/nginx$'
func TestServersRepeat(t *testing.T) {
	for _, s := range servers {
		t.Run(s.name, func(t *testing.T) {
			s.require(t)
			seeds, runs := s.seeds, 2
			if soak {
				seeds, runs = soakSeeds, soakRuns
			}
			s.repeat(t, seeds, runs)
		})
	}
}

// TestServersRepeatUnderLoad is TestServersRepeat while something else keeps all CPUs busy: the whole matrix in a soak,
// otherwise one world.
func TestServersRepeatUnderLoad(t *testing.T) {
	for _, s := range servers {
		if !soak && s.name != "python" {
			continue
		}
		t.Run(s.name, func(t *testing.T) {
			s.require(t)
			keepBusy(t)
			if soak {
				s.repeat(t, soakSeeds, soakRuns)
			} else {
				s.repeat(t, 1, 2)
			}
		})
	}
}

// oneHashRuns is how often TestOneHash runs each world, unless BLOODHOUND_SOAK_RUNS has another number.
const oneHashRuns = 1000

// TestOneHash runs one tape of each world of servers a thousand times, half of them while something else keeps all CPUs busy: there is one
// hash. It belongs to the soak; BLOODHOUND_E2E picks worlds.
func TestOneHash(t *testing.T) {
	if !soak {
		t.Skip("BLOODHOUND_SOAK is not set")
	}
	runs := oneHashRuns
	if n, err := strconv.Atoi(os.Getenv("BLOODHOUND_SOAK_RUNS")); err == nil {
		runs = n
	}
	for _, s := range servers {
		if s.needs == nil {
			continue // our own programs
		}
		t.Run(s.name, func(t *testing.T) {
			s.require(t)
			var hashes [2]string
			for i, how := range []string{"idle", "under load"} {
				t.Run(how, func(t *testing.T) {
					if i == 1 {
						keepBusy(t)
					}
					begun := time.Now()
					var verify verifyDocument
					if code := s.call(t, &verify, "verify", "--json", "--runs", strconv.Itoa(runs/2)); code != 0 || verify.Runs != runs/2 {
						t.Errorf("exit code %d after %d runs: %s\n%s", code, verify.Runs, verify.Judgement, verify.Difference)
					}
					hashes[i] = verify.Hash
					t.Logf("%d runs in %v", verify.Runs, time.Since(begun).Round(time.Second))
				})
			}
			if hashes[0] == "" || hashes[0] != hashes[1] {
				t.Errorf("trace hash %s idle, and %s under load", hashes[0], hashes[1])
			}
		})
	}
}

// TestReference runs each world with notified calls and with a ptrace stop for every call, and compares the traces event by
// event. An ordinary test run takes two worlds and one tape.
func TestReference(t *testing.T) {
	for _, s := range servers {
		if !soak && s.name != "quickstart" && s.name != "python" {
			continue
		}
		t.Run(s.name, func(t *testing.T) {
			s.require(t)
			seeds := 1
			if soak {
				seeds = soakSeeds
			}
			for seed := 1; seed <= seeds; seed++ {
				s.compareWithReference(t, seed)
			}
		})
	}
}

func (s server) compareWithReference(t *testing.T, seed int) {
	t.Helper()
	var hashes, traces [2]string
	for i, reference := range []string{"", "1"} {
		t.Setenv(native.ReferenceVariable, reference)
		file := filepath.Join(t.TempDir(), "trace")
		var run runDocument
		if code := s.call(t, &run, "run", "--json", "--seed", fmt.Sprint(seed), "--trace", file); code != 0 && code != 1 {
			t.Fatalf("seed %d: run ended with exit code %d: %s", seed, code, run.Judgement)
		}
		if run.Run.Operations.OK < s.minOK {
			t.Errorf("seed %d: %+v, want at least %d ok: the world did not do its work", seed, run.Run.Operations, s.minOK)
		}
		trace, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		hashes[i], traces[i] = run.Run.Hash, string(trace)
	}
	if hashes[0] == hashes[1] && traces[0] == traces[1] {
		return
	}
	reference := strings.Split(strings.TrimSuffix(traces[1], "\n"), "\n")
	for i, line := range strings.Split(strings.TrimSuffix(traces[0], "\n"), "\n") {
		if i >= len(reference) || line != reference[i] {
			t.Fatalf("seed %d: hashes %v; event %d is\n%s\nand under the reference\n%s", seed, hashes, i+1, line,
				strings.Join(reference[min(i, len(reference)):min(i+1, len(reference))], ""))
		}
	}
	t.Fatalf("seed %d: hashes %v, and the reference goes on after the last event", seed, hashes)
}

// TestLateStops runs a world while its threads are stopped by force again and again, whatever they do: a stop of the
// watchdog may come at any time, and one that comes to nothing leaves no trace.
func TestLateStops(t *testing.T) {
	s := servers[0]
	s.require(t)
	for _, reference := range []string{"", "1"} {
		t.Setenv(native.ReferenceVariable, reference)
		var plain, stopped runDocument
		s.call(t, &plain, "run", "--json")
		stop, done := make(chan struct{}), make(chan int)
		go func() {
			stops := 0
			for {
				select {
				case <-stop:
					done <- stops
					return
				case <-time.After(time.Millisecond):
					stops += stopAll(os.Getpid())
				}
			}
		}()
		s.call(t, &stopped, "run", "--json")
		close(stop)
		if n := <-done; n < 100 {
			t.Fatalf("only %d stops", n)
		}
		if plain.Run.Hash == "" || plain.Run.Hash != stopped.Run.Hash {
			t.Errorf("reference %q: trace hash %s without stops, and %s with them", reference, plain.Run.Hash, stopped.Run.Hash)
		}
	}
}

// stopAll sends SIGSTOP to every thread of a world below a process, once it has its program.
func stopAll(pid int) (stops int) {
	for _, thread := range threads(pid) {
		list, _ := os.ReadFile(fmt.Sprintf("/proc/%d/task/%s/children", pid, thread))
		for _, word := range strings.Fields(string(list)) {
			child, _ := strconv.Atoi(word)
			status, _ := os.ReadFile(fmt.Sprintf("/proc/%d/status", child))
			if strings.Contains(string(status), "\nTracerPid:\t0\n") {
				stops += stopAll(child)
				continue
			}
			exe, err := os.Readlink(fmt.Sprintf("/proc/%d/exe", child))
			if err != nil || strings.Contains(exe, "bloodhound-stub") {
				continue
			}
			for _, id := range threads(child) {
				tid, _ := strconv.Atoi(id)
				if unix.Tgkill(child, tid, unix.SIGSTOP) == nil {
					stops++
				}
			}
		}
	}
	return stops
}

func threads(pid int) (ids []string) {
	entries, _ := os.ReadDir(fmt.Sprintf("/proc/%d/task", pid))
	for _, e := range entries {
		ids = append(ids, e.Name())
	}
	return ids
}

// require skips a world that this machine has no programs for, or that the user has not picked.
func (s server) require(t *testing.T) {
	if picked := os.Getenv("BLOODHOUND_E2E"); picked != "" && !slices.Contains(strings.Fields(picked), s.name) {
		t.Skipf("BLOODHOUND_E2E=%q does not name %s", picked, s.name)
	}
	for _, program := range s.needs {
		if found, _ := filepath.Glob(program); len(found) > 0 {
			continue
		}
		if !onServerPath(program) {
			needs.Program(t, program)
		}
	}
}

// onServerPath finds programs that Debian keeps out of the path of ordinary users.
func onServerPath(program string) bool {
	_, err := os.Stat(filepath.Join("/usr/sbin", program))
	return err == nil
}

// runDocument holds the fields of `run --json` that the tests read.
type runDocument struct {
	Judgement string `json:"judgement"`
	Run       struct {
		Hash       string `json:"hash"`
		Operations struct {
			Invoked, OK, Fail, Info int
		} `json:"operations"`
		Repeat struct {
			Reproducible bool   `json:"reproducible"`
			Reason       string `json:"reason"`
		} `json:"repeat"`
		Refused []struct {
			Program, Call, Errno string
		} `json:"refused"`
	} `json:"run"`
}

// verifyDocument holds the fields of `verify --json` that the tests read.
type verifyDocument struct {
	Judgement  string          `json:"judgement"`
	Hash       string          `json:"hash"`
	Runs       int             `json:"runs"`
	Difference json.RawMessage `json:"difference"`
}

func (s server) repeat(t *testing.T, seeds, runs int) {
	t.Helper()
	hashes := map[string]int{}
	for seed := 1; seed <= seeds; seed++ {
		var run runDocument
		code := s.call(t, &run, "run", "--json", "--seed", fmt.Sprint(seed))
		if code != 0 && code != 1 { // what the world's own properties say is not judged here
			t.Errorf("seed %d: run ended with exit code %d: %s", seed, code, run.Judgement)
			continue
		}
		if run.Run.Operations.OK < s.minOK {
			t.Errorf("seed %d: %+v, want at least %d ok: the world did not do its work", seed, run.Run.Operations, s.minOK)
		}
		for _, r := range run.Run.Refused {
			t.Logf("seed %d: %s was refused %s (%s)", seed, r.Program, r.Call, r.Errno)
		}
		var verify verifyDocument
		if code := s.call(t, &verify, "verify", "--json", "--seed", fmt.Sprint(seed), "--runs", fmt.Sprint(runs)); code != 0 || verify.Runs != runs {
			t.Errorf("seed %d: verify ended with exit code %d after %d runs: %s\n%s", seed, code, verify.Runs, verify.Judgement, verify.Difference)
			continue
		}
		if verify.Hash != run.Run.Hash {
			t.Errorf("seed %d: run has trace hash %s, and verify %s", seed, run.Run.Hash, verify.Hash)
		}
		if other, ok := hashes[verify.Hash]; ok {
			t.Errorf("seeds %d and %d have the same trace hash %s", other, seed, verify.Hash)
		}
		hashes[verify.Hash] = seed
	}
}

// call runs bloodhound on the world and decodes its document. It returns the exit code.
func (s server) call(t *testing.T, document any, verb string, flags ...string) int {
	t.Helper()
	dir, err := filepath.Abs(s.dir)
	if err != nil {
		t.Fatal(err)
	}
	c := exec.Command(bloodhound, append([]string{verb, dir}, flags...)...)
	// Where ordinary users do not look for servers, worlds do.
	c.Env = append(os.Environ(), "PATH="+os.Getenv("PATH")+":/usr/sbin", "CI=true")
	var out, errs bytes.Buffer
	c.Stdout, c.Stderr = &out, &errs
	err = c.Run()
	var exit *exec.ExitError
	if err != nil && !errors.As(err, &exit) {
		t.Fatal(err)
	}
	if err := json.Unmarshal(out.Bytes(), document); err != nil {
		t.Fatalf("%s: exit code %d, and no document: %v\n%s%s", strings.Join(c.Args, " "), c.ProcessState.ExitCode(), err, out.Bytes(), errs.Bytes())
	}
	return c.ProcessState.ExitCode()
}

// TestCheckoutsRepeat runs a world, makes its files anew as another checkout or build would, and runs it again:
// equal content is an equal run, whatever the files' times, inodes and order in their folder.
func TestCheckoutsRepeat(t *testing.T) {
	s := server{name: "python", dir: filepath.Join(t.TempDir(), "project"), needs: []string{"/usr/bin/python3"}, minOK: 150}
	s.require(t)
	var hashes []string
	for _, order := range [][]string{{"bloodhound.yaml", "server.py", "node.sh"}, {"node.sh", "server.py", "bloodhound.yaml"}} {
		if err := os.RemoveAll(s.dir); err != nil {
			t.Fatal(err)
		}
		if err := os.Mkdir(s.dir, 0o755); err != nil {
			t.Fatal(err)
		}
		for i, name := range order {
			content, err := os.ReadFile(filepath.Join("testdata/python", name))
			if err != nil {
				t.Fatal(err)
			}
			path := filepath.Join(s.dir, name)
			if err := os.WriteFile(path, content, 0o644); err != nil {
				t.Fatal(err)
			}
			made := time.Unix(int64(1_700_000_000+1000*len(hashes)+i), 0)
			if err := os.Chtimes(path, made, made); err != nil {
				t.Fatal(err)
			}
		}
		var run runDocument
		if code := s.call(t, &run, "run", "--json"); code != 0 || run.Run.Operations.OK < s.minOK {
			t.Fatalf("exit code %d, %+v: %s", code, run.Run.Operations, run.Judgement)
		}
		hashes = append(hashes, run.Run.Hash)
	}
	if hashes[0] != hashes[1] {
		t.Errorf("the same files, made twice, gave trace hashes %v", hashes)
	}
}
