package examples

import (
	"encoding/json"
	"os"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"testing"
)

// toss is a server that lives for a second and then tosses a coin: in 77 of 256 cases it fails.
const toss = `
simulation: {max_time: 5s}
nodes:
  n1:
    command: [/bin/sh, -c, "sleep 1; [ $$(od -An -N1 -tu1 /dev/urandom) -ge 77 ] || exit 3; exec sleep 60"]
faults: {enabled: false}
`

// tossNs is when the server tosses: after its second, and the start of od.
const tossNs = 1_003_248_100

// point is what explain's document says of a cut point.
type point struct {
	AtNs      int64 `json:"at_ns"`
	Low, High float64
}

// A coin of which the probability is known: explain finds the toss, and its intervals have the probability in at least 95 of 100 cases.
func TestExplainToss(t *testing.T) {
	if testing.Short() || runtime.GOOS != "linux" || runtime.GOARCH != "amd64" {
		t.Skip("runs worlds: Linux x86-64, and not with -short")
	}
	campaigns, least := 3, 85 // few intervals, of which a few more may miss
	if os.Getenv("BLOODHOUND_SOAK") != "" {
		campaigns, least = 60, 95
	}
	program := bloodhound(t)
	folder := t.TempDir()
	if err := os.WriteFile(filepath.Join(folder, "bloodhound.yaml"), []byte(toss), 0o666); err != nil {
		t.Fatal(err)
	}
	inside, all := 0, 0
	for seed := range campaigns {
		var found struct {
			Campaign struct{ Failures []struct{ ID string } }
		}
		out, code := call(t, program, "explore", folder, "--json", "--seeds", "100", "--seed", strconv.Itoa(seed+1), "--no-shrink")
		if err := json.Unmarshal(out, &found); err != nil || code != violated || len(found.Campaign.Failures) != 1 {
			t.Fatalf("exit code %d, %v\n%s", code, err, out)
		}
		var explained struct {
			Points  []point
			Ended   string
			Jump    struct{ Before, After point }
			Decided []struct{ Stream string }
		}
		out, code = call(t, program, "explain", found.Campaign.Failures[0].ID, folder, "--json", "--time", "1h")
		if err := json.Unmarshal(out, &explained); err != nil || code != 0 || explained.Ended != "" {
			t.Fatalf("exit code %d, %v\n%s", code, err, out)
		}
		for _, p := range append(explained.Points, explained.Jump.Before, explained.Jump.After) {
			want := 77.0 / 256
			if p.AtNs > tossNs {
				want = 1
			}
			if all++; p.Low <= want && want <= p.High {
				inside++
			}
		}
		if j := explained.Jump; j.Before.AtNs > tossNs || j.After.AtNs < tossNs || j.After.AtNs-j.Before.AtNs > 2e6 {
			t.Errorf("seed %d: the jump is from %d to %d ns", seed+1, j.Before.AtNs, j.After.AtNs)
		}
		for _, d := range explained.Decided {
			if strings.HasPrefix(d.Stream, "fault/") {
				t.Errorf("seed %d: %s is no decision of this run", seed+1, d.Stream)
			}
		}
	}
	if t.Logf("%d of %d intervals have the probability", inside, all); inside*100 < least*all {
		t.Errorf("fewer than %d of 100", least)
	}
}
