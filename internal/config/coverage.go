package config

import (
	"fmt"
	"math"
	"strconv"
	"strings"

	"github.com/bloodhound-dst/bloodhound/internal/config/source"
	"github.com/bloodhound-dst/bloodhound/internal/coverage/code"
)

// coverage reads `coverage:`, after `output:`.
func (l *loader) coverage(n *source.Node) {
	c := &l.result.Coverage
	for _, item := range n.Get("binaries").List() {
		if err := code.Check(item.Text); err != nil {
			l.Fail(item.Position, "write a name such as etcd, or a path; both may contain * and ?", "coverage.binaries: %s", err)
			continue
		}
		c.Binaries = append(c.Binaries, item.Text)
	}
	if t := n.Get("threshold"); t != nil {
		percent, remedy, err := Percent(t.Text)
		if err != nil {
			l.Fail(t.Position, remedy, "coverage.threshold: %s", err)
		}
		c.Threshold = &percent
	}
	asked := l.result.Output.CoverageFormat != "" || len(c.Binaries) > 0 || c.Threshold != nil
	c.Enabled = source.ValueOr(n.Get("enabled"), asked)
	if asked && !c.Enabled {
		for _, key := range []string{"binaries", "threshold"} {
			if v := n.Get(key); v != nil {
				l.Idle(v.Position, "coverage."+key, offByKey)
			}
		}
		if f := l.result.Output.CoverageFormat; f != "" {
			l.Idle(n.Get("enabled").Position, "output.coverage_format", offByKey)
		}
	}
}

const offByKey = "coverage.enabled is false (--coverage turns it on for one campaign)"

// Percent reads a share such as 80% or 80. A number up to 1 needs its sign: it could be a fraction of 1 too. The remedy is for
// an error.
func Percent(text string) (p float64, remedy string, err error) {
	number, signed := strings.CutSuffix(strings.TrimSpace(text), "%")
	p, err = strconv.ParseFloat(strings.TrimSpace(number), 64)
	switch {
	case err != nil || math.IsNaN(p) || p < 0 || p > 100:
		return 0, "write a percentage such as 80%", fmt.Errorf("%q is not a percentage from 0%% to 100%%", text)
	case !signed && p > 0 && p <= 1:
		return 0, fmt.Sprintf("write %s%% or %s%%", strconv.FormatFloat(p*100, 'g', 6, 64), strconv.FormatFloat(p, 'g', -1, 64)),
			fmt.Errorf("%q could be a fraction or a percentage", text)
	}
	return p, "", nil
}
