package report

import (
	"strings"
	"testing"

	"github.com/bloodhound-dst/bloodhound/internal/coverage"
)

func TestReached(t *testing.T) {
	var b strings.Builder
	features := coverage.Sort([]coverage.Feature{coverage.New(coverage.Message, "a -> b :1 \x1b[31mGET <8"),
		coverage.New(coverage.Log, "n: ready x2"), coverage.New(coverage.Log, "n: ready")})
	if err := Reached(&b, features, []coverage.Nearness{{Name: "p: longest recovery", Distance: 0.25, Says: "3 s of 4"}}); err != nil {
		t.Fatal(err)
	}
	want := "\nreached\n  log         n: ready\n  log         n: ready x2\n  message     a -> b :1 \\x1b[31mGET <8\n\nnear\n  " +
		"0.2500  p: longest recovery: 3 s of 4\n"
	if b.String() != want {
		t.Errorf("%q\nwant %q", b.String(), want)
	}
}
