package workload

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/bloodhound-dst/bloodhound/internal/world"
)

// A schedule is taken apart by its clients, and what no driver can play is refused.
func TestSchedule(t *testing.T) {
	of := func(driver string, list ...world.Scheduled) (*settings, error) {
		return newSettings(&world.Workload{Name: "w", Driver: driver, Clients: 2, DurationNs: 1e9, Targets: []string{driver + "://n1:80"}, Schedule: list}, nil)
	}
	s, err := of("http", world.Scheduled{AtMs: 1.5, Client: 1, Op: "PUT", Key: "/a/b", Value: "v"},
		world.Scheduled{AtMs: 2, Op: "get", Key: "k"}, world.Scheduled{AtMs: 2, Client: 1, Op: "delete", Key: "k"})
	if err != nil {
		t.Fatal(err)
	}
	if a, b := s.schedule[0], s.schedule[1]; len(a) != 1 || len(b) != 2 || a[0].entry.Kind != "get" || b[0].at != 1_500_000 ||
		b[0].entry.Path != "/a/b" || b[0].value != "v" || b[1].key != "k" {
		t.Errorf("%+v", s.schedule)
	}
	for want, list := range map[string][]world.Scheduled{
		`operation 1 of the schedule: driver http cannot play "incr"; it can play put, get, delete`: {{Op: "incr"}},
		"operation 2 of the schedule: it comes before the operation above it":                       {{AtMs: 2, Op: "get"}, {AtMs: 1, Op: "get"}},
		"operation 1 of the schedule: there is no client 2; clients are 0 to 1":                     {{Op: "get", Client: 2}},
	} {
		if _, err := of("http", list...); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v, want %s", err, want)
		}
	}
}

// A workload lasts as long as its duration says, though its last operation has returned.
func TestScheduleLasts(t *testing.T) {
	const lasts = 200 * time.Millisecond
	s, err := newSettings(&world.Workload{Name: "w", Driver: "http", DurationNs: lasts.Nanoseconds(),
		Targets: []string{refusing(t)}, Schedule: []world.Scheduled{{Op: "get", Key: "k"}}}, nil)
	if err != nil {
		t.Fatal(err)
	}
	name := filepath.Join(t.TempDir(), "report")
	if err := os.WriteFile(name, nil, 0o666); err != nil {
		t.Fatal(err)
	}
	report, err := openReport(name)
	if err != nil {
		t.Fatal(err)
	}
	defer report.close()
	start := time.Now()
	if counts, err := s.run(1, report, nil); err != nil || counts.fail != 1 || time.Since(start) < lasts {
		t.Errorf("%+v, %v within %s", counts, err, time.Since(start))
	}
}
