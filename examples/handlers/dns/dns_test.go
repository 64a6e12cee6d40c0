package dns

import (
	"encoding/json"
	"math/rand/v2"
	"os"
	"testing"
	"time"

	"github.com/bloodhound-dst/bloodhound/live"
)

// The messages have 64 bytes, of which ten vary: the length of the EDNS record, and of its option the code, the length, the family, and the bits of source and scope.
const (
	size = 64
	from = 12 + 13 + 9
	to   = from + 10
)

// example asks for the address of "example" on behalf of a client in 192.0.2.0/24. Zeros follow.
func example() []byte {
	msg := make([]byte, size)
	copy(msg, "\x12\x34\x01\x00\x00\x01\x00\x00\x00\x00\x00\x01\x07example\x00\x00\x01\x00\x01"+"\x00\x00\x29\x04\xd0\x00\x00\x00\x00\x00\x0b\x00\x08\x00\x07\x00\x01\x18\x00\xc0\x00\x02")
	return msg
}

// right reports whether a response belongs to the query.
func right(msg, r []byte) bool {
	return r == nil || len(r) >= 12 && r[0] == msg[0] && r[1] == msg[1] && r[2]&0x80 != 0
}

func TestExample(t *testing.T) {
	r := Answer(example())
	if len(r) != 12+13+16+11 || r[7] != 1 || string(r[37:41]) != "\xc0\x00\x02\x01" {
		t.Errorf("%x", r)
	}
}

// budget is how long a search takes: a few seconds, or what bench/live says.
func budget() time.Duration {
	if d, err := time.ParseDuration(os.Getenv("HANDLER_TIME")); err == nil {
		return d
	}
	return 10 * time.Second
}

// tried are the inputs of a search, for TestReplay, which measures what they cover.
var tried [][]byte

func TestAnswer(t *testing.T) {
	if name := os.Getenv("HANDLER_INPUTS"); name != "" {
		t.Cleanup(func() {
			data, err := json.Marshal(tried)
			if err == nil {
				err = os.WriteFile(name, data, 0o666)
			}
			if err != nil {
				t.Error(err)
			}
		})
	}
	live.Explore(t, live.Handler{Time: budget(), Run: func() {
		msg := example()
		live.SymbolicBytes("edns", msg[from:to])
		tried = append(tried, append([]byte(nil), msg...))
		live.Check("the response is of the query", right(msg, Answer(msg)))
	}})
}

// TestReplay gives the handler the inputs of a search.
func TestReplay(t *testing.T) {
	data, err := os.ReadFile(os.Getenv("HANDLER_INPUTS"))
	if err != nil || json.Unmarshal(data, &tried) != nil {
		t.Skip("bench/live runs this")
	}
	for _, msg := range tried {
		func() {
			defer func() { recover() }()
			Answer(msg)
		}()
	}
}

// The same by random inputs, each of which is the example with some other bytes, for as long.
func TestRandom(t *testing.T) {
	if os.Getenv("HANDLER_TIME") == "" {
		t.Skip("bench/live runs this")
	}
	r := rand.New(rand.NewPCG(1, 2))
	begun, tries := time.Now(), 0
	defer func() {
		if e := recover(); e != nil {
			t.Fatalf("found: %v after %d tries and %.1f s", e, tries, time.Since(begun).Seconds())
		}
	}()
	for time.Since(begun) < budget() {
		msg := example()
		for range r.IntN(10) {
			msg[from+r.IntN(to-from)] = byte(r.Uint32() >> r.IntN(8))
		}
		tries++
		if !right(msg, Answer(msg)) {
			t.Fatalf("found: %x after %d tries and %.1f s", msg, tries, time.Since(begun).Seconds())
		}
	}
	t.Logf("not found in %d tries", tries)
}

func FuzzAnswer(f *testing.F) {
	f.Add(example()[from:to])
	f.Fuzz(func(t *testing.T, edns []byte) {
		msg := example()
		copy(msg[from:to], edns)
		if !right(msg, Answer(msg)) {
			t.Fatal("the response is of another query")
		}
	})
}
