//go:build linux && amd64

package container_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	v1 "github.com/google/go-containerregistry/pkg/v1"

	"github.com/bloodhound-dst/bloodhound/internal/engine/container/docker"
	"github.com/bloodhound-dst/bloodhound/internal/testkit/imagetest"
	"github.com/bloodhound-dst/bloodhound/internal/testkit/needs"
)

// bloodhound is the program, built as users build it.
var bloodhound string

func TestMain(m *testing.M) {
	os.Exit(func() int {
		dir, err := os.MkdirTemp("", "bloodhound-container-")
		if err != nil {
			fmt.Fprintln(os.Stderr, err)
			return 1
		}
		defer os.RemoveAll(dir)
		bloodhound = filepath.Join(dir, "bloodhound")
		build := exec.Command("env", "CGO_ENABLED=0", "go", "build", "-ldflags=-w", "-o", bloodhound, "../../../cmd/bloodhound")
		if out, err := build.CombinedOutput(); err != nil {
			fmt.Fprintf(os.Stderr, "go build: %v\n%s", err, out)
			return 1
		}
		return m.Run()
	}())
}

// document holds the fields of the verbs' JSON that the tests read.
type document struct {
	ExitCode  int `json:"exit_code"`
	Judgement string
	Error     string
	Run       *struct {
		Operations struct{ Invoked, OK uint64 }
		Repeat     struct{ Reproducible, Once bool }
		Faults     []struct {
			Kind                         string
			Planned, Delivered, Observed uint64
		}
		Verdicts []struct{ Property, Status, Reason string }
		Warnings []string
		Marks    []struct {
			Workload, Type string
			TimeNs         int64 `json:"time_ns"`
		}
	}
}

// run makes a run of a project by the container engine.
func run(t *testing.T, arguments ...string) document {
	t.Helper()
	cmd := exec.Command(bloodhound, append([]string{"run", "--json", "--engine", "container"}, arguments...)...)
	cmd.Env = append(os.Environ(), "BLOODHOUND_AS_ROOT=1")
	var out, errs bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &errs
	err := cmd.Run()
	var d document
	if json.Unmarshal(out.Bytes(), &d) != nil {
		t.Fatalf("%v: %s%s", err, out.Bytes(), errs.Bytes())
	}
	return d
}

// left lists what runs have in the daemon.
func left(t *testing.T) (list []string) {
	t.Helper()
	c, err := docker.Find(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	query := url.Values{"all": {"true"}, "filters": {`{"label":["org.bloodhound.run"]}`}}
	var containers []struct{ Names []string }
	var networks []struct{ Name string }
	var volumes struct{ Volumes []struct{ Name string } }
	for path, out := range map[string]any{"/containers/json": &containers, "/networks": &networks, "/volumes": &volumes} {
		if err := c.Call(t.Context(), http.MethodGet, path, query, nil, out); err != nil {
			t.Fatal(err)
		}
	}
	for _, x := range containers {
		list = append(list, "container "+strings.Join(x.Names, ","))
	}
	for _, x := range networks {
		list = append(list, "network "+x.Name)
	}
	for _, x := range volumes.Volumes {
		list = append(list, "volume "+x.Name)
	}
	return list
}

// stack is a small copy of examples/redis: fewer seconds, and a partition and a crash in each run.
func stack(t *testing.T) string {
	needs.Program(t, "redis-server")
	dir, err := filepath.Abs("../../../examples/redis")
	if err != nil {
		t.Fatal(err)
	}
	config, err := os.ReadFile(filepath.Join(dir, "fixed.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	to := t.TempDir()
	for _, name := range []string{"compose.yaml", "redis.sh"} {
		text, err := os.ReadFile(filepath.Join(dir, name))
		if err != nil {
			t.Fatal(err)
		}
		write(t, filepath.Join(to, name), string(text))
	}
	text, _, ok := strings.Cut(string(config), "  rules:\n")
	if !ok {
		t.Fatal("fixed.yaml has no rules")
	}
	text = strings.Replace(text, "    build: {command: go build -o .bloodhound/bin/proxy ./proxy, environment: {CGO_ENABLED: 0}}\n", "", 1)
	text = strings.ReplaceAll(text, ".bloodhound/bin/proxy", "./redis-proxy")
	build := exec.Command("env", "CGO_ENABLED=0", "go", "-C", dir, "build", "-o", filepath.Join(to, "redis-proxy"), "./proxy")
	if out, err := build.CombinedOutput(); err != nil {
		t.Fatalf("go build: %v: %s", err, out)
	}
	text += `  rules:
    - {kind: partition, targets: [redis1], rate: 0.1, max: 1, duration_ms: 1000}
    - {kind: crash, targets: [redis2], rate: 0.02, max: 1, duration_ms: 600}
`
	write(t, filepath.Join(to, "bloodhound.yaml"), text)
	return to
}

func write(t *testing.T, name, text string) {
	t.Helper()
	if err := os.WriteFile(name, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
}

// A run that is killed leaves its containers behind, and the next one removes them. That one meets its faults, is judged, and leaves
// nothing.
func TestRedisStack(t *testing.T) {
	imagetest.Daemon(t)
	dir := stack(t)
	cmd := exec.Command(bloodhound, "run", "--verbose", "--engine", "container", dir)
	cmd.Env = append(os.Environ(), "BLOODHOUND_AS_ROOT=1")
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	var said bytes.Buffer
	cmd.Stdout, cmd.Stderr = &said, &said
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	const whole = 9 // containers: of five nodes and their networks, and of the driver's none
	for end := time.Now().Add(30 * time.Second); strings.Count(strings.Join(left(t), "\n"), "container ") < whole; time.Sleep(50 * time.Millisecond) {
		if time.Now().After(end) {
			syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL)
			cmd.Wait()
			t.Fatalf("the stack does not start: there are only %q: %s", left(t), said.Bytes())
		}
	}
	syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL)
	cmd.Wait()
	if len(left(t)) == 0 {
		t.Error("the killed run has left nothing: the test shows nothing")
	}
	d := run(t, dir)
	if list := left(t); len(list) > 0 {
		t.Errorf("left behind: %q", list)
	}
	if d.ExitCode != 0 || d.Run == nil {
		t.Fatalf("exit code %d: %s %s %+v", d.ExitCode, d.Judgement, d.Error, d.Run)
	}
	if !d.Run.Repeat.Once || d.Run.Repeat.Reproducible || !strings.Contains(d.Judgement, "observed once") {
		t.Errorf("%+v: %s", d.Run.Repeat, d.Judgement)
	}
	if d.Run.Operations.OK < 20 {
		t.Errorf("only %+v operations", d.Run.Operations)
	}
	for _, f := range d.Run.Faults {
		if f.Delivered == 0 || f.Observed == 0 {
			t.Errorf("%+v", f)
		}
	}
	if len(d.Run.Faults) != 2 {
		t.Errorf("%d kinds of faults", len(d.Run.Faults))
	}
}

// Drivers announce where they are. Each is told to read back, and their records are told apart by their clients.
func TestAnnounces(t *testing.T) {
	imagetest.Daemon(t)
	dir := t.TempDir()
	write(t, filepath.Join(dir, "driver.sh"), `
say() { echo "$1" >> "$BLOODHOUND_REPORT"; }
say '{"type":"ready","client":"'$1'/a"}'
say '{"client":"'$1'/a","type":"invoke","op":"put","key":"'$1'","input":"1"}'
sleep $2
say '{"client":"'$1'/a","type":"ok"}'
say '{"type":"done","client":"'$1'/a"}'
read -r line
test "$line" = check || exit 1
say '{"type":"check","client":"'$1'/a"}'
say '{"client":"'$1'/a","type":"invoke","op":"get","key":"'$1'"}'
say '{"client":"'$1'/a","type":"ok","output":"1"}'
`)
	write(t, filepath.Join(dir, "bloodhound.yaml"), `
simulation: {max_time: 20s}
nodes: {n1: {command: sleep 100}}
workloads:
  - {name: one, driver: command, command: sh driver.sh one 0.2, config: {announces: true}}
  - {name: two, driver: command, command: sh driver.sh two 0.7, config: {announces: true}}
properties: [{name: linearizable, kind: safety, check: {type: linearizability, operations: [put, get]}}]
faults: {settle: 500ms}
`)
	d := run(t, dir)
	if d.ExitCode != 0 || d.Run == nil {
		t.Fatalf("exit code %d: %s %s %+v", d.ExitCode, d.Judgement, d.Error, d.Run)
	}
	at := map[string]int64{}
	for _, m := range d.Run.Marks {
		at[m.Workload+" "+m.Type] = m.TimeNs
	}
	settled := at["two done"] + 500e6
	if len(at) != 6 || at["one done"] > at["two done"] || at["one check"] < settled || at["two check"] < settled {
		t.Errorf("%v", at)
	}
}

func TestMistakes(t *testing.T) {
	dir := t.TempDir()
	config := func(fault string) string {
		return "nodes: {a: {command: sleep 1}}\nfaults: {rules: [{kind: " + fault + ", rate: 0.1}]}\n"
	}
	for _, c := range []struct {
		name, socket, config, want string
		code                       int
	}{
		{"no daemon", dir + "/none.sock", config("crash"), "no Docker or Podman daemon answers", 3},
		{"a daemon elsewhere", "tcp://127.0.0.1:1", config("crash"), "needs a daemon on this machine", 3},
		{"a fault that cannot be delivered", dir + "/none.sock", config("fsync_fail"), "--engine native", 2},
	} {
		t.Run(c.name, func(t *testing.T) {
			if !strings.Contains(c.socket, "://") {
				c.socket = "unix://" + c.socket
			}
			t.Setenv("DOCKER_HOST", c.socket)
			write(t, filepath.Join(dir, "bloodhound.yaml"), c.config)
			d := run(t, dir)
			if d.ExitCode != c.code || !strings.Contains(d.Error, c.want) {
				t.Errorf("exit code %d: %s", d.ExitCode, d.Error)
			}
		})
	}
}

// Each kind of fault that needs no module of the kernel is delivered, and observed, in a stack of which a part comes from an image.
//
//ci:underway
func TestFaults(t *testing.T) {
	if os.Getenv("BLOODHOUND_SOAK") == "" {
		t.Skip("a minute of real time; BLOODHOUND_SOAK=1 runs it")
	}
	if _, err := os.Stat("/usr/lib/x86_64-linux-gnu/faketime/libfaketimeMT.so.1"); err != nil {
		needs.Missing(t, "libfaketime", err)
	}
	imagetest.Daemon(t)
	t.Setenv("BLOODHOUND_IMAGES", t.TempDir())
	dir := t.TempDir()
	r := imagetest.New(t)
	for _, program := range []string{"sh", "redis-server", "redis-cli"} {
		r.Program(program)
	}
	r.User("redis", "999")
	r.Folder("/data", 0o755, 999)
	imagetest.Layout(t, filepath.Join(dir, "redis.oci"),
		r.Image(v1.Config{Cmd: []string{"redis-server", "--bind", "*", "--protected-mode", "no", "--dir", "/data", "--appendonly", "yes"},
			Env: []string{"PATH=/usr/bin:/bin"}, User: "redis", StopSignal: "SIGTERM"}))
	write(t, filepath.Join(dir, "bloodhound.yaml"), `
simulation: {max_time: 50s}
nodes:
  cache:
    image: oci:redis.oci
    volumes: ["data:/data"]
    healthcheck: {test: [CMD, redis-cli, ping], interval: 1s}
  copy:
    image: oci:redis.oci
    command: redis-server --bind * --protected-mode no --replicaof cache 6379
    depends_on: {cache: {condition: service_healthy}}
  asks: {command: "sh -c 'while sleep 0.1; do getent hosts cache >/dev/null || echo no name; done'"}
  reads: {command: "sh -c 'while sleep 0.1; do date +%Y >/dev/null; done'"}
  writes: {command: "sh -c 'while sleep 0.1; do head -c 8192 /dev/zero >>/var/x || echo again; done'"}
workload:
  driver: redis
  config:
    master: redis://cache:6379
    operations_per_second: 30
    duration: 25s
    clients: 4
    operations: [{type: SET, weight: 1, key_pattern: "k{random:0-5}"}, {type: GET, weight: 1, key_pattern: "k{random:0-5}"}]
properties:
  - {name: copies, kind: liveness, timeout: 20s, check: {type: custom, script: "./ask"}}
  - {name: answers, kind: liveness, timeout: 20s, check: {type: redis, endpoint: "redis://cache:6379", command: PING, expect: PONG}}
faults:
  stop: 24s
  settle: 1s
  rules:
    - {kind: partition, targets: [copy], rate: 0.02, max: 1, duration_ms: 3000}
    - {kind: crash, targets: [cache], rate: 0.01, max: 1, duration_ms: 800}
    - {kind: restart, targets: [copy], rate: 0.01, max: 1, duration_ms: 800}
    - {kind: pause, targets: [cache], rate: 0.01, max: 1, duration_ms: 1500}
    - {kind: reset, targets: [cache-copy], rate: 0.01, max: 4}
    - {kind: dns_fail, targets: [asks], rate: 0.05, max: 2, duration_ms: 2000}
    - {kind: disk_full, targets: [writes], rate: 0.05, max: 1, duration_ms: 4000}
    - {kind: drop, rate: 0.05}
    - {kind: clock_skew, targets: [reads], rate: 0.05, max: 2, duration_ms: 2000}
    - {kind: clock_jump, targets: [reads], rate: 0.05, max: 1}
`)
	write(t, filepath.Join(dir, "ask"), "#!/bin/sh\nredis-cli -h copy ping\n")
	if err := os.Chmod(filepath.Join(dir, "ask"), 0o755); err != nil {
		t.Fatal(err)
	}
	d := run(t, dir)
	if list := left(t); len(list) > 0 {
		t.Errorf("left behind: %q", list)
	}
	if d.Run == nil {
		t.Fatalf("exit code %d: %s", d.ExitCode, d.Error)
	}
	t.Logf("exit code %d: %s: %+v", d.ExitCode, d.Judgement, *d.Run)
	for _, f := range d.Run.Faults {
		if f.Delivered == 0 || f.Observed == 0 {
			t.Errorf("%+v", f)
		}
	}
	for _, v := range d.Run.Verdicts {
		if (v.Property == "copies" || v.Property == "answers") && v.Status != "holds" {
			t.Errorf("%+v", v)
		}
	}
}
