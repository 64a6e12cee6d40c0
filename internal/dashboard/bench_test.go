package dashboard

import (
	"context"
	"net/http"
	"net/http/httptest"
	"strings"
	"syscall"
	"testing"

	"github.com/bloodhound-dst/bloodhound/internal/store"
	"github.com/bloodhound-dst/bloodhound/internal/testkit/dashboardtest"
)

// BenchmarkColdOverview opens a folder of a million spans and shows the overview, and BenchmarkPages makes each page of it when it has been read.
func BenchmarkColdOverview(b *testing.B) {
	path := b.TempDir()
	dashboardtest.Spans(b, path)
	before := cpu()
	for b.Loop() {
		d, err := store.OpenDir(path)
		if err != nil {
			b.Fatal(err)
		}
		ctx, stop := context.WithCancel(b.Context())
		board := of(d)
		h := board.Handler(ctx)
		<-board.model.Caught() // a page waits for that, but on a busy machine not long enough
		body := show(h, "/")
		if !strings.Contains(body, "12,000,000") && !strings.Contains(body, "11,9") || strings.Contains(body, "still being read") {
			b.Fatalf("%.3000s", body)
		}
		stop()
		d.Close()
	}
	b.ReportMetric(float64(cpu()-before)/1e6/float64(b.N), "cpu-ms/op")
}

func BenchmarkPages(b *testing.B) {
	path := b.TempDir()
	dashboardtest.Spans(b, path)
	d, err := store.OpenDir(path)
	if err != nil {
		b.Fatal(err)
	}
	defer d.Close()
	board := of(d)
	handler := board.Handler(b.Context())
	<-board.model.Caught()
	for _, path := range []string{"/", "/test?id=" + string(testID), "/workers", "/compare", "/database", "/metrics"} {
		b.Run(path, func(b *testing.B) {
			before := cpu()
			for b.Loop() {
				show(handler, path)
			}
			b.ReportMetric(float64(cpu()-before)/1e6/float64(b.N), "cpu-ms/op")
		})
	}
}

func show(h http.Handler, path string) string {
	w := httptest.NewRecorder()
	r := httptest.NewRequest("GET", path, nil)
	r.Host = "localhost"
	h.ServeHTTP(w, r)
	return w.Body.String()
}

// cpu is the time of CPUs that this process has used, in ns.
func cpu() int64 {
	var u syscall.Rusage
	syscall.Getrusage(syscall.RUSAGE_SELF, &u)
	return u.Utime.Nano() + u.Stime.Nano()
}
