package config

import (
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"github.com/bloodhound-dst/bloodhound/internal/config/schema"
	"github.com/bloodhound-dst/bloodhound/internal/world"
)

func TestSizes(t *testing.T) {
	for written, want := range map[string]int64{"4096": 4096, "64m": 64 << 20, "64M": 64 << 20, "1.5gb": 3 << 29,
		"1 GiB": 1 << 30, "512k": 512 << 10, "9b": 9, "0": 0} {
		if got, ok := schema.ReadSize(written); !ok || got != want {
			t.Errorf("%q is %d, %v; want %d", written, got, ok, want)
		}
	}
	for _, written := range []string{"", "m", "-1m", "64mm", "64 x", "1e3", "9bb", "9bib", "nan", "99999999p"} {
		if got, ok := schema.ReadSize(written); ok {
			t.Errorf("%q is read as %d", written, got)
		}
	}
}

// wrongNode wants an error with a caret for a node of these keys.
func wrongNode(t *testing.T, keys, want string) {
	t.Helper()
	dir := project(t, "bloodhound.yaml\nnodes:\n  n1:\n    command: x\n    "+keys+"\n")
	_, err := Load(Options{Path: filepath.Join(dir, "bloodhound.yaml"), Images: anyImage})
	if err == nil || !strings.Contains(err.Error(), want) || !strings.Contains(err.Error(), "^") {
		t.Errorf("%s: %v\nwant %q and a caret", keys, err, want)
	}
}

func TestWrongBounds(t *testing.T) {
	wrongNode(t, "mem_limit: lots", `"lots" is not a size of at least 6m, such as 64m or 1gb`)
	wrongNode(t, "mem_limit: 5m", "at least 6m")
	wrongNode(t, "ulimits: {nofiles: 10}", `unknown limit "nofiles"`)
	wrongNode(t, "ulimits: {nofile: 2000000}", "at most 1048576 open files")
	wrongNode(t, "ulimits: {nproc: {soft: 10, hard: 9}}", "the soft limit is above the hard limit")
	wrongNode(t, "pids_limit: many", "is not a whole number")
	wrongNode(t, "cpus: -1", "is not a number from 0")
	wrongNode(t, "shm_size: 0", "is not a size")
	wrongNode(t, "tmpfs: /t:size=much", `option "size=much" has an invalid value`)
	wrongNode(t, "tmpfs: /t:colour=red", `unknown option "colour=red"`)
	wrongNode(t, "volumes: [{type: tmpfs, target: /t, tmpfs: {mode: rwx}}]", `"rwx" is not a mode`)
	wrongNode(t, "volumes: [{type: volume, target: /t, volume: {subpath: x}}]", "is not supported")
	wrongNode(t, "oom_score_adj: 1001", "from -1000 to 1000")
}

// A rate of 0 in a rule is a mistake, but where it turns off what a preset has.
func TestRulesOfRateZero(t *testing.T) {
	for text, want := range map[string]bool{
		"{rules: [crash on n1 rate 0, pause rate 0.1]}":                true,
		"{rules: [{kind: crash, rate: 0}, pause rate 0.1]}":            true,
		"{process: {pause_probability: 0.1}, rules: [crash rate 0]}":   true,
		"{enabled: false, rules: [crash rate 0]}":                      true,
		"{rules: [crash on n1 rate 0.1, crash on n1 when time_s > 5]}": false,
		"{preset: moderate, rules: [crash rate 0]}":                    false,
		"{preset: moderate, rules: [power_loss rate 0]}":               true,
		"{process: {crash_probability: 0}}":                            false,
	} {
		r := loaded(t, Options{Path: filepath.Join(project(t, "bloodhound.yaml\nnodes: {n1: {command: x}}\nfaults: "+text+"\n"), "bloodhound.yaml")})
		if got := noted(r, "its rate is 0, so it never injects"); got != want {
			t.Errorf("%s: noted is %t; %v", text, got, r.Notes)
		}
	}
}

// Rules that inject nothing are refused where nothing else does.
func TestRulesThatInjectNothing(t *testing.T) {
	for _, text := range []string{
		"{rules: [crash on n1 rate 0]}",
		"{rules: [crash at fsync nth 3 rate 0, pause rate 0]}",
		"{rules: [{kind: crash, rate: 0}]}",
		"{process: {crash_probability: 0}, rules: [power_loss between rename and fsync rate 0]}",
	} {
		dir := project(t, "bloodhound.yaml\nnodes: {n1: {command: x}}\nfaults: "+text+"\n")
		_, err := Load(Options{Path: filepath.Join(dir, "bloodhound.yaml"), Images: anyImage})
		if err == nil || !strings.Contains(err.Error(), "bloodhound.yaml:2:") ||
			!strings.Contains(err.Error(), "all rates are 0") || !strings.Contains(err.Error(), "^") {
			t.Errorf("%s: %v", text, err)
		}
	}
}

func TestBounds(t *testing.T) {
	dir := project(t, `bloodhound.yaml
nodes:
  n1:
    command: x
    cpu_quota: 25000
    ulimits: {nofile: -1, core: {hard: 5}, stack: 100}
    tmpfs: ["/t:size=1m,mode=1770,uid=5,noexec"]
    volumes: [{type: tmpfs, target: /s, tmpfs: {size: 2m, mode: 0o700}}]
  n2: {command: x, cpus: 2.5}
  n3: {command: x, deploy: {resources: {limits: {cpus: "0.1", memory: 64m, pids: 9}}}}
`)
	r := loaded(t, Options{Path: filepath.Join(dir, "bloodhound.yaml")})
	n := node1(t, r, "n1")
	if want := (world.Bounds{CPUPPM: 250_000,
		Rlimits: []world.Rlimit{{Name: "stack", Soft: 100, Hard: 100}, {Name: "core", Soft: 5, Hard: 5},
			{Name: "nofile", Soft: 1 << 20, Hard: 1 << 20}}}); !reflect.DeepEqual(n.Bounds, want) {
		t.Errorf("%+v, want %+v", n.Bounds, want)
	}
	if want := []world.Volume{{Kind: world.Tmpfs, Target: "/s", SizeBytes: 2 << 20, Mode: 0o700},
		{Kind: world.Tmpfs, Target: "/t", SizeBytes: 1 << 20, Mode: 0o1770, UID: 5}}; !reflect.DeepEqual(n.Volumes, want) {
		t.Errorf("%+v, want %+v", n.Volumes, want)
	}
	if node1(t, r, "n2").Bounds.CPUPPM != 0 || !noted(r, "every node has one CPU") {
		t.Errorf("notes %v", r.Notes)
	}
	if got, want := node1(t, r, "n3").Bounds, (world.Bounds{CPUPPM: 100_000, MemoryBytes: 64 << 20, Tasks: 9}); !reflect.DeepEqual(got, want) {
		t.Errorf("%+v, want %+v", got, want)
	}
}
