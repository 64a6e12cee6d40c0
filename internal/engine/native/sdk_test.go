//go:build linux && amd64

package native_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/bloodhound-dst/bloodhound/internal/check"
	"github.com/bloodhound-dst/bloodhound/internal/coverage"
	"github.com/bloodhound-dst/bloodhound/internal/engine"
	"github.com/bloodhound-dst/bloodhound/internal/engine/native"
	"github.com/bloodhound-dst/bloodhound/internal/record"
	"github.com/bloodhound-dst/bloodhound/internal/sdk"
	"github.com/bloodhound-dst/bloodhound/internal/tape"
	"github.com/bloodhound-dst/bloodhound/internal/testkit/needs"
)

// sdkPrograms are programs that report the same assertions: by the SDK for Go, with and without cgo, and by a script that
// writes the protocol itself.
func sdkPrograms(t *testing.T) map[string][]string {
	programs := map[string][]string{}
	for name, cgo := range map[string]string{"go": "CGO_ENABLED=1", "go without cgo": "CGO_ENABLED=0"} {
		program := filepath.Join(t.TempDir(), "told")
		build := exec.Command("go", "build", "-o", program, ".") // a module of its own
		build.Dir, build.Env = "testdata/sdk/go", append(os.Environ(), cgo)
		if out, err := build.CombinedOutput(); err != nil {
			t.Fatalf("%v\n%s", err, out)
		}
		programs[name] = []string{program}
	}
	if _, err := os.Stat("/usr/bin/python3"); err == nil {
		text, err := os.ReadFile("testdata/sdk/told.py")
		script := filepath.Join(t.TempDir(), "told.py")
		if err == nil {
			err = os.WriteFile(script, append([]byte("#!/usr/bin/python3\n"), text...), 0o755)
		}
		if err != nil {
			t.Fatal(err)
		}
		programs["python"] = []string{script}
	}
	return programs
}

// Assertions that a program carries are properties without any configuration.
//
//ci:underway
func TestSDK(t *testing.T) {
	for name, argv := range sdkPrograms(t) {
		for _, broken := range []bool{false, true} {
			title := name + ", sound"
			if broken {
				title, argv = name+", broken", append(argv, "broken")
			}
			t.Run(title, func(t *testing.T) {
				spec := aloneSpec(argv...)
				spec.MaxTimeNs = 20e9
				_, out := run(t, spec, 1)
				verdicts := map[string]check.Verdict{}
				for _, v := range check.Judge(spec, out) {
					verdicts[v.Property] = v
				}
				// A program without a health check is ready at once; nothing waits for what it has not begun to use.
				want := map[string]check.Status{"Always: holds": check.Holds, "Always: breaks": check.Holds, "AlwaysOrUnreachable: optional": check.Holds,
					"Always: positive": check.Holds, "Sometimes: lucky": check.Holds, "Sometimes: unlucky": check.NotYet, "Reachable: here": check.Holds}
				if broken {
					want["Always: breaks"], want["Unreachable: nowhere"] = check.Violated, check.Violated
				} else if name == "python" {
					want["Unreachable: nowhere"] = check.Holds // its catalog has it
				}
				for property, status := range want {
					if got := verdicts[property].Status; got != status {
						t.Errorf("%s is %q: %s; want %q", property, got, verdicts[property].Reason, status)
					}
					delete(verdicts, property)
				}
				for property, v := range verdicts {
					if strings.Contains(property, ":") || v.Status == check.Violated {
						t.Errorf("%s is %s: %s", property, v.Status, v.Reason)
					}
				}
				r := &out.SDK
				if r.Setup == nil || r.Setup.TimeNs < 2e9 || r.Setup.Details == "" || !r.Late || r.Unread != 0 {
					t.Errorf("setup %+v, late %v, %d lines that cannot be read: %s", r.Setup, r.Late, r.Unread, r.FirstUnread)
				}
				if len(r.Events) != 1 || r.Events[0].Name != "transfer" || !strings.Contains(r.Events[0].Details, `"a"`) {
					t.Errorf("events %+v", r.Events)
				}
				if len(r.Guidance) != 1 || r.Guidance[0].Count == 0 || !strings.Contains(r.Guidance[0].Values[0].Details, "left") {
					t.Errorf("guidance %+v", r.Guidance)
				}
				if broken {
					a := assertion(r, "breaks")
					if a.Fail == nil || a.Fail.TimeNs < 2.3e9 || a.Fail.Event == 0 || a.Fail.PID != 10 ||
						!strings.Contains(a.Fail.Details, "7") || a.Location.Line != 21 && a.Location.Line != 20 {
						t.Errorf("%+v failed at %+v", a, a.Fail)
					}
				}
			})
		}
	}
}

func assertion(r *sdk.Record, id string) sdk.Assertion {
	for _, a := range r.Assertions {
		if a.ID == id {
			return a
		}
	}
	return sdk.Assertion{}
}

// Setup waits for a program to say that it is complete, and not for ever.
func TestSetupWaitsForPrograms(t *testing.T) {
	for _, c := range []struct {
		script      string
		setupNs     int64
		late, holds bool
		endNs       int64 // of setup, at least
	}{
		{`sleep 3; echo '{"antithesis_setup":{"status":"complete"}}' >>$ANTITHESIS_OUTPUT_DIR/sdk.jsonl; sleep 99`, 10e9, false, true, 3e9},
		{`sleep 3; echo '{"antithesis_setup":{"status":"complete"}}' >>$ANTITHESIS_SDK_LOCAL_OUTPUT; sleep 99`, 1e9, true, false, 1e9},
		{`sleep 3; echo '{"antithesis_setup":{"status":"complete"}}' >>$ANTITHESIS_SDK_LOCAL_OUTPUT; sleep 99`, -1, true, true, 0},
		{`sleep 99`, 10e9, true, false, 10e9},
		{`sleep 99`, 0, false, true, 0},
	} {
		spec := aloneSpec("/bin/sh", "-c", c.script)
		spec.MaxTimeNs, spec.SetupNs = 40e9, c.setupNs
		chaosNs := int64(-1)
		out, err := engine.Run(native.New(), spec, tape.Tape{Seed: 1}, engine.Options{Observe: func(e *record.Event) {
			if e.Call == "phase" && e.Detail == "chaos" {
				chaosNs = e.TimeNs
			}
		}})
		if err != nil {
			t.Fatal(err)
		}
		holds := true
		for _, v := range check.Judge(spec, out) {
			holds = holds && v.Status == check.Holds
		}
		if chaosNs < c.endNs || chaosNs > c.endNs+1e8 || out.SDK.Late != c.late || holds != c.holds || out.Reason != record.Finished {
			t.Errorf("%q, waiting %d: setup ended at %d, late %v, holds %v, the run %s; want about %d, %v, %v", c.script,
				c.setupNs, chaosNs, out.SDK.Late, holds,
				out.Reason, c.endNs, c.late, c.holds)
		}
	}
}

// A line counts when it was written, in one piece or several, by whatever process; what was cut by a kill does not.
//
//ci:underway
func TestSDKLines(t *testing.T) {
	spec := aloneSpec("/bin/sh", "-c", `exec 3>$ANTITHESIS_SDK_LOCAL_OUTPUT; printf '{"one":' >&3; sleep 1; printf '1}\n{"two":2}\n{"thr' >&3; (printf 'ee":3}\n' >&3)
		: >$ANTITHESIS_SDK_LOCAL_OUTPUT; echo '{"four":4}' >>$ANTITHESIS_SDK_LOCAL_OUTPUT; echo 'no json' >&3; printf '{"five":5}' >&3; exec 3>&-
		printf '{"si' >>$ANTITHESIS_SDK_LOCAL_OUTPUT; sleep 99`)
	spec.MaxTimeNs = 5e9
	_, out := run(t, spec, 1)
	var names []string
	for _, e := range out.SDK.Events {
		names = append(names, e.Name+"="+e.Details)
	}
	if got := strings.Join(names, " "); got != "one=1 two=2 three=3 four=4 five=5" || out.SDK.Events[0].TimeNs < 1e9 {
		t.Errorf("events %s, the first at %d", got, out.SDK.Events[0].TimeNs)
	}
	if out.SDK.Unread != 1 || !strings.Contains(out.SDK.FirstUnread, "no json") {
		t.Errorf("%d lines cannot be read: %s", out.SDK.Unread, out.SDK.FirstUnread)
	}
}

// The last line of a program counts without its end where it is whole: the program lives on, ends, breaks down or is
// killed. A warning reports a line that is cut.
//
//ci:underway
func TestSDKLinesWithoutEnd(t *testing.T) {
	for _, end := range []string{"sleep 99", "exit 0", "exit 3", "kill -9 $$", "exec 3>&-; sleep 99"} {
		for _, c := range []struct {
			line   string
			events int
			cut    uint64
		}{{`{"last":1}`, 1, 0}, {`{"last":1`, 0, 1}, {`{"antithesis_assert":{"hit":true`, 0, 1}} {
			spec := aloneSpec("/bin/sh", "-c", "exec 3>$ANTITHESIS_SDK_LOCAL_OUTPUT; printf '"+c.line+"' >&3; printf 'no end'; "+end)
			spec.MaxTimeNs = 5e9
			log, out := run(t, spec, 1)
			warned := slices.ContainsFunc(out.Warnings, func(w string) bool {
				return strings.Contains(w, " on n1 did not finish a line for its SDK") && strings.Contains(w, "{")
			})
			if len(out.SDK.Events) != c.events || out.SDK.Truncated != c.cut || warned != (c.cut > 0) || out.SDK.Unread != 0 {
				t.Errorf("%s, then %s: events %+v, %d cut, warnings %q", c.line, end, out.SDK.Events, out.SDK.Truncated, out.Warnings)
			}
			if got := texts(log, "stdout"); len(got) != 1 || got[0] != "no end" {
				t.Errorf("then %s: the log has %q", end, got)
			}
		}
	}
}

// What assertions a program has reached, and how, is something that a run has reached.
func TestAssertionsAreReached(t *testing.T) {
	program := sdkPrograms(t)["python"]
	if program == nil {
		needs.Missing(t, "python3")
	}
	spec := aloneSpec(program...)
	spec.MaxTimeNs = 20e9
	out, err := engine.Run(native.New(), spec, tape.Tape{Seed: 1}, engine.Options{Behaviour: true})
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, f := range out.Reached {
		if f.Domain == coverage.Assertion {
			got = append(got, f.Text)
		}
	}
	slices.Sort(got)
	want := []string{`Always "breaks" true`, `Always "holds" true`, `Always "positive" true`, `AlwaysOrUnreachable "optional" true`,
		`Reachable "here" true`, `Sometimes "lucky" true`, `Sometimes "unlucky" false`}
	if !slices.Equal(got, want) {
		t.Errorf("reached %q, want %q", got, want)
	}
	near := check.Near(spec, out, nil)
	if len(near) != 1 || near[0].Name != "guidance: positive" || near[0].Distance <= 0.5 || near[0].Distance >= 0.6 {
		t.Errorf("near %v", near)
	}
}
