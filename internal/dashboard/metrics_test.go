package dashboard

import (
	"encoding/json"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"github.com/bloodhound-dst/bloodhound/internal/records"
)

var (
	metricHead   = regexp.MustCompile(`^# (HELP|TYPE) ([a-z_]+) (.+)$`)
	metricSample = regexp.MustCompile(`^([a-z_]+)(?:\{((?:[a-z_]+="(?:[^"\\]|\\["\\n])*",?)*)\})? (\S+)$`)
)

// readMetrics reads the text format strictly: each family has its help, its type and then its samples, in one piece, and each sample once.
func readMetrics(t *testing.T, text string) map[string]int {
	t.Helper()
	samples := map[string]int{}
	seen := map[string]bool{}
	now, kind := "", ""
	if !strings.HasSuffix(text, "\n") {
		t.Error("the last line does not end")
	}
	for i, line := range strings.Split(strings.TrimSuffix(text, "\n"), "\n") {
		if m := metricHead.FindStringSubmatch(line); m != nil {
			switch {
			case m[1] == "HELP":
				if _, had := samples[m[2]]; had {
					t.Errorf("line %d: %s comes twice", i, m[2])
				}
				now, kind = m[2], ""
				samples[now] = 0
			case m[2] != now || kind != "" || m[3] != "gauge" && m[3] != "counter":
				t.Errorf("line %d: %s", i, line)
			default:
				kind = m[3]
			}
			continue
		}
		m := metricSample.FindStringSubmatch(line)
		if m == nil || m[1] != now || kind == "" {
			t.Errorf("line %d is no sample of %s: %s", i, now, line)
			continue
		}
		if (kind == "counter") != strings.HasSuffix(now, "_total") {
			t.Errorf("%s is a %s", now, kind)
		}
		if _, err := strconv.ParseFloat(m[3], 64); err != nil {
			t.Errorf("line %d: %v", i, err)
		}
		key := m[1] + "{" + m[2]
		if seen[key] {
			t.Errorf("line %d: %s comes twice", i, key)
		}
		seen[key] = true
		samples[now]++
	}
	return samples
}

func TestMetrics(t *testing.T) {
	db := filled(t)
	for _, name := range []string{"hostile \" \\ \n{} \x1b[31m", strings.Repeat("long ", 100), strings.Repeat("long ", 101), "\xff\xfe"} {
		more := records.Test{Name: name, Definition: "d"}
		if err := db.Add(t.Context(), more.Entry()); err != nil {
			t.Fatal(err)
		}
	}
	s := serve(t, of(db))
	text, r := get(t, s, "/metrics")
	if !strings.HasPrefix(r.Header.Get("Content-Type"), "text/plain; version=0.0.4") {
		t.Error(r.Header)
	}
	samples := readMetrics(t, text)
	for _, want := range []string{`bloodhound_database_up 1`, `bloodhound_workers_alive 2`, `finding="new",canary="false"} 1`,
		`bloodhound_requests_open 1`, `class="any"`, `bloodhound_canary_found{test="canary"`} {
		if !strings.Contains(text, want) {
			t.Errorf("no %s in\n%s", want, text)
		}
	}

	// Grafana's dashboard asks for metrics that are there.
	b, err := os.ReadFile(filepath.Join("..", "..", "deploy", "grafana-dashboard.json"))
	if err != nil {
		t.Fatal(err)
	}
	var board struct {
		Panels []struct {
			Title   string
			Targets []struct{ Expr string }
		}
	}
	if err := json.Unmarshal(b, &board); err != nil || len(board.Panels) < 5 {
		t.Fatal(len(board.Panels), err)
	}
	for _, p := range board.Panels {
		for _, target := range p.Targets {
			names := regexp.MustCompile(`bloodhound_[a-z_]+`).FindAllString(target.Expr, -1)
			if len(names) == 0 {
				t.Errorf("%s asks for no metric", p.Title)
			}
			for _, name := range names {
				if n, is := samples[name]; !is || n == 0 {
					t.Errorf("%s asks for %s, which has %d samples", p.Title, name, n)
				}
			}
		}
	}
}

// The test of the format can fail.
func TestReadMetrics(t *testing.T) {
	for _, bad := range []string{"x 1\n", "# HELP x y\n# TYPE x gauge\nx{a=\"b\"c\"} 1\n",
		"# HELP x y\n# TYPE x gauge\nx 1\nx 2\n", "# HELP x y\n# TYPE x counter\nx 1\n", "# HELP x y\n# TYPE x gauge\nx one\n",
		"# HELP x y\n# TYPE x gauge\nx 1"} {
		fake := &testing.T{}
		readMetrics(fake, bad)
		if !fake.Failed() {
			t.Errorf("taken: %q", bad)
		}
	}
}
