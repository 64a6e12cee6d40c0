package lint

import (
	"maps"
	"slices"
	"strings"
	"testing"
)

// measured is a folder whose figures were measured with the bytes of its files, so they stay as they are.
const measured = "bench/bugs/"

// folder returns the top folder of a file, by which budgets are kept.
func (s *source) folder() string {
	if strings.HasPrefix(s.path, measured) {
		return measured
	}
	folder, _, _ := strings.Cut(s.path, "/")
	return folder
}

// keepBudget compares findings, by top folder, with a budget that may only shrink. It fails if a folder has more than its
// number, and also if it has fewer, so that the number is lowered.
func keepBudget(t *testing.T, what, remedy string, found map[string][]string, budget map[string]int) {
	t.Helper()
	folders := slices.AppendSeq(slices.Collect(maps.Keys(found)), maps.Keys(budget))
	slices.Sort(folders)
	for _, folder := range slices.Compact(folders) {
		if folder == measured {
			continue
		}
		switch list, most := found[folder], budget[folder]; {
		case len(list) > most:
			t.Errorf("%s has %d %s, and its budget is %d: %s; the last of them are\n%s", folder, len(list), what, most, remedy,
				strings.Join(list[max(0, min(most, len(list)-5)):], "\n"))
		case len(list) < most:
			t.Errorf("%s has %d %s: lower its budget from %d", folder, len(list), what, most)
		}
	}
}
