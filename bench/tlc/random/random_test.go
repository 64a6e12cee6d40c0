package random

import (
	"bufio"
	"os"
	"path/filepath"
	"testing"
)

// differs are specifications of which TLC has another answer, and why.
var differs = map[int]string{
	5883: "TLC takes a definition without parameters for constant if only a module that extends its own is instanced, and so the CC outside for that of the instance",
}

// TestRandom compares the answers for specifications made at random with those of TLC, which testdata/random.txt has: verdict, property, generated and distinct states.
// BLOODHOUND_SOAK=1 takes all of them. go run ./bench/tlc -jar tla2tools.jar -random 10000 writes the file.
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
