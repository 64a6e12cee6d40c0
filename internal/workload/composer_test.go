package workload

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

func TestPrefixes(t *testing.T) {
	for name, want := range map[string]string{"first_x": first, "parallel_driver_x.sh": parallel, "serial_driver_x": serial, "singleton_driver_x": singleton,
		"eventually_x": eventually, "finally_x": finally, "anytime_x": anytime, "anytime_": "", "anytime": "", "helper_x": "",
		"driver_x": "", "parallel_x": "", "xfirst_x": ""} {
		if got := prefixOf(name); got != want {
			t.Errorf("%s is a command of %q, want %q", name, got, want)
		}
	}
}

// A template that could not run as it is meant is refused, and not run in part.
func TestTemplates(t *testing.T) {
	for _, c := range []struct{ files, problem string }{
		{"first_a parallel_driver_a helper.py-", ""},
		{"anytime_a", ""},
		{"first_a eventually_a", "no command of parallel_driver_"},
		{"parallel_driver_a finally_a-", "finally_a is not executable"},
	} {
		dir := t.TempDir()
		for _, name := range strings.Fields(c.files) {
			mode := os.FileMode(0o755)
			if strings.HasSuffix(name, "-") {
				mode = 0o644
			}
			if err := os.WriteFile(filepath.Join(dir, strings.TrimSuffix(name, "-")), nil, mode); err != nil {
				t.Fatal(err)
			}
		}
		_, err := readTemplate(dir)
		if c.problem == "" && err != nil || c.problem != "" && (err == nil || !strings.Contains(err.Error(), c.problem)) {
			t.Errorf("%s: %v; want %q", c.files, err, c.problem)
		}
	}
	empty := t.TempDir()
	if _, err := chooseTemplate(empty, newDice(1, 0, 0)); err == nil || !strings.Contains(err.Error(), "no test template") {
		t.Errorf("an empty folder: %v", err)
	}
}

// Every way to run a template is drawn, and none that is not one.
func TestPlans(t *testing.T) {
	commands := map[string][]string{first: {"first_a", "first_b"}, parallel: {"parallel_driver_a"}, singleton: {"singleton_driver_a"},
		eventually: {"eventually_a"}, finally: {"finally_a", "finally_b"}}
	seen := map[string]int{}
	for seed := range uint64(300) {
		c := &composer{commands: commands, dice: newDice(seed, 0, 0), duration: 8 * time.Second}
		p := c.plan(3)
		seen[p.first]++
		seen["alone "+p.singleton]++
		seen[p.last]++
		seen["width "+string(rune('0'+p.width))]++
		if (p.cut > 0) != (p.last == "eventually_a") || p.cut > 0 && (p.cut < 2*time.Second || p.cut > 8*time.Second) {
			t.Fatalf("%+v", p)
		}
	}
	for _, want := range []string{"first_a", "first_b", "alone ", "alone singleton_driver_a", "eventually_a", "finally_a",
		"finally_b", "width 1", "width 2", "width 3"} {
		if seen[want] < 50 {
			t.Errorf("%q in %d of 300 plans", want, seen[want])
		}
		delete(seen, want)
	}
	if len(seen) > 0 {
		t.Errorf("plans of another template: %v", seen)
	}
}

func TestStopFaultsRefuses(t *testing.T) {
	for _, args := range [][]string{nil, {"x"}, {"0"}, {"-1"}, {"NaN"}, {"1", "2"}} {
		var said strings.Builder
		if code := StopFaults(args, &said); code == 0 || !strings.Contains(said.String(), "seconds") {
			t.Errorf("%q: exit code %d, %q", args, code, said.String())
		}
	}
}
