package config

import (
	"fmt"
	"math"
	"strconv"
	"strings"

	"github.com/bloodhound-dst/bloodhound/coverage/code"
)

// coverage reads `coverage:`, after `output:`.
func (l *loader) coverage(n *node) {
	c := &l.result.Coverage
	for _, item := range n.get("binaries").list() {
		if err := code.Check(item.text); err != nil {
			l.fail(item.position, "write a name such as etcd, a path, or either with * and ?", "coverage.binaries: %s", err)
			continue
		}
		c.Binaries = append(c.Binaries, item.text)
	}
	if t := n.get("threshold"); t != nil {
		percent, err := Percent(t.text)
		if err != nil {
			l.fail(t.position, "write a share such as 80%", "coverage.threshold: %s", err)
		}
		c.Threshold = percent
	}
	asked := l.result.Output.CoverageFormat != "" || len(c.Binaries) > 0 || c.Threshold > 0
	c.Enabled = valueOr(n.get("enabled"), asked)
	if asked && !c.Enabled {
		for _, key := range []string{"binaries", "threshold"} {
			if v := n.get(key); v != nil {
				l.idle(v.position, "coverage."+key, "coverage.enabled is false")
			}
		}
		if f := l.result.Output.CoverageFormat; f != "" {
			l.idle(n.get("enabled").position, "output.coverage_format", "coverage.enabled is false")
		}
	}
}

// Percent reads a share such as 80% or 80.
func Percent(text string) (float64, error) {
	p, err := strconv.ParseFloat(strings.TrimSpace(strings.TrimSuffix(text, "%")), 64)
	if err != nil || math.IsNaN(p) || p < 0 || p > 100 {
		return 0, fmt.Errorf("%q is no share from 0%% to 100%%", text)
	}
	return p, nil
}
