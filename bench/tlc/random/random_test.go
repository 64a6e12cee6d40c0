package random

import (
	"bufio"
	"os"
	"path/filepath"
	"testing"
)

// jarVariable names the jar of TLC, if it is to be asked again.
const jarVariable = "BLOODHOUND_TLC_JAR"

// differs are specifications of Make of which TLC has another answer, and why.
var differs = map[int]string{
	5883: "TLC takes a definition without parameters for constant if only a module that extends its own is instanced, and so the " +
		"CC outside for that of the instance",
}

// TestRandom compares the answers for specifications made at random with those of TLC, which testdata/random.txt has: verdict,
// property, generated and distinct states. BLOODHOUND_SOAK=1 takes all of them. go -C bench run ./tlc -jar tla2tools.jar -random
// 10000 writes the file.
func TestRandom(t *testing.T) {
	f, err := os.Open(filepath.Join("testdata", "random.txt"))
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	most := 1000
	if os.Getenv("BLOODHOUND_SOAK") != "" {
		most = 1 << 30
	}
	count, violated, failed, endless := 0, 0, 0, 0
	for lines := bufio.NewScanner(f); count < most && lines.Scan(); count++ {
		want, err := ParseAnswer(lines.Text())
		if err != nil {
			t.Fatal(err)
		}
		switch want.Kind {
		case Holds:
		case Failed:
			failed++
		case Endless:
			endless++
			continue
		default:
			violated++
		}
		got, why := Check(Make(uint64(count)))
		if why := differs[count]; why != "" {
			if Agree(got, want) {
				t.Errorf("specification %d: the answers are the same, although %s", count, why)
			}
			continue
		}
		if !Agree(got, want) {
			t.Errorf("specification %d: %v, and TLC %v; %v", count, got, want, why)
		}
	}
	t.Logf("%d specifications, %d with a violation, %d with an error, and %d that TLC has no answer for", count, violated, failed, endless)
	if 2*violated < count {
		t.Errorf("%d of %d specifications have a violation: fewer than half", violated, count)
	}
}

// family is that of Behaviours.
var family = &Families[1]

// TestBehaviours compares the answers for specifications of Behaviours with those of TLC, which testdata/behaviours.txt has: 300
// of them, and with BLOODHOUND_SOAK=1 all, by digests of a hundred. BLOODHOUND_TLC_JAR names a jar of TLC to ask again, which
// tells which of a hundred differs.
//
//	go -C bench run ./tlc -jar tla2tools.jar -family behaviours -random 20000 -table > bench/tlc/random/testdata/behaviours.txt
func TestBehaviours(t *testing.T) {
	text, err := os.ReadFile(filepath.Join("testdata", "behaviours.txt"))
	if err != nil {
		t.Fatal(err)
	}
	answers, summaries, err := ReadTable(string(text))
	if err != nil {
		t.Fatal(err)
	}
	violated := 0
	for i, want := range answers {
		compare(t, i, want)
		if want.Kind != Holds && want.Kind != Failed {
			violated++
		}
	}
	if 3*violated < len(answers) {
		t.Errorf("%d of %d specifications have a violation: fewer than a third", violated, len(answers))
	}
	if os.Getenv("BLOODHOUND_SOAK") == "" {
		return
	}
	for _, want := range summaries {
		got := make([]Answer, want.Count)
		for i := range got {
			got[i], _ = Check(Behaviours(uint64(want.From + i)))
		}
		if s := family.Summarize(want.From, got); s != want {
			t.Errorf("specifications from %d on: %v, and TLC %v", want.From, s, want)
		}
	}
	jars := filepath.SplitList(os.Getenv(jarVariable))
	if len(jars) == 0 {
		t.Logf("%s is not set: TLC is not asked again", jarVariable)
		return
	}
	for _, s := range summaries {
		theirs, err := family.TLC(jars, s.From, s.From+s.Count)
		if err != nil {
			t.Fatal(err)
		}
		for i, want := range theirs {
			compare(t, s.From+i, want)
		}
		if is := family.Summarize(s.From, theirs); is != s {
			t.Errorf("specifications from %d on: TLC says %v, and it said %v", s.From, is, s)
		}
	}
}

// compare compares the answer for one of Behaviours with that of TLC.
func compare(t *testing.T, number int, want Answer) {
	t.Helper()
	got, why := Check(Behaviours(uint64(number)))
	reason := behavioursDiffer[number]
	switch same := Agree(got, want); {
	case same && reason != "":
		t.Errorf("specification %d: the answers are the same, although %s", number, reason)
	case !same && reason == "":
		t.Errorf("specification %d: %v, and TLC %v; %v", number, got, want, why)
	}
}
