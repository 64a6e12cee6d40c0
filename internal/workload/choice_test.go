package workload

import (
	"fmt"
	"reflect"
	"regexp"
	"strings"
	"testing"

	"github.com/bloodhound-dst/bloodhound/internal/world"
)

func TestKeyPatterns(t *testing.T) {
	for in, want := range map[string]string{
		"key":                       `^key$`,
		"key-{random}":              `^key-\d\d?$`,
		"{random:7-7}/x":            `^7/x$`,
		"a{seq}b":                   `^a23b$`, // the 5th of client 3 of 4: 5*4+3
		"{seq:10-12}-{seq:10-12}":   `^12-12$`,
		"c{client}":                 `^c3$`,
		"{zipf:1-1}":                `^1$`,
		"{uuid}":                    `^[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$`,
		"{client}{random:0-9}{seq}": `^3\d23$`,
	} {
		p, err := parsePattern(in)
		if err != nil {
			t.Errorf("%s: %v", in, err)
			continue
		}
		for k := range 50 {
			if got := p.key(newDice(1, 3, k), 3, 5*4+3); !regexp.MustCompile(want).MatchString(got) {
				t.Errorf("%s gave %q", in, got)
			}
		}
	}
	for in, want := range map[string]string{
		"":             "empty",
		"a{":           "no }",
		"{rand}":       "unknown placeholder {rand}",
		"{random:5-1}": "a-b with 0 <= a <= b",
		"{random:-1}":  "a-b with",
		"{random:3}":   "a-b with",
		"{client:1-2}": "has no range",
		"{uuid:1-2}":   "has no range",
	} {
		if _, err := parsePattern(in); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: error %v, want %q", in, err, want)
		}
	}
}

func TestDraws(t *testing.T) {
	const n, draws = 10, 20_000
	var uniform, zipf [n]int
	for k := range draws {
		uniform[newDice(7, 0, k).below(n)]++
		zipf[newDice(7, 1, k).zipf(n)]++
	}
	for i, count := range uniform {
		if count < draws/n*8/10 || count > draws/n*12/10 {
			t.Errorf("%d was drawn %d times of %d", i, count, draws)
		}
	}
	// Four octaves of 1, 2, 4 and 3 ranks, each as likely.
	for i, want := range []int{4, 8, 8, 16, 16, 16, 16, 12, 12, 12} {
		if got := zipf[i]; got < draws/want*8/10 || got > draws/want*12/10 {
			t.Errorf("rank %d was drawn %d times, want about %d", i, got, draws/want)
		}
	}
}

func choices(seed uint64, client, count int) []string {
	w := &world.Workload{Driver: "http", Name: "load", Operations: 1, Targets: []string{"http://n1"}, Clients: 4, Mix: []world.Operation{
		{Kind: "put", Weight: 2, KeyPattern: "k{random:0-4}", ValueSizeBytes: 14}, {Kind: "get", Weight: 1, KeyPattern: "k{random:0-4}"},
		{Kind: "delete", Weight: 0}, {Kind: "put", Weight: 1, KeyPattern: "s{seq:0-9}"}}}
	s, err := newSettings(w, nil)
	if err != nil {
		panic(err)
	}
	c := chooser{seed: seed, client: client, clients: s.clients, name: fmt.Sprintf("load/c%d", client), mix: s.mix,
		total: s.weight, counts: make([]uint64, len(s.mix))}
	var out []string
	for k := range count {
		o := c.next(k)
		out = append(out, strings.TrimSpace(o.entry.Kind+" "+o.key+" "+o.value))
	}
	return out
}

// TestChoices pins what a seed means: a change here changes every stored failure.
func TestChoices(t *testing.T) {
	got := choices(3, 1, 8)
	want := []string{"put k2 load/c1-0.....", "get k3", "put s1 load/c1-2", "get k4", "put k4 load/c1-4.....", "put s5 load/c1-5",
		"put s9 load/c1-6", "put k1 load/c1-7....."}
	if !reflect.DeepEqual(got, want) {
		t.Errorf("got %q", got)
	}
	if again := choices(3, 1, 4); !reflect.DeepEqual(again, got[:4]) {
		t.Errorf("fewer operations are other operations: %q", again)
	}
	if reflect.DeepEqual(choices(4, 1, 8), got) || reflect.DeepEqual(choices(3, 2, 8), got) {
		t.Error("another seed or client makes the same choices")
	}
	seen := map[string]bool{}
	for c := range 4 {
		for _, o := range choices(1, c, 500) {
			words := strings.Fields(o)
			if words[0] == "delete" {
				t.Fatal("an operation of weight 0 was chosen")
			}
			if len(words) == 3 {
				if seen[words[2]] {
					t.Fatalf("value %s was written twice", words[2])
				}
				seen[words[2]] = true
			}
		}
	}
}

func TestValidate(t *testing.T) {
	good := func() *world.Workload {
		return &world.Workload{Name: "load", Driver: "http", Targets: []string{"http://n1:80/base"}, DurationNs: 1}
	}
	for want, spoil := range map[string]func(*world.Workload){
		"":                               func(w *world.Workload) {},
		"no option \"sentinels\"":        func(w *world.Workload) { w.Options = map[string]string{"sentinels": "a"} },
		"never end":                      func(w *world.Workload) { w.DurationNs = 0 },
		"no spread \"all\"":              func(w *world.Workload) { w.Options = map[string]string{"spread": "all"} },
		"a rate of -1":                   func(w *world.Workload) { w.RatePerS = -1 },
		"the limit is 10000":             func(w *world.Workload) { w.Clients = 20_000 },
		"no operation \"INCR\"":          func(w *world.Workload) { w.Mix = []world.Operation{{Kind: "INCR", Weight: 1}} },
		"no operation has a weight":      func(w *world.Workload) { w.Mix = []world.Operation{{Kind: "put"}} },
		"must not be negative":           func(w *world.Workload) { w.Mix = []world.Operation{{Kind: "put", Weight: -1}} },
		"unknown placeholder {x}":        func(w *world.Workload) { w.Mix = []world.Operation{{Kind: "put", Weight: 1, KeyPattern: "{x}"}} },
		"must start with / and contain":  func(w *world.Workload) { w.Mix = []world.Operation{{Kind: "put", Weight: 1, Path: "/kv"}} },
		"has no target":                  func(w *world.Workload) { w.Targets = nil },
		"https is not supported":         func(w *world.Workload) { w.Targets = []string{"https://n1"} },
		"has a query":                    func(w *world.Workload) { w.Targets = []string{"http://n1/?a=b"} },
		"\"200\" is not a status":        func(w *world.Workload) { w.Options = map[string]string{"fail_status": "200"} },
		"put_method \"GET\"":             func(w *world.Workload) { w.Options = map[string]string{"put_method": "GET"} },
		"trim_space \"yes\"":             func(w *world.Workload) { w.Options = map[string]string{"trim_space": "yes"} },
		"neither a target such as redis": func(w *world.Workload) { w.Driver, w.Targets = "redis", nil },
		"it must be a URL such as redis": func(w *world.Workload) { w.Driver = "redis" },
		"sentinels without master_name": func(w *world.Workload) {
			w.Driver, w.Targets, w.Options = "redis", nil, map[string]string{"sentinels": "n1"}
		},
		"master_name without sentinels": func(w *world.Workload) {
			w.Driver, w.Targets, w.Options = "redis", nil, map[string]string{"master_name": "m"}
		},
		"because the sentinels decide": func(w *world.Workload) {
			w.Driver, w.Targets = "redis", []string{"redis://a", "redis://b"}
			w.Options = map[string]string{"sentinels": "n1", "master_name": "m"}
		},
	} {
		w := good()
		spoil(w)
		err := Validate(w)
		if want == "" && err != nil || want != "" && (err == nil || !strings.Contains(err.Error(), want)) {
			t.Errorf("error %v, want %q", err, want)
		}
	}
	if err := Validate(&world.Workload{Driver: "command"}); err != nil {
		t.Errorf("a command is not for this package to judge: %v", err)
	}
}

// Sizes of a range stay in it, meet each boundary, and lie between boundaries too.
func TestSizes(t *testing.T) {
	for _, c := range []struct {
		low, high int
		want      []int
	}{
		{0, 4097, []int{0, 1, 2, 3, 4, 5, 7, 8, 9, 127, 128, 129, 255, 256, 257, 4095, 4096, 4097}},
		{100, 100, []int{100}},
		{250, 300, []int{250, 255, 256, 257, 299, 300}},
		{0, 1, []int{0, 1}},
	} {
		seen := map[int]int{}
		for k := range 5000 {
			n := newDice(3, 0, k).size(c.low, c.high)
			if n < c.low || n > c.high {
				t.Fatalf("[%d, %d] gave %d", c.low, c.high, n)
			}
			seen[n]++
		}
		for _, n := range c.want {
			if seen[n] == 0 {
				t.Errorf("[%d, %d] never gave %d", c.low, c.high, n)
			}
		}
		if c.high-c.low > 1000 && len(seen) < 1000 {
			t.Errorf("[%d, %d] gave %d sizes only", c.low, c.high, len(seen))
		}
	}
}

// Values of a range have the size that was drawn, and are unique where they are long enough.
func TestValuesOfARange(t *testing.T) {
	e := &entry{Operation: world.Operation{Kind: "put", ValueSizeBytes: 0, MaxValueBytes: 64}}
	seen := map[string]bool{}
	empty := false
	for client := range 4 {
		c := chooser{seed: 5, client: client, clients: 4, name: fmt.Sprintf("load/c%d", client)}
		for k := range 300 {
			v := c.value(newDice(5, client, k), e, k)
			empty = empty || v == ""
			if len(v) > 64 || len(v) >= len(value(c.name, k, 0)) && seen[v] {
				t.Fatalf("value %q again, or too long", v)
			}
			seen[v] = true
		}
	}
	if !empty {
		t.Error("no value was empty")
	}
}

// Special values come as often as they should, a few in each run, and all of them over many.
func TestSpecials(t *testing.T) {
	p, err := parsePattern("k")
	if err != nil {
		t.Fatal(err)
	}
	all := map[string]bool{}
	for seed := range uint64(200) {
		special, err := specials(seed, world.Dictionary)
		if err != nil {
			t.Fatal(err)
		}
		c := chooser{seed: seed, clients: 1, name: "c0", total: 1, counts: make([]uint64, 1), special: special, ppm: 200_000,
			mix: []entry{{Operation: world.Operation{Kind: "set"}, pattern: p, weight: 1}}}
		keys, values, seen := 0, 0, map[string]bool{}
		for k := range 500 {
			o := c.next(k)
			if o.key != "k" {
				keys++
				seen[o.key] = true
				all[o.key] = true
			}
			if o.value != value("c0", k, 0) {
				values++
			}
			if !strings.HasPrefix(o.value, value("c0", k, 0)) {
				t.Fatalf("value %q is not unique", o.value)
			}
		}
		if keys < 60 || keys > 140 || values < 60 || values > 140 || len(seen) > specialsOfRun {
			t.Fatalf("seed %d: %d keys, %d values, %d special ones", seed, keys, values, len(seen))
		}
	}
	if len(all) != len(world.Dictionary) {
		t.Errorf("%d of %d special values in 200 runs", len(all), len(world.Dictionary))
	}
}
