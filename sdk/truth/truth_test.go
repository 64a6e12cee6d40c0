package truth_test

import (
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/bloodhound-dst/bloodhound/check"
	"github.com/bloodhound-dst/bloodhound/sdk"
	"github.com/bloodhound-dst/bloodhound/sdk/truth"
)

// errors of a test.
type failures []string

func (f *failures) Errorf(format string, args ...any) { *f = append(*f, fmt.Sprintf(format, args...)) }

// Each story ends with reads that are right, or wrong as it says.
func TestStories(t *testing.T) {
	lost := errors.New("the answer is lost")
	for _, c := range []struct {
		name  string
		story func(k *truth.Truth)
		want  truth.Fault
	}{
		{"acknowledged", func(k *truth.Truth) {
			k.Put("x", "1").End(nil)
			k.Get("x").Got("1", true)
		}, ""},
		{"unknown, and done", func(k *truth.Truth) {
			k.Put("x", "1").End(lost)
			k.Get("x").Got("1", true)
		}, ""},
		{"unknown, and not done", func(k *truth.Truth) {
			k.Put("x", "1").End(nil)
			k.Put("x", "2").End(lost)
			k.Get("x").Got("1", true)
		}, ""},
		{"unknown, and late", func(k *truth.Truth) {
			k.Put("x", "1").End(lost)
			k.Put("x", "2").End(nil)
			k.Get("x").Got("2", true)
			k.Get("x").Got("1", true)
		}, ""},
		{"at once", func(k *truth.Truth) {
			a, b := k.Put("x", "1"), k.Put("x", "2")
			a.End(nil)
			b.End(nil)
			k.Get("x").Got("1", true)
		}, ""},
		{"removed", func(k *truth.Truth) {
			k.Put("x", "1").End(nil)
			k.Delete("x").End(lost)
			k.Get("x").Got("", false)
		}, ""},
		{"never written", func(k *truth.Truth) {
			k.Put("x", "1").End(nil)
			k.Get("x").Got("2", true)
		}, truth.Unwritten},
		{"refused", func(k *truth.Truth) {
			k.Put("x", "1").Failed(errors.New("no"))
			k.Get("x").Got("1", true)
		}, truth.Unwritten},
		{"from the future", func(k *truth.Truth) {
			k.Put("x", "1").End(nil)
			k.Get("x").Got("2", true)
			k.Put("x", "2").End(nil)
		}, truth.Future},
		{"stale", func(k *truth.Truth) {
			k.Put("x", "1").End(nil)
			k.Put("x", "2").End(nil)
			k.Get("x").Got("1", true)
			k.Get("x").Got("2", true)
		}, truth.Stale},
		{"lost", func(k *truth.Truth) {
			k.Put("x", "1").End(nil)
			k.Put("x", "2").End(nil)
			k.Get("x").Got("1", true)
		}, truth.Lost},
		{"nothing is left", func(k *truth.Truth) {
			k.Put("x", "1").End(nil)
			k.Get("x").Got("", false)
		}, truth.Lost},
		{"a removal is lost", func(k *truth.Truth) {
			k.Put("x", "1").End(nil)
			k.Delete("x").End(nil)
			k.Get("x").Got("1", true)
		}, truth.Lost},
	} {
		k := truth.New()
		c.story(k)
		var f failures
		k.Judge(&f)
		wrong := k.Wrong()
		switch {
		case c.want == "" && len(f)+len(wrong) > 0:
			t.Errorf("%s: %v, %v", c.name, f, wrong)
		case c.want != "" && (len(f) != 1 || len(wrong) != 1 || wrong[0].Fault != c.want || !strings.Contains(f[0], string(c.want))):
			t.Errorf("%s: %v, %v", c.name, f, wrong)
		}
	}
	// What shows nothing is no success.
	var f failures
	k := truth.New()
	k.Put("x", "1").End(nil)
	k.Get("x").End(lost)
	if k.Judge(&f); len(f) != 1 || !strings.Contains(f[0], "not judged") {
		t.Errorf("without a read: %v", f)
	}
}

// store keeps values, forgets each write by chance if it has a bug, and has each write acknowledged or not.
type store struct {
	at   *sdk.Point
	bug  *sdk.Fault
	data map[string]string
}

func (s *store) put(key, value string) error {
	call := s.at.Call()
	if call.Way != sdk.Before && !s.bug.Happens(false) {
		s.data[key] = value
	}
	if call.Way == sdk.Before || call.Way == sdk.After {
		return call.Error(io.EOF)
	}
	return nil
}

// A store that forgets is found, and one that only fails is not.
func TestStore(t *testing.T) {
	plays := func(bug float64) func(*sdk.Run) {
		return func(r *sdk.Run) {
			s := &store{sdk.NewPoint(r, "db", "put", sdk.Rates{Before: 0.2, After: 0.2}), sdk.NewFault(r, "bug", bug), map[string]string{}}
			k := truth.New()
			for i := range 10 {
				key, value := fmt.Sprint("key ", i%3), fmt.Sprint("value ", i)
				put := k.Put(key, value)
				put.End(s.put(key, value))
			}
			r.Quiet()
			s.at.Call()
			for i := range 3 {
				key := fmt.Sprint("key ", i)
				get := k.Get(key)
				value, found := s.data[key]
				get.Got(value, found)
			}
			k.Judge(r)
		}
	}
	sdk.Test(t, plays(0))
	t.Chdir(t.TempDir()) // where the failure is stored
	if text, ok := (sdk.Campaign{Runs: 100}).Search(t, plays(0.05)); ok || !strings.Contains(text, "is lost") {
		t.Errorf("%s", text)
	}
}

// What is wrong by itself is wrong by all rules: package check says so, too.
func TestWrongIsWrong(t *testing.T) {
	found := map[truth.Fault]int{}
	for seed := range uint64(3000) {
		random := rand.New(rand.NewPCG(seed, 0))
		k := truth.New()
		var open []func()
		for range 20 {
			value := fmt.Sprint(random.IntN(4))
			switch random.IntN(12) {
			case 0, 1, 2:
				put := k.Put("x", value)
				open = append(open, func() { put.End([]error{nil, nil, io.EOF}[random.IntN(3)]) })
			case 3:
				d := k.Delete("x")
				open = append(open, func() { d.End(nil) })
			case 4, 5:
				get := k.Get("x")
				open = append(open, func() { get.Got(value, true) })
			default:
				if len(open) > 0 {
					i := random.IntN(len(open))
					open[i]()
					open = append(open[:i], open[i+1:]...)
				}
			}
		}
		wrong := k.Wrong()
		for _, w := range wrong {
			found[w.Fault]++
		}
		if v := check.Linearizable(k.Operations(), check.KeyValue); len(wrong) > 0 && v.Status != check.Violated {
			t.Fatalf("seed %d: %v, and package check says: %v", seed, wrong, v)
		}
	}
	for _, f := range []truth.Fault{truth.Unwritten, truth.Future, truth.Stale, truth.Lost} {
		if found[f] == 0 {
			t.Errorf("no read of all is %s: the test shows nothing", f)
		}
	}
}
