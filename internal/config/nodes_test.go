package config

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/bloodhound-dst/bloodhound/internal/config/keys"
	"github.com/bloodhound-dst/bloodhound/internal/config/schema"
	"github.com/bloodhound-dst/bloodhound/internal/config/source"
	"github.com/bloodhound-dst/bloodhound/internal/fault"
	"github.com/bloodhound-dst/bloodhound/internal/tape"
	"github.com/bloodhound-dst/bloodhound/internal/workload"
	"github.com/bloodhound-dst/bloodhound/internal/world"
)

// project writes files into a new folder; the first line of each text names it.
func project(t *testing.T, files ...string) string {
	t.Helper()
	dir := t.TempDir()
	for _, f := range files {
		name, content, _ := strings.Cut(f, "\n")
		if err := os.WriteFile(filepath.Join(dir, name), []byte(content), 0o666); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

func loaded(t *testing.T, o Options) *Result {
	t.Helper()
	if o.Env == nil {
		o.Env = noEnv
	}
	if o.Images == nil {
		o.Images = anyImage
	}
	r, err := Load(o)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

func node1(t *testing.T, r *Result, name string) world.Node {
	t.Helper()
	for _, n := range r.Spec.Nodes {
		if n.Name == name {
			return n
		}
	}
	t.Fatalf("no node %s", name)
	return world.Node{}
}

func noted(r *Result, part string) bool {
	return slices.ContainsFunc(r.Notes, func(n source.Note) bool { return strings.Contains(n.String(), part) })
}

// A service's keys are replaced by those of the node in bloodhound.yaml, and environments are merged.
func TestNodesOverServices(t *testing.T) {
	dir := project(t, `bloodhound.yaml
compose: [a.yaml, b.yaml]
nodes:
  db:
    root: host
    command: postgres -D /data
    environment: [B=node, C=node]
    healthcheck: {interval: 2s}
  extra: {command: x}
`, `a.yaml
name: shop
services:
  db: {image: postgres, environment: {A: a, B: a}, healthcheck: {test: [CMD, ready], interval: 1s}, command: none, user: pg}
  web: {command: web}
`, `b.yaml
services:
  web: {working_dir: /srv}
`)
	r := loaded(t, Options{Path: dir})
	if r.Spec.Name != "shop" {
		t.Errorf("the world is called %s", r.Spec.Name)
	}
	var names []string
	for _, n := range r.Spec.Nodes {
		names = append(names, n.Name)
	}
	if !slices.Equal(names, []string{"db", "web", "extra"}) {
		t.Errorf("nodes %v", names)
	}
	db := node1(t, r, "db")
	if !slices.Equal(db.Command, []string{"postgres", "-D", "/data"}) || db.User != "pg" || db.Health.IntervalNs != 2e9 || db.Health.Command[0] != "ready" {
		t.Errorf("db is %+v", db)
	}
	if !slices.Equal(db.Env[3:], []string{"A=a", "B=node", "C=node"}) || !strings.HasPrefix(db.Env[1], "HOME=/") {
		t.Errorf("environment %v", db.Env)
	}
	if web := node1(t, r, "web"); web.WorkingDir != "/srv" || web.Command[0] != "web" {
		t.Errorf("web is %+v", web)
	}
}

func TestEnvironmentOrder(t *testing.T) {
	dir := project(t, `bloodhound.yaml
nodes:
  n1:
    command: x ${PORT} ${NOWHERE}
    env_file: [one.env, two.env]
    environment: {C: env, FROM_HOST: , NOT_THERE: , PATH: /bin}
`, `one.env
A=one
B=one
C=one
`, `two.env
B=two
D=${PORT}
`, `.env
PORT=80
FROM_HOST=dotenv
`)
	r := loaded(t, Options{Path: dir, Env: map[string]string{"FROM_HOST": "host"}})
	n := node1(t, r, "n1")
	want := []string{"PATH=/bin", "HOME=/root", "HOSTNAME=n1", "A=one", "B=two", "C=env", "D=80", "FROM_HOST=host"}
	if !slices.Equal(n.Env, want) {
		t.Errorf("environment %v, want %v", n.Env, want)
	}
	if !slices.Equal(n.Command, []string{"x", "80"}) || !noted(r, "NOWHERE is not set") {
		t.Errorf("command %q, notes %v", n.Command, r.Notes)
	}
}

func TestWhereFilesAre(t *testing.T) {
	const config, compose = "bloodhound.yaml\nnodes: {n1: {command: x}}\n", "compose.yaml\nservices: {c1: {command: x}}\n"
	both := project(t, config, compose)
	only := project(t, compose)
	none := project(t)
	for _, c := range []struct {
		name  string
		o     Options
		nodes string // the first node's name, or a part of the error
		dir   string
	}{
		{"folder", Options{Path: both}, "n1", both},
		{"file", Options{Path: filepath.Join(both, "bloodhound.yaml")}, "n1", both},
		{"compose beside", Options{Path: both, ComposeFiles: []string{filepath.Join(only, "compose.yaml")}}, "c1", both},
		{"compose alone", Options{Path: only, ComposeFiles: []string{filepath.Join(only, "compose.yaml")}}, "c1", only},
		{"compose as the file", Options{Path: filepath.Join(only, "compose.yaml")}, "c1", only},
		{"config elsewhere", Options{Path: only, ConfigFile: filepath.Join(both, "bloodhound.yaml")}, "n1", both},
		{"nothing", Options{Path: none}, "`bloodhound init` creates one", ""},
		{"a hint", Options{Path: only}, "--compose", ""},
		{"no folder", Options{Path: filepath.Join(none, "x")}, "there is no folder or file", ""},
	} {
		c.o.Env = noEnv
		r, err := Load(c.o)
		switch {
		case err != nil:
			if !strings.Contains(err.Error(), c.nodes) {
				t.Errorf("%s: %v", c.name, err)
			}
		case r.Spec.Nodes[0].Name != c.nodes || r.Spec.Dir != c.dir || r.Spec.Nodes[0].WorkingDir == "":
			t.Errorf("%s: node %s in %s", c.name, r.Spec.Nodes[0].Name, r.Spec.Dir)
		}
	}
}

func TestHealthchecksAndRestarts(t *testing.T) {
	r := loaded(t, Options{Path: project(t, `bloodhound.yaml
nodes:
  a: {command: x, healthcheck: {test: curl -f x || exit 1}, restart: no, stop_signal: 10}
  b: {command: x, healthcheck: {test: [NONE]}, restart: "on-failure:3", stop_signal: int}
  c: {command: x, healthcheck: {test: [CMD, a, b]}, restart: on-failure}
  d: {command: x, healthcheck: {test: [CMD-SHELL, a b], disable: false}, restart: unless-stopped}
`)})
	a, b, c, d := r.Spec.Nodes[0], r.Spec.Nodes[1], r.Spec.Nodes[2], r.Spec.Nodes[3]
	if !slices.Equal(a.Health.Command, []string{"/bin/sh", "-c", "curl -f x || exit 1"}) || a.Health.IntervalNs != 30e9 || a.Health.Retries != 3 {
		t.Errorf("%+v", a.Health)
	}
	if b.Health != nil || !slices.Equal(c.Health.Command, []string{"a", "b"}) || !slices.Equal(d.Health.Command, []string{"/bin/sh", "-c", "a b"}) {
		t.Errorf("%+v %+v %+v", b.Health, c.Health, d.Health)
	}
	if a.Restart.Mode != world.RestartNo || b.Restart.Mode != world.RestartOnFailure || b.Restart.MaxRetries != 3 || c.Restart.MaxRetries != 0 ||
		d.Restart.Mode != world.RestartUnlessStopped {
		t.Errorf("%+v %+v %+v %+v", a.Restart, b.Restart, c.Restart, d.Restart)
	}
	if a.StopSignal != "SIGUSR1" || b.StopSignal != "SIGINT" || c.StopSignal != "SIGTERM" {
		t.Errorf("%s %s %s", a.StopSignal, b.StopSignal, c.StopSignal)
	}
}

// Clients of our own give way to nodes that have their names.
func TestNamesOfClients(t *testing.T) {
	r := loaded(t, Options{Path: project(t, `bloodhound.yaml
nodes:
  load: {command: x}
  n1: {command: x, networks: {default: {aliases: [checker]}}}
workload: {driver: http, config: {target: "http://load:80"}}
properties: [{name: up, kind: safety, check: {type: http, endpoint: "http://n1"}}]
`)})
	var names []string
	for _, n := range r.Spec.Nodes {
		names = append(names, n.Name+" "+string(n.Role)+" "+n.IPv4)
	}
	want := []string{"load server 10.77.0.10", "n1 server 10.77.0.11", "load-2 client 10.77.0.12", "checker-2 checker 10.77.0.13"}
	if !slices.Equal(names, want) {
		t.Errorf("nodes %v, want %v", names, want)
	}
	if r.Spec.Workloads[0].Node != "load-2" {
		t.Errorf("the workload runs on %s", r.Spec.Workloads[0].Node)
	}
}

func TestBuildsRunOnce(t *testing.T) {
	dir := project(t, `bloodhound.yaml
nodes:
  n1: &n {command: ./app, build: go build -o app .}
  n2: *n
  n3: {command: ./app, build: {command: [go, build], environment: {CGO_ENABLED: "0"}}}
`)
	r := loaded(t, Options{Path: dir})
	if len(r.Builds) != 2 || r.Builds[0].Node != "n1" || r.Builds[0].Dir != dir || r.Builds[1].Env[0] != "CGO_ENABLED=0" {
		t.Errorf("builds %+v", r.Builds)
	}
}

// injections counts how often each kind that is drawn by time step is injected in 30 virtual seconds of chaos, on average.
func injections(t *testing.T, mode, step string) map[world.FaultKind]float64 {
	r := loaded(t, Options{Path: project(t, "bloodhound.yaml\nsimulation: {time_step: "+step+`}
nodes: {n1: {command: x}, n2: {command: x}, n3: {command: x}}
workload: {driver: http, config: {target: "http://n1"}}
faults: {mode: `+mode+`}
`)})
	count := map[world.FaultKind]float64{}
	const runs = 20
	for seed := range uint64(runs) {
		plan, err := fault.New(r.Spec)
		if err != nil {
			t.Fatal(err)
		}
		plan.BeginChaos(tape.NewSource(tape.Replay(0, nil)), 0) // masks nothing
		source := tape.NewSource(tape.Tape{Seed: seed})
		for now := int64(0); now < 30e9; now += r.Spec.TimeStepNs {
			for _, a := range plan.Step(source, &fault.Moment{NowNs: now}) {
				count[a.Kind] += 1.0 / runs
			}
			plan.Ended(now)
		}
	}
	return count
}

func TestPresets(t *testing.T) {
	between := func(what string, got, least, most float64) {
		if got < least || got > most {
			t.Errorf("%s: %.1f, want %g to %g", what, got, least, most)
		}
	}
	if calm := injections(t, "calm", "10ms"); len(calm) > 0 {
		t.Errorf("the preset without faults injects: %v", calm)
	}
	for _, step := range []string{"10ms", "100ms"} {
		moderate := injections(t, "moderate", step)
		between("moderate partitions", moderate[fault.Partition], 1, 5)
		between("moderate crashes", moderate[fault.Crash], 0.5, 3)
		between("moderate pauses", moderate[fault.Pause], 0.5, 3)
		chaos := injections(t, "chaos", step)
		between("chaos partitions", chaos[fault.Partition], 3*moderate[fault.Partition], 30)
		between("chaos crashes", chaos[fault.Crash], 3, 12)
	}
}

func rules(t *testing.T, faults string) []world.FaultRule {
	return loaded(t, Options{Path: project(t, "bloodhound.yaml\nnodes: {n1: {command: x}, n2: {command: x}}\nfaults: "+faults)}).Spec.Faults.Rules
}

func TestFaultRules(t *testing.T) {
	for _, c := range []struct{ faults, want string }{
		{"{}", ""},
		{"{network: {drop_rate: 0.01}}", "drop 10000 0-0 user"},
		{"{network: {enabled: false, drop_rate: 0.01}, mode: moderate}", "crash 150 500-3000, pause 150 100-2000"},
		{"{network: {delay_ms: 10}}", "delay 1000000 10-10 user"},
		{"{network: {delay_rate: 0.1}}", "delay 100000 25-75 user"},
		{"{network: {delay_rate: 0.1, delay_ms: 10, delay_jitter_ms: 30}}", "delay 100000 0-40 user"},
		{"{mode: calm}", "delay 10000 1-10"},
		{"{mode: calm, network: {delay_ms: 7}}", "delay 10000 7-7"},
		{"{mode: calm, network: {delay_rate: 0}}", "delay 0 1-10 user"},
		{"{process: {crash_probability: 0.5}}", "crash 500000 500-3000 user"},
		{"{process: {pause_duration_ms: [1, 2]}}", ""},
		{"{disk: {write_fail_rate: 0}}", "write_fail 0 0-0 user"},
		{"{disk: {write_fail_rate: 0.1}, clock: {skew_probability: 1}}", "write_fail 100000 0-0 user, clock_skew 1000000 1000-10000 user"},
		{"{mode: calm, rules: [{kind: delay, rate: 0.5, targets: [n1->n2], duration_ms: 3}]}", "delay 500000 3-3 user n1->n2"},
		{"{rules: [{kind: partition, probability: 0.5, max: 2, targets: n1}]}", "partition 500000 1000-5000 user n1"},
	} {
		var got []string
		for _, r := range rules(t, c.faults) {
			text := string(r.Kind) + " " + strconv.FormatUint(r.RatePPM, 10) + " " +
				strconv.FormatInt(r.MinNs/1e6, 10) + "-" + strconv.FormatInt(r.MaxNs/1e6, 10)
			if r.ByUser {
				text += " user"
			}
			got = append(got, strings.TrimSpace(text+" "+strings.Join(r.Targets, " ")))
		}
		if all := strings.Join(got, ", "); all != c.want {
			t.Errorf("%s gives %s, want %s", c.faults, all, c.want)
		}
	}
}

// The moments of a rule may be a sentence or keys.
func TestMomentsOfRules(t *testing.T) {
	for _, c := range []struct{ sentence, mapping string }{
		{"power_loss during fsync, fdatasync of *.wal", `{kind: power_loss, during: [fsync, fdatasync], path: "*.wal"}`},
		{"crash after rename of *.snap after 5s", `{kind: crash, after_call: rename, path: "*.snap", after: 5s}`},
		{"power_loss after reply nth 1..50", `{kind: power_loss, after_reply: true, nth: 1..50}`},
		{"crash between fsync of *.tmp and rename of *.snap nth 7", `{kind: crash, between: fsync of *.tmp and rename of *.snap, nth: 7}`},
		{"crash in recovery max 1", `{kind: crash, in_recovery: true, max: 1}`},
		{"partition in transfer rate 0.1", `{kind: partition, in_transfer: true, rate: 0.1}`},
		{"crash in operation compact* rate 0.1", `{kind: crash, in_operation: compact*, rate: 0.1}`},
		{"fsync_fail at fsync nth 3 rate 0.5", `{kind: fsync_fail, at: fsync, nth: 3, rate: 0.5}`},
	} {
		both := rules(t, "{rules: ['"+c.sentence+"', "+c.mapping+"]}")
		if both[0].Text = ""; !reflect.DeepEqual(both[0], both[1]) {
			t.Errorf("%s gives %+v, and %s %+v", c.sentence, both[0], c.mapping, both[1])
		}
	}
	r := loaded(t, Options{Path: project(t, "bloodhound.yaml\nnodes: {n1: {command: x}}\nfaults: {rules: [crash during fsync]}")})
	if r.Spec.Cost.SyncNs == 0 {
		t.Error("an fsync takes no time, so nothing can happen during it")
	}
}

// The preset harsh has rules at moments and for majorities. What the user writes of a kind replaces them, and so does a world without
// the servers that they need.
func TestHarsh(t *testing.T) {
	special := func(servers int, faults string) (kinds []string) {
		nodes := "nodes: {n0: {command: x}"
		for i := range servers - 1 {
			nodes += fmt.Sprintf(", n%d: {command: x}", i+1)
		}
		r := loaded(t, Options{Path: project(t, "bloodhound.yaml\n"+nodes+"}\nfaults: "+faults)})
		for i := range r.Spec.Faults.Rules {
			rule := &r.Spec.Faults.Rules[i]
			if rule.ByUser {
				continue
			}
			if rule.OnCalls() || rule.Shape != "" {
				kinds = append(kinds, strings.TrimSpace(string(rule.Kind)+" "+string(rule.Moment)+" "+rule.Shape))
			}
		}
		if _, err := fault.New(r.Spec); err != nil || r.Spec.Cost.SyncNs == 0 || !r.Spec.Faults.Swarm {
			t.Errorf("%s: %v, %+v", faults, err, r.Spec.Cost)
		}
		return kinds
	}
	three := special(3, "{preset: harsh}")
	for _, want := range []string{"partition transfer", "crash recovery", "crash  majority", "power_loss during", "power_loss reply majority", "disk_full"} {
		if !slices.Contains(three, want) {
			t.Errorf("harsh has no %q: %q", want, three)
		}
	}
	if !reflect.DeepEqual(three, special(3, "{mode: harsh}")) {
		t.Error("preset and mode differ")
	}
	for _, c := range []struct {
		servers int
		faults  string
		gone    string
	}{
		{1, "{preset: harsh}", "majority"}, {1, "{preset: harsh}", "transfer"}, {2, "{preset: harsh}", "majority"},
		{3, "{preset: harsh, disk: {full_probability: 0}}", "disk_full"},
		{3, "{preset: harsh, rules: [crash after 5s max 1]}", "crash"},
		{3, "{preset: harsh, clock: {enabled: false}}", "clock"},
	} {
		for _, kind := range special(c.servers, c.faults) {
			if strings.Contains(kind, c.gone) {
				t.Errorf("%d servers, %s: still %s", c.servers, c.faults, kind)
			}
		}
	}
}

func TestTimes(t *testing.T) {
	for _, c := range []struct {
		config           string
		duration, settle int64 // seconds
	}{
		{"", 30, 10},
		{"properties: [{name: up, kind: liveness, timeout: 30s, check: {type: http, endpoint: /}}]", 20, 30},
		{"faults: {settle: 5s}", 30, 5},
		{"simulation: {max_time: 8s}", 4, 2},
	} {
		r := loaded(t, Options{Path: project(t, "bloodhound.yaml\nnodes: {n1: {command: x}}\nworkload: {driver: http, config: {target: n1}}\n"+c.config)})
		if r.Spec.Workloads[0].DurationNs/1e9 != c.duration || r.Spec.Faults.SettleNs/1e9 != c.settle || noted(r, "do not fit") {
			t.Errorf("%s: %d s and %d s, %v", c.config, r.Spec.Workloads[0].DurationNs/1e9, r.Spec.Faults.SettleNs/1e9, r.Notes)
		}
	}
	r := loaded(t, Options{Path: project(t, "bloodhound.yaml\nnodes: {n1: {command: x}}\nworkload: {driver: http, config: {target: n1, duration: 55s}}\n")})
	if !noted(r, "do not fit in max_time") {
		t.Errorf("notes %v", r.Notes)
	}
}

// What loads is accepted by those who read it next.
func TestOthersAgree(t *testing.T) {
	for _, o := range []Options{{Path: "testdata/compat"}, {Path: "testdata/all/two.yaml"}} {
		r := loaded(t, o)
		for i := range r.Spec.Workloads {
			if err := workload.Validate(&r.Spec.Workloads[i]); err != nil {
				t.Error(err)
			}
		}
		if _, err := fault.New(r.Spec); err != nil {
			t.Error(err)
		}
	}
	for _, driver := range []string{"http", "redis"} {
		w := world.Workload{Driver: driver, Targets: []string{driver + "://n1:1"}, Options: map[string]string{"no such option": "x"}}
		err := workload.Validate(&w)
		if err == nil {
			t.Fatal("any option is valid")
		}
		_, list, _ := strings.Cut(err.Error(), "it has ")
		options := workloadOptions()
		for _, name := range strings.Split(list, ", ") {
			if !slices.Contains(options, name) {
				t.Errorf("driver %s has an option %s, and config does not", driver, name)
			}
		}
	}
}

func workloadOptions() []string {
	var names []string
	schema.WalkKeys(&keys.WorkloadKeys, "", func(path string, f *schema.Field) {
		if parent, name := schema.Split(path); parent == "config.options" {
			names = append(names, name)
		}
	})
	return names
}

func TestErrorsAreBounded(t *testing.T) {
	var b strings.Builder
	b.WriteString("bloodhound.yaml\nnodes: {n1: {command: x}}\n")
	for i := range 30 {
		b.WriteString("strange" + strconv.Itoa(i) + ": 1\n")
	}
	_, err := Load(Options{Path: project(t, b.String()), Env: noEnv})
	var all source.Errors
	if !errors.As(err, &all) || len(all) != 30 || !strings.HasSuffix(err.Error(), "and 20 more errors") {
		t.Errorf("%d errors: %v", len(all), err)
	}
}

// Files that grow without bound when they are read are refused.
func TestLimits(t *testing.T) {
	bomb := "bloodhound.yaml\nx-0: &a0 [x, x, x, x, x, x, x, x, x, x]\n"
	for i := 1; i < 9; i++ {
		bomb += strings.ReplaceAll("x-N: &aN [*aM, *aM, *aM, *aM, *aM, *aM, *aM, *aM, *aM, *aM]\n", "N", strconv.Itoa(i))
		bomb = strings.ReplaceAll(bomb, "M", strconv.Itoa(i-1))
	}
	for name, c := range map[string]struct{ file, want string }{
		"aliases": {bomb, "more than 100000 values"},
		"depth":   {"bloodhound.yaml\nx-a: " + strings.Repeat("[", 100) + strings.Repeat("]", 100), "more than 64 levels"},
		"size":    {"bloodhound.yaml\nname: " + strings.Repeat("x", source.MaxFileBytes), "more than 1048576 bytes"},
	} {
		_, err := Load(Options{Path: project(t, c.file), Env: noEnv})
		if err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %.300v", name, err)
		}
	}
}

// FuzzLoad reads anything without a panic. What loads has a Spec that holds together.
func FuzzLoad(f *testing.F) {
	for _, pattern := range []string{"scaffolding/example.yaml", "testdata/*/*.yaml", "testdata/compat/*.yml"} {
		names, _ := filepath.Glob(pattern)
		for _, name := range names {
			text, err := os.ReadFile(name)
			if err != nil {
				f.Fatal(err)
			}
			f.Add(text)
		}
	}
	dir := f.TempDir()
	f.Fuzz(func(t *testing.T, text []byte) {
		name := filepath.Join(dir, "bloodhound.yaml")
		if err := os.WriteFile(name, text, 0o666); err != nil {
			t.Fatal(err)
		}
		for _, o := range []Options{{Path: name, Env: noEnv}, {Path: dir, ConfigFile: "scaffolding/example.yaml", ComposeFiles: []string{name}, Env: noEnv}} {
			r, err := Load(o)
			if err != nil {
				if err.Error() == "" {
					t.Error("an error without a word")
				}
				continue
			}
			if _, err := fault.New(r.Spec); err != nil {
				t.Errorf("it loads, but %v", err)
			}
			for _, n := range r.Spec.Nodes {
				if n.Role == world.Server && len(n.Command) == 0 || n.IPv4 == "" && len(r.Spec.Networks) == 0 || !filepath.IsAbs(n.WorkingDir) {
					t.Errorf("node %+v", n)
				}
			}
			for i := range r.Spec.Workloads {
				w := &r.Spec.Workloads[i]
				if node1(t, r, w.Node).Role != world.Client || w.DurationNs <= 0 {
					t.Errorf("workload %+v", w)
				}
			}
		}
	})
}
