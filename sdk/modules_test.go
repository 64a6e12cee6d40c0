package sdk_test

import (
	"database/sql/driver"
	"fmt"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/bloodhound-dst/bloodhound/internal/testkit/needs"
	"github.com/bloodhound-dst/bloodhound/sdk"
	"github.com/bloodhound-dst/bloodhound/sdk/httpfault"
	"github.com/bloodhound-dst/bloodhound/sdk/machine"
	"github.com/bloodhound-dst/bloodhound/sdk/machinefault"
	"github.com/bloodhound-dst/bloodhound/sdk/sqlfault"
)

// Packages grpcfault and redisfault are modules of their own, so that users of package sdk depend on neither gRPC nor go-redis.
func TestModules(t *testing.T) {
	files, err := filepath.Glob("*/go.mod")
	if err != nil || len(files) < 2 {
		t.Fatalf("the modules are %q, %v", files, err)
	}
	for _, file := range files {
		folder := filepath.Dir(file)
		t.Run(folder, func(t *testing.T) {
			if testing.Short() {
				t.Skipf("a module of its own: cd sdk/%s && go test ./...", folder)
			}
			needs.Module(t, folder, []string{"vet", "./..."}, []string{"test", "./..."})
		})
	}
}

// A mistake in the use of these packages is the failure of the test, in one line with the place of the call.
func TestMistakes(t *testing.T) {
	wrong := sdk.Rates{Before: 1.5}
	for want, body := range map[string]func(*sdk.Run){
		"sdk: the rate 1.5 of db_exec_before is not between 0 and 1: write a share of the calls, such as 0.05": func(r *sdk.Run) {
			sdk.NewPoint(r,
				"db", "exec", wrong)
		},
		"sdk: the rate 1.5 of db_commit_before is not": func(r *sdk.Run) { sqlfault.Wrap(driver.Connector(nil), "db", sqlfault.Faults{Commit: wrong}, r) },
		"sqlfault: commit of db cannot be late or twice": func(r *sdk.Run) {
			sqlfault.Wrap(driver.Connector(nil), "db", sqlfault.Faults{Commit: sdk.Rates{Twice: 0.1}}, r)
		},
		"sdk: the rate -1 of pay_charge_after is not": func(r *sdk.Run) {
			httpfault.Transport(nil, "pay", r, httpfault.Route{Pattern: "/", Operation: "charge", Rates: sdk.Rates{After: -1}})
		},
		"httpfault: the route \"/\" of pay needs an operation": func(r *sdk.Run) { httpfault.Handler(nil, "pay", r, httpfault.Route{Pattern: "/"}) },
		"httpfault: pay charge: the Pattern is missing: write one as for": func(r *sdk.Run) {
			httpfault.Handler(nil, "pay", r,
				httpfault.Route{Operation: "charge"})
		},
		"sdk: the rate 1.5 of disk_read_before is not": func(r *sdk.Run) { machinefault.NewDisk(t.TempDir(), "disk", machinefault.DiskFaults{Read: wrong}, r) },
		"machinefault: clock drifts by 0 parts": func(r *sdk.Run) {
			machinefault.NewClock(machine.System(), "clock", machinefault.ClockFaults{Drift: 0.1}, r)
		},
		`sdk: Choose("op", 0)`:                     func(r *sdk.Run) { r.Choose("op", 0) },
		"sdk: orders must make progress within 0s": func(r *sdk.Run) { r.Progress("orders", time.Duration(0)) },
	} {
		text, ok := sdk.Campaign{Runs: 2}.Search(t, body)
		if place, says, _ := strings.Cut(text, ": "); ok || !strings.HasPrefix(place, "modules_test.go:") ||
			!strings.HasPrefix(says, want) || strings.Contains(text, "\n") {
			t.Errorf("not %q, but %v, %s", want, ok, text)
		}
	}
	for _, own := range []any{"the program's", fmt.Errorf("the program's")} {
		if text, ok := (sdk.Campaign{Runs: 2}).Search(t, func(*sdk.Run) { panic(own) }); ok || !strings.Contains(text, "panic: the program's\ngoroutine ") {
			t.Errorf("%v, %s", ok, text)
		}
	}
}
