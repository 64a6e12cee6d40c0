package contest

import (
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
)

func settings() *Settings {
	return &Settings{Bloodhound: "v", Strategies: []string{"random", "a", "b", "c"}, Bugs: []Bug{{"bug", "s"}}, Trials: 6, FirstSeed: 1, Runs: 100}
}

func trials(strategy string, runs ...uint64) []Trial {
	var list []Trial
	for i, n := range runs {
		t := Trial{Bug: "bug", Strategy: strategy, Seed: uint64(i) + 1, Found: n < 100, Runs: n, WallNs: int64(n) * 1e9}
		list = append(list, t)
	}
	return list
}

func TestRows(t *testing.T) {
	all := append(trials("random", 20, 30, 40, 50, 60, 100), trials("a", 1, 2, 3, 4, 5, 6)...)
	all = append(all, trials("b", 25, 35, 45, 55, 100, 100)...)
	all = append(all, trials("c", 90, 91, 100, 100, 100, 100)...)
	all = append(all, Trial{Bug: "bug", Strategy: "a", Seed: 9, Failed: "no disk"})
	rows := Rows(settings(), all)
	random, a, b, c := rows[0], rows[1], rows[2], rows[3]
	if random.Against != nil || random.Found != 5 || *random.Runs.Median != 45 || *random.Seconds.First != 32.5 {
		t.Errorf("random %+v", random)
	}
	if a.Against.Says != Beats || a.Against.A12 != 1 || a.Failed != 1 || a.Trials != 6 {
		t.Errorf("a %+v %+v", a, a.Against)
	}
	if b.Against.Says != Even || c.Against.Says != Loses || c.Runs.Median != nil || c.Found != 2 {
		t.Errorf("b %+v c %+v %+v", b.Against, c.Against, c)
	}
	var order []string
	for _, r := range Judged(rows) {
		order = append(order, r.Strategy)
	}
	if got := strings.Join(order, " "); got != "c b a" {
		t.Errorf("losses come first: %s", got)
	}
}

// What a killed program leaves is taken up: a line that was cut short is made again, and no settings but those are accepted.
func TestJournalSurvives(t *testing.T) {
	path := filepath.Join(t.TempDir(), "j")
	s := settings()
	j, err := Create(path, s)
	if err != nil {
		t.Fatal(err)
	}
	done := trials("random", 5, 6, 7)
	for _, d := range done {
		if err := j.Add(d); err != nil {
			t.Fatal(err)
		}
	}
	j.Close()
	whole, _ := os.ReadFile(path)
	if _, err := Create(path, s); err == nil || !strings.Contains(err.Error(), "--resume") {
		t.Errorf("an existing journal: %v", err)
	}
	for cut := range len(whole) {
		os.WriteFile(path, whole[:len(whole)-cut], 0o666)
		j, err := Resume(path, s)
		if lines := strings.Count(string(whole[:len(whole)-cut]), "\n"); lines == 0 {
			if err == nil {
				t.Fatalf("%d bytes cut off: resumed without settings", cut)
			}
			continue
		} else if err != nil || !reflect.DeepEqual(append([]Trial{}, j.Done...), append([]Trial{}, done[:lines-1]...)) {
			t.Fatalf("%d bytes cut off: %v, %v", cut, j, err)
		}
		if err := j.Add(done[0]); err != nil {
			t.Fatal(err)
		}
		j.Close()
		if j, err = Resume(path, s); err != nil || j.Done[len(j.Done)-1] != done[0] {
			t.Fatalf("%d bytes cut off: the journal is broken by what is added: %v", cut, err)
		}
		j.Close()
	}
	os.WriteFile(path, whole, 0o666)
	s.Runs = 50
	if _, err := Resume(path, s); err == nil || !strings.Contains(err.Error(), "Runs was 100 and is 50") {
		t.Errorf("other settings: %v", err)
	}
}

func TestMissing(t *testing.T) {
	s := settings()
	s.Strategies = []string{"random", "a"}
	s.Trials = 2
	left := Missing(s, trials("random", 5))
	var got []string
	for _, x := range left {
		got = append(got, x.Strategy+string(rune('0'+x.Seed)))
	}
	if strings.Join(got, " ") != "a1 random2 a2" {
		t.Errorf("left are %v", got)
	}
}
