//go:build linux && amd64

package main

import (
	"fmt"
	"math"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"time"

	"github.com/bloodhound-dst/bloodhound/bench/contest/rank"
)

// firstSeeds is how many campaigns look for each bug with snapshots, and as many without.
const firstSeeds = 20

// first compares how soon campaigns with and without snapshots find known bugs, by the CPU time until the first violation was replayed. Both
// kinds take turns, so that what disturbs the machine disturbs both.
func (b *bench) first(only string) error {
	fmt.Printf("| bug | CPU seconds with snapshots: quarter, median, three quarters | without | runs, medians | ratio of medians " +
		"| A12 | p | not found |\n|---|---|---|---|---|---|---|---|\n")
	for _, name := range []string{"quickstart", "message-queue", "distributed-kv", "redis-failover", "cache-cluster"} {
		if only != "" && only != name {
			continue
		}
		var seconds, runs [2][]float64
		var lost [2]int
		for seed := 1; seed <= firstSeeds; seed++ {
			for k, flags := range [][]string{nil, {"--from-boot"}} {
				took, made, found, err := b.hunt(filepath.Join("..", "examples", name), seed, flags)
				if err != nil {
					return err
				}
				if !found {
					lost[k]++
					took, made = math.Inf(1), math.Inf(1)
				}
				seconds[k], runs[k] = append(seconds[k], took), append(runs[k], made)
			}
		}
		p := rank.MannWhitney(seconds[0], seconds[1])
		a12 := rank.A12(seconds[0], seconds[1])
		median := func(v []float64) float64 { return rank.Quantile(v, 0.5) }
		quartiles := func(v []float64) string {
			return fmt.Sprintf("%.1f, %.1f, %.1f", rank.Quantile(v, 0.25), median(v), rank.Quantile(v, 0.75))
		}
		fmt.Printf("| %s | %s | %s | %.0f and %.0f | %.2f | %.2f | %.2g | %d and %d of %d |\n", name, quartiles(seconds[0]),
			quartiles(seconds[1]), median(runs[0]), median(runs[1]),
			median(seconds[0])/median(seconds[1]), a12, p, lost[0], lost[1], firstSeeds)
	}
	return nil
}

// hunt makes a campaign that ends with its first violation.
func (b *bench) hunt(folder string, seed int, flags []string) (seconds, runs float64, found bool, err error) {
	var doc struct {
		ExitCode int `json:"exit_code"`
		Campaign struct{ Runs uint64 }
	}
	c := exec.Command(b.program, slices.Concat([]string{"explore", folder, "--workers", "1", "--seeds", "300", "--no-shrink",
		"--seed", strconv.Itoa(seed), "--json"}, flags)...)
	if err := decode(c, &doc); err != nil {
		return 0, 0, false, err
	}
	used := c.ProcessState.UserTime() + c.ProcessState.SystemTime()
	return used.Round(time.Millisecond).Seconds(), float64(doc.Campaign.Runs), doc.ExitCode == 1, nil
}
