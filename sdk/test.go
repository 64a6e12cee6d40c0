package sdk

import (
	"flag"
	"fmt"
	"maps"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/bloodhound-dst/bloodhound/internal/plural"
	"github.com/bloodhound-dst/bloodhound/internal/tape"
)

var (
	flagRuns   = flag.Int("sdk.runs", 0, "runs of a test")
	flagSeed   = flag.String("sdk.seed", "", "make one run, with this seed")
	flagReplay = flag.String("sdk.replay", "", "replay this tape, a file")
)

// Campaign configures the runs of a test. The zero Campaign plays 100 runs, or 10 with -short.
type Campaign struct {
	Runs int
	// Bubble plays each run in a bubble of testing/synctest, where time passes only while all goroutines wait, so a run
	// takes no real time. Such a test must not wait for a network, a file or another process.
	Bubble bool
}

// Test plays the default Campaign.
func Test(t *testing.T, body func(*Run)) {
	t.Helper()
	Campaign{}.Test(t, body)
}

// Test plays body with many seeds. In a world of the engine native it plays body once, and the world's tape decides.
// The first run has no faults. At the first run that fails, Test shrinks its faults, prints it and fails. It also fails
// if a fault of the test never happened in any run, if the program observed none of them, or if the program made no
// call that could fail.
func (c Campaign) Test(t *testing.T, body func(*Run)) {
	t.Helper()
	text, ok := c.Search(t, body)
	if !ok {
		t.Fatal(text)
	}
	t.Log(text)
}

// Search does the same as Test but leaves it to the caller to fail: text is what Test prints, and ok is false where
// Test fails.
func (c Campaign) Search(t *testing.T, body func(*Run)) (text string, ok bool) {
	switch {
	case around() != nil:
		r, err := around().play(t, body)
		if err != nil {
			return fmt.Sprintf("%s\nthe world does not record whether the test holds: %v", r.text(), err), false
		}
		return r.text(), true // the world judges it
	case *flagReplay != "":
		text, err := os.ReadFile(*flagReplay)
		if err != nil {
			return err.Error(), false
		}
		tp, err := tape.Parse(string(text))
		if err != nil {
			return fmt.Sprintf("%s: %v", *flagReplay, err), false
		}
		return c.one(t, tp, body)
	case *flagSeed != "":
		seed, err := strconv.ParseUint(*flagSeed, 10, 64)
		if err != nil {
			return fmt.Sprintf("-sdk.seed=%s is not a seed: give a whole number from 0 on", *flagSeed), false
		}
		return c.one(t, tape.Tape{Seed: seed}, body)
	}
	runs := c.Runs
	if runs == 0 {
		runs = 100
		if testing.Short() {
			runs = 10
		}
	}
	if *flagRuns > 0 {
		runs = *flagRuns
	}
	total := map[string]*Count{}
	for i := range runs {
		tp := tape.Tape{Seed: uint64(i)}
		if i == 0 {
			tp.Edits = []tape.Edit{{Op: tape.Default, Stream: "fault/**", To: tape.End}}
		}
		r := c.play(t, tp, body)
		switch {
		case r.mistake != "":
			return r.mistake, false
		case len(r.failures) > 0 && i == 0:
			return "the test fails without any fault:\n" + strings.Join(r.story, "\n"), false
		case len(r.failures) > 0:
			return c.failure(t, tp, r, i, body), false
		}
		for kind, n := range r.counts {
			sum := total[kind]
			if sum == nil {
				sum = &Count{}
				total[kind] = sum
			}
			sum.Asked += n.Asked
			sum.Delivered += n.Delivered
			sum.Observed += n.Observed
			if i > 0 {
				sum.hoped += n.hoped
			}
		}
	}
	missing := lacks(total, runs)
	text = fmt.Sprintf("%s %s\n%s%s", plural.Count(runs, "run"), plural.Verb(runs, "holds", "hold"), ledger(total), strings.Join(missing, "\n"))
	return text, len(missing) == 0
}

// lacks says why runs that held prove too little.
func lacks(total map[string]*Count, runs int) (list []string) {
	if len(total) == 0 {
		return []string{"no call was made that could fail: pass the Run to the wrapper of a dependency, with a rate above 0"}
	}
	for _, kind := range slices.Sorted(maps.Keys(total)) {
		n := total[kind]
		switch {
		case n.Asked == 0:
			list = append(list, fmt.Sprintf("%s could not happen, because no such call was made before Quiet: "+
				"make one, or remove its rate", kind))
		case n.Delivered == 0 && runs == 1:
			list = append(list, fmt.Sprintf("%s never happened, because the first run has no faults: play more runs", kind))
		case n.Delivered == 0 && n.hoped == 0:
			list = append(list, fmt.Sprintf("%s never happened, because other faults left it no call: lower "+
				"their rates, or remove it", kind))
		case n.Delivered == 0:
			// With so many runs, all kinds happen with a probability of 99 %, if this one is the rarest.
			enough := max(2*float64(runs), math.Ceil(float64(runs)*math.Log(100*float64(len(total)))/n.hoped))
			list = append(list, fmt.Sprintf("%s never happened in %s: play more runs, such as sdk.Campaign{Runs: %.0f}, or raise its rate, or remove it",
				kind, plural.Count(n.Asked, "call"), enough))
		case n.Observed == 0:
			list = append(list, fmt.Sprintf("%s happened %s, but the program neither looked at its error nor "+
				"made another call afterwards",
				kind, plural.Count(n.Delivered, "time")))
		}
	}
	return list
}

// one makes a single run.
func (c Campaign) one(t *testing.T, tp tape.Tape, body func(*Run)) (text string, ok bool) {
	r := c.play(t, tp, body)
	return r.text(), len(r.failures) == 0
}

func (c Campaign) play(t *testing.T, tp tape.Tape, body func(*Run)) (r *Run) {
	if !c.Bubble {
		return play(t, tp, nil, body)
	}
	synctest.Test(t, func(t *testing.T) { r = play(t, tp, nil, body) })
	return r
}

// failure reports a run that failed, made as small as it can be.
func (c Campaign) failure(t *testing.T, tp tape.Tape, r *Run, runs int, body func(*Run)) string {
	first := len(r.src.Decisions())
	name := "^" + strings.ReplaceAll(t.Name(), "/", "$/^") + "$"
	if again := c.play(t, tp, body); len(again.failures) == 0 {
		return fmt.Sprintf("%s\nseed %d failed, and passed when it ran again: something other than the faults "+
			"decides, such as the order of goroutines\nrun it again:  go test -run '%s' "+
			"-sdk.seed=%d", r.text(), tp.Seed, name, tp.Seed)
	}
	tp, r, tries := c.shrink(t, tp, r, body)
	file := filepath.Join(".bloodhound", "sdk", strings.ReplaceAll(t.Name(), "/", "-")+".tape")
	err := os.MkdirAll(filepath.Dir(file), 0o755)
	if err == nil {
		err = os.WriteFile(file, []byte(tape.Format(tp)), 0o644)
	}
	if err != nil {
		return fmt.Sprintf("%s\ncannot store the tape of the failure: %v", r.text(), err)
	}
	return fmt.Sprintf("%s\nrun %d failed; shrunk in %s from %s to %d\nrun it again:  go test -run '%s' -sdk.replay=%s",
		r.text(), runs+1, plural.Count(tries, "run"), plural.Count(first, "choice"), len(r.src.Decisions()), name, file)
}

// shrink takes choices away while the run fails, at most 200 times: halves of them first, then smaller pieces (delta debugging; Zeller and Hildebrandt, 2002).
func (c Campaign) shrink(t *testing.T, tp tape.Tape, r *Run, body func(*Run)) (tape.Tape, *Run, int) {
	const most = 200
	tries := 0
	kept := r.src.Decisions()
	for size := max(1, len(kept)/2); tries < most; {
		smaller := false
		for from := 0; from < len(kept) && tries < most; {
			list := append(append([]tape.Decision(nil), kept[:from]...), kept[min(len(kept), from+size):]...)
			tries++
			fewer := tape.Replay(tp.Seed, list)
			if small := c.play(t, fewer, body); len(small.failures) > 0 {
				tp, r, kept, smaller = fewer, small, list, true
				continue
			}
			from += size
		}
		if size == 1 && !smaller {
			break
		}
		size = max(1, size/2)
	}
	return tp, r, tries
}
