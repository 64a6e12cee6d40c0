package prometheus

import (
	"errors"
	"fmt"
	"io"
	"math"
	"math/rand/v2"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/prometheus/prometheus/model/labels"
	"github.com/prometheus/prometheus/model/textparse"
)

// theirs is samples by Prometheus' parser.
func theirs(text string, each func(l labels.Labels, v float64)) (err error) {
	defer func() {
		if recover() != nil { // a name of one letter in braces
			err = errors.New("it panicked")
		}
	}()
	p := textparse.NewPromParser([]byte(text), labels.NewSymbolTable(), false)
	for {
		entry, err := p.Next()
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return err
		}
		if entry == textparse.EntrySeries {
			var l labels.Labels
			p.Labels(&l)
			_, _, v := p.Series()
			each(l, v)
		}
	}
}

func sampled(text string, by func(string, func(labels.Labels, float64)) error) (lines []string, err error) {
	err = by(text, func(l labels.Labels, v float64) { lines = append(lines, fmt.Sprintf("%s %x", l, math.Float64bits(v))) })
	return lines, err
}

// Any text gives the samples that it gives by Prometheus' own parser, and a mistake where that finds one.
func TestSamplesAreThoseOfPrometheus(t *testing.T) {
	texts := []string{
		"", "up 1", "up 1\n", "\n\n up 1\n", "\tup\t1\t1700000000000\t\n", "up 1 -5\n", "up 1 1 1\n", "up 1 99999999999999999999\n",
		"# HELP up \xff\nup 1\n", "# HELP up what it says\n# TYPE up gauge\nup NaN\nup +Inf\nup -inf\nup 0x1p3\nup 1_0\n",
		"# TYPE h histogram\nh_bucket{le=\"1\"} 2\nh_bucket{le=\"+Inf\"} 3\nh_bucket{le=\"x\"} 3\nh{quantile=\"1\"} 1\n",
		"# TYPE s summary\ns{quantile=\"0.50\"} 1\n",
		"#EOF\nup 1\n", "# \n#\n# TYPE\n# TYPE \n", "# TYPE up  gauge\n", "# HELP up\n", "# TYPE up\n", "# HELP up   \nup 1\n", "# HELP \"a b\" c\nup 2\n",
		`up{a="b",c="d",} 1`, `up{a="b" c="d"} 1`, `up{a="b",,} 1`, `up{,} 1`, `up{} 1`, `{"up"} 1`, `{"up",a="b"} 1`, `{a="b","up"} 1`, `{"up","up"} 1`,
		`up{"a b"="c"} 1`, `up{a} 1`, `{abc} 1`, `{ab} 1`, `{a} 1`, `{""} 1`, `{} 1`, `up{b="2",a="1",b="3"} 1`, `up{__name__="down"} 1`, `up{a=""} 1`,
		"up{a=\"line\nbreak\"} 1\nup{a=\"\\n\\\"\\\\\\x\"} 1\n", `up{a="b"}{c="d"} 1`, `up{a="b"} 1 {}`, "up{a=\"\xff\"} 1", "up{a=\"b\\\nc\"} 1", `up{a="b`,
		"up 1\x00up 2\n", "up 1\n\x00up 2\n", "#\x00\nup 1\n", "# \x00\nup 1\n", "# a\x00b\nup 1\n", "#a\x00b\nup 1\n", "up{a=\"\x00b\"} 1\nup 2\n",
		"up 1\rup 2\n", "up 1\r\n", "1 1\n", "é 1\n", "up é\n", "up{é=\"a\"} 1\n", `up{a:b="c"} 1`, "a:b 1\n",
	}
	compare := func(text string) {
		t.Helper()
		got, err := sampled(text, samples)
		want, theirs := sampled(text, theirs)
		if !slices.Equal(got, want) || (err == nil) != (theirs == nil) {
			t.Fatalf("%q gives\n%s\n%v\nand by Prometheus' parser\n%s\n%v", text, strings.Join(got, "\n"), err, strings.Join(want, "\n"), theirs)
		}
	}
	for _, text := range texts {
		compare(text)
	}
	rounds := 5_000
	if os.Getenv("BLOODHOUND_SOAK") != "" {
		rounds = 1_000_000
	}
	r := rand.New(rand.NewPCG(1, 2))
	pieces := []string{"up", "a", "_x", ":", "1", "0.5", "NaN", " ", "\t", "\n", "{", "}", "=", ",", `"`, `"a b"`, `"le"`, "le=\"0.10\"", "\\", `\n`, "#", "# ", "# HELP ",
		"# TYPE up ", "counter", "histogram", "summary", "é", "\xff", "-", "e3", "\r"}
	for range rounds {
		text := texts[r.IntN(len(texts))]
		for range 1 + r.IntN(6) {
			at, cut := r.IntN(len(text)+1), r.IntN(3)
			text = text[:at] + pieces[r.IntN(len(pieces))] + text[min(len(text), at+cut):]
		}
		if !strings.Contains(text, "\x00") { // the generated parser takes zeros for the end in some places
			compare(text)
		}
	}
}
