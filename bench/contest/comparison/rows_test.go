package comparison

import (
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
)

func settings() *Settings {
	return &Settings{Bloodhound: "v", Strategies: []string{"random", "a", "b", "c"}, Bugs: []Bug{{Name: "bug", Spec: "s"}}, Trials: 6, FirstSeed: 1, Runs: 100}
}

func trials(strategy string, runs ...uint64) []Trial {
	var list []Trial
	for i, n := range runs {
		t := Trial{Bug: "bug", Strategy: strategy, Seed: uint64(i) + 1, Found: n < 100, Runs: n, WallNs: int64(n) * 1e9}
		list = append(list, t)
	}
	return list
}

// times has so many copies of trials, with seeds of their own, so that there are enough of them for a verdict.
func times(copies int, list ...Trial) []Trial {
	var all []Trial
	for k := range copies {
		for _, t := range list {
			t.Seed += uint64(1000 * k)
			all = append(all, t)
		}
	}
	return all
}

func TestRows(t *testing.T) {
	all := append(trials("random", 20, 30, 40, 50, 60, 100), trials("a", 1, 2, 3, 4, 5, 6)...)
	all = append(all, trials("b", 25, 35, 45, 55, 100, 100)...)
	all = append(all, trials("c", 90, 91, 100, 100, 100, 100)...)
	all = append(times(2, all...), Trial{Bug: "bug", Strategy: "a", Seed: 9, Failed: "no disk"})
	rows := Rows(settings(), all)
	random, a, b, c := rows[0], rows[1], rows[2], rows[3]
	if random.Against != nil || random.Found != 10 || *random.Runs.Median != 45 || *random.Seconds.First != 30 {
		t.Errorf("random %+v", random)
	}
	if a.Against.Says != Beats || a.Against.A12 != 1 || a.Failed != 1 || a.Trials != 12 {
		t.Errorf("a %+v %+v", a, a.Against)
	}
	if b.Against.Says != Even || c.Against.Says != Loses || c.Runs.Median != nil || c.Found != 4 {
		t.Errorf("b %+v c %+v %+v", b.Against, c.Against, c)
	}
	if times := a.Against.Times; times == nil || *times != 45/3.5 || a.Against.TimesInterval.Low < 4 || *a.Against.TimesInterval.High > 60 {
		t.Errorf("a is some 13 times as fast: %+v", a.Against)
	}
	if c.Against.Times == nil || *c.Against.Times != 0 || c.Against.TimesInterval.Low != 0 {
		t.Errorf("half of c's trials find nothing: %+v", c.Against)
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
		fresh := trials("a", 9)[0]
		if err := j.Add(fresh); err != nil {
			t.Fatal(err)
		}
		j.Close()
		if j, err = Resume(path, s); err != nil || !reflect.DeepEqual(j.Done[len(j.Done)-1], fresh) {
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

// A trial that the timeout ended is neither found nor a trial of all runs. What is left are the quick ones, so that nothing is said
// of the strategy, nor of any other against it.
func TestWhatIsCutOffIsNotCompared(t *testing.T) {
	cut := func(strategy string) []Trial {
		list := trials(strategy, 1, 2, 3)
		for seed := range uint64(3) {
			list = append(list, Trial{Bug: "bug", Strategy: strategy, Seed: 4 + seed, CutOff: true, Runs: 7})
		}
		return list
	}
	b6 := times(2, trials("b", 1, 2, 3, 4, 5, 6)...)
	all := append(times(2, trials("random", 90, 91, 92, 93, 94, 95)...), cut("a")...)
	all = append(all, b6...)
	rows := Rows(settings(), all)
	a, b := rows[1], rows[2]
	if a.CutOff != 3 || a.Trials != 3 || a.Found != 3 || a.Runs.Median != nil || a.Seconds.First != nil {
		t.Errorf("%+v", a)
	}
	if a.Against.Says != Unknown || a.Against.Reason != "3 of its trials cut off by the timeout" || b.Against.Says != Beats {
		t.Errorf("a %+v b %+v", a.Against, b.Against)
	}
	b = Rows(settings(), append(cut("random"), b6...))[2]
	if b.Against.Says != Unknown || b.Against.Reason != "3 of random cut off by the timeout" {
		t.Errorf("random is cut off: %+v", b.Against)
	}
}

// Nine trials decide nothing, however clear they are; and one clear comparison among many alike may be chance.
func TestWhatIsNoVerdict(t *testing.T) {
	nine := func(strategy string, from uint64) []Trial {
		var runs []uint64
		for k := range uint64(LeastTrials - 1) {
			runs = append(runs, from+k)
		}
		return trials(strategy, runs...)
	}
	few := append(nine("random", 80), nine("a", 1)...)
	if a := Rows(settings(), few)[1].Against; a.Says != Few || a.Reason != "9 against 9; 10 of each are needed" || a.Times != nil {
		t.Errorf("%+v", a)
	}
	s := settings()
	s.Strategies = []string{"random", "a"}
	base, own := trials("random", 10, 20, 30, 40, 50, 60, 70, 80, 90, 99), trials("a", 5, 6, 15, 16, 25, 26, 35, 42, 45, 48)
	one := Rows(s, append(base, own...))[1].Against
	if one.Says != Beats || one.Adjusted != one.P || one.P > Significant {
		t.Fatalf("alone it differs: %+v", one)
	}
	var all []Trial
	s.Bugs = nil
	for _, name := range []string{"1", "2", "3", "4"} {
		s.Bugs = append(s.Bugs, Bug{Name: name})
		for _, x := range append(base, own...) {
			x.Bug = name
			if name != "1" && x.Strategy == "a" {
				x.Runs = base[x.Seed-1].Runs
			}
			all = append(all, x)
		}
	}
	rows := Rows(s, all)
	if a := rows[1].Against; a.Says != Even || a.P != one.P || a.Adjusted != 4*a.P {
		t.Errorf("among four: %+v", a)
	}
}

// Where no strategy finds a bug, nothing is shown; where one does, those that do not are not better than random.
func TestNothingFoundShowsNothing(t *testing.T) {
	all := append(trials("random", 100, 100), trials("a", 100, 100)...)
	if a := Rows(settings(), all)[1]; a.Against.Says != Nothing {
		t.Errorf("%+v", a.Against)
	}
	all = times(5, append(all, trials("b", 100, 7)...)...)
	if a := Rows(settings(), all)[1]; a.Against.Says != Even {
		t.Errorf("%+v", a.Against)
	}
}

// A journal has one writer: the same trials made twice would count as twice the evidence.
func TestJournalIsLocked(t *testing.T) {
	path := filepath.Join(t.TempDir(), "j")
	j, err := Create(path, settings())
	if err != nil {
		t.Fatal(err)
	}
	for range 2 {
		if _, err := Resume(path, settings()); err == nil || !strings.Contains(err.Error(), "j is in use: another comparison") {
			t.Fatalf("two have the journal: %v", err)
		}
		j.Close()
		if j, err = Resume(path, settings()); err != nil {
			t.Fatal(err)
		}
	}
	j.Close()
}

// Lines that no comparison with these settings writes are refused, by file and line, and nothing is taken from the journal.
func TestJournalRefuses(t *testing.T) {
	first := `{"bug":"bug","strategy":"random","seed":1,"found":true,"runs":5,"wall_ns":1}`
	for _, c := range []struct{ line, says string }{
		{first, `j:3: the trial of bug with random and seed 1 stands here a second time, after line 2`},
		{strings.Replace(first, `"runs":5`, `"runs":6`, 1), `j:3: the trial of bug with random and seed 1 stands here a second time`},
		{strings.Replace(first, `"seed":1`, `"seed":7`, 1), `j:3: a trial of "bug" with "random" and seed 7 is none of this comparison; remove this line`},
		{strings.Replace(first, `"seed":1`, `"seed":0`, 1), `j:3: a trial of "bug" with "random" and seed 0`},
		{strings.Replace(first, "random", "pct", 1), `j:3: a trial of "bug" with "pct" and seed 1`},
		{strings.Replace(first, `"bug":"bug"`, `"bug":"other"`, 1), `j:3: a trial of "other"`},
		{`{"bug":"bug","strategy":"a","seed":1,"found":true,"runs":101}`, `j:3: a trial of at most 100 runs cannot end after 101`},
		{`{"bug":"bug","strategy":"a","seed":1,"found":true,"runs":0}`, `j:3: a trial of at most 100 runs cannot end after 0`},
		{`{"bug":"bug","strategy":"a","seed":1,"cut_off":true,"runs":3}`, `j:3: this trial cannot have been cut off`},
		{`{}`, `j:3: a trial of "" with "" and seed 0`},
		{`nonsense`, `j:3: invalid character`},
	} {
		path := filepath.Join(t.TempDir(), "j")
		j, err := Create(path, settings())
		if err != nil {
			t.Fatal(err)
		}
		j.Close()
		begun, _ := os.ReadFile(path)
		text := string(begun) + first + "\n" + c.line + "\n"
		os.WriteFile(path, []byte(text), 0o666)
		if _, err := Resume(path, settings()); err == nil || !strings.Contains(err.Error(), c.says) {
			t.Errorf("%s: %v", c.line, err)
		}
		if now, _ := os.ReadFile(path); string(now) != text {
			t.Errorf("%s: the journal has changed", c.line)
		}
	}
}

// Trials of two builds of a program under test are no sample of one thing.
func TestJournalKnowsPrograms(t *testing.T) {
	with := func(files map[string]string) *Settings {
		s := settings()
		s.Bugs[0].Files = files
		return s
	}
	path := filepath.Join(t.TempDir(), "j")
	j, err := Create(path, with(map[string]string{"bin/kv": "11", "/lib/c": "22"}))
	if err != nil {
		t.Fatal(err)
	}
	j.Close()
	for says, files := range map[string]map[string]string{
		"bin/kv has changed, which the runs of bug read":       {"bin/kv": "12", "/lib/c": "22"},
		"the runs of bug read /lib/c, and do so no more":       {"bin/kv": "11"},
		"the runs of bug read bin/new now, and did not before": {"bin/kv": "11", "/lib/c": "22", "bin/new": "33"},
	} {
		if _, err := Resume(path, with(files)); err == nil || !strings.Contains(err.Error(), says) || !strings.Contains(err.Error(), "--journal") {
			t.Errorf("%v: %v", files, err)
		}
	}
	if j, err = Resume(path, with(map[string]string{"bin/kv": "11", "/lib/c": "22"})); err != nil {
		t.Fatal(err)
	}
	j.Close()
	os.WriteFile(path, []byte(`{"bloodhound":"v","strategies":["random"],"bugs":[{"name":"bug","spec":"s"}],"trials":6,"first_seed":1,"runs":100}`+"\n"), 0o666)
	if _, err := Resume(path, settings()); err == nil || !strings.Contains(err.Error(), "j:1: another version of Bloodhound has written this journal") {
		t.Errorf("a journal that knows no programs: %v", err)
	}
}
