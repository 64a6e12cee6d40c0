package report

import (
	"regexp"
	"slices"
	"strings"

	"github.com/bloodhound-dst/bloodhound/internal/plural"
	"github.com/bloodhound-dst/bloodhound/internal/record"
)

// repeated is a row of items that comes several times, one after the other: the first one is shown, and the others are folded.
type repeated struct {
	First  int // the first item that is folded
	Period int // how many items come again each time
	Rounds int // how often, after the first time
}

// maxPeriod bounds how many items may make up what repeats, and leastRounds is how often it must come again to be folded.
const (
	maxPeriod   = 6
	leastRounds = 2
)

// repeats finds what repeats in a row of items. Items of the same key are alike; one without a key is shown in any case.
func repeats(keys []string) (list []repeated) {
	for i := 1; i < len(keys); {
		best := repeated{}
		for period := 1; period <= maxPeriod && period <= i; period++ {
			round := keys[i-period : i]
			if slices.Contains(round, "") {
				break
			}
			rounds := 0
			for at := i; at+period <= len(keys) && slices.Equal(keys[at:at+period], round); at += period {
				rounds++
			}
			if rounds >= leastRounds && rounds*period > best.Rounds*best.Period {
				best = repeated{i, period, rounds}
			}
		}
		if best.Rounds == 0 {
			i++
			continue
		}
		list = append(list, best)
		i += best.Rounds*best.Period + 1
	}
	return list
}

// numbers matches the parts that differ between repeated lines: times, terms, addresses.
var numbers = regexp.MustCompile(`0x[0-9a-fA-F]+|\b[0-9a-f]{8,}\b|\d+`)

// alike is a text without what differs between repetitions.
func alike(text string) string { return numbers.ReplaceAllString(text, "#") }

// foldView is a row in place of others.
type foldView struct {
	Group  int
	Count  int
	Rounds int
	ToNs   int64
	Like   string // what it is like
}

// folder gives rows their places in folds: of each lane, such as a node or a client, by itself.
type folder struct {
	keys  map[string][]string
	rows  map[string][]int
	lanes []string
}

// row takes a row in; rows come in order. An empty key is of a row that is never folded.
func (f *folder) row(lane, key string, row int) {
	if f.keys == nil {
		f.keys, f.rows = map[string][]string{}, map[string][]int{}
	}
	if f.keys[lane] == nil {
		f.lanes = append(f.lanes, lane)
	}
	f.keys[lane] = append(f.keys[lane], key)
	f.rows[lane] = append(f.rows[lane], row)
}

// fold gives the group of each row that is folded, from 1 on, and the fold before a row.
func (f *folder) fold(toNs func(row int) int64) (group map[int]int, before map[int]foldView) {
	group, before = map[int]int{}, map[int]foldView{}
	for _, lane := range f.lanes {
		for _, r := range repeats(f.keys[lane]) {
			rows := f.rows[lane][r.First : r.First+r.Period*r.Rounds]
			number := len(before) + 1
			for _, row := range rows {
				group[row] = number
			}
			like := "the one above"
			if r.Period > 1 {
				like = "the " + plural.Count(r.Period, "row") + " above"
			}
			before[rows[0]] = foldView{number, len(rows), r.Rounds, toNs(rows[len(rows)-1]), strings.TrimSpace(like + " of " + lane)}
		}
	}
	return group, before
}

// foldLogs folds lines of a log: of each node those that say again, but for numbers, what it has just said.
func foldLogs(log []record.LogLine) (group map[int]int, before map[int]foldView) {
	var f folder
	for i := range log {
		f.row(log[i].Node, log[i].Stream+" "+alike(log[i].Text), i)
	}
	return f.fold(func(row int) int64 { return log[row].TimeNs })
}
