package workload

import (
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/bloodhound-dst/bloodhound/internal/world"
)

// Scrapes keep what rules ask for, and refuse what is no metrics.
func TestScrape(t *testing.T) {
	body := "# HELP jobs Jobs.\n# TYPE jobs gauge\njobs{kind=\"a } b\"} 3\n\njobs_total 4 1700000000000\nother{le=\"+Inf\"} +Inf\n"
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch r.URL.Path {
		case "/metrics":
			w.Write([]byte(body))
		case "/page":
			w.Write([]byte("<html>\nhello\n"))
		case "/half":
			w.Write([]byte("jobs{kind=\"a\"} 3\njobs{kind=\"b\"} many\n"))
		default:
			w.WriteHeader(http.StatusNotFound)
		}
	}))
	defer server.Close()
	host := strings.TrimPrefix(server.URL, "http://")
	name, port, _ := strings.Cut(host, ":")
	ask := func(path string, all bool) (int, string, world.Scraped) {
		c := &world.Check{Type: world.AlertsCheck, IntervalNs: int64(time.Minute), Alerts: &world.Alerts{Keep: []string{"jobs"}, All: all,
			Scrapes: []world.Scrape{{Job: "queue", Endpoint: "http://{node}:" + port + path, Nodes: []string{name}}}}}
		code, text, scrapes := scrape(c)
		if len(scrapes) != 1 || scrapes[0].Job != "queue" || scrapes[0].Instance != host {
			t.Fatalf("%+v", scrapes)
		}
		return code, text, scrapes[0]
	}
	if code, text, s := ask("/metrics", false); code != world.ProbeHolds || text != "1 of 1 targets have metrics" ||
		s.Text != "jobs{kind=\"a } b\"} 3\n" || s.Error != "" {
		t.Errorf("%d %q %+v", code, text, s)
	}
	if _, _, s := ask("/metrics", true); strings.Count(s.Text, "\n") != 3 {
		t.Errorf("%+v", s)
	}
	for path, want := range map[string]string{"/page": `a line without a name: "<html>"`,
		"/half": `a line without a number: "jobs{kind=\"b\"} many"`, "/nothing": "status 404"} {
		if code, text, s := ask(path, false); code != world.ProbeNoAnswer || !strings.HasSuffix(s.Error, want) || s.Text != "" ||
			!strings.HasSuffix(text, want) {
			t.Errorf("%s: %d %q %+v", path, code, text, s)
		}
	}
}
