package formats

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"io"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/bloodhound-dst/bloodhound/history"
)

// told is a history in short: client, what became of its transaction, and its accesses.
func told(t *testing.T, events []history.Event) string {
	t.Helper()
	ops, err := history.Pair(events)
	if err != nil {
		t.Fatal(err)
	}
	var list []string
	for _, o := range ops {
		list = append(list, fmt.Sprintf("%s %s %s", o.Client, o.Type, o.Input+o.Output))
	}
	return strings.Join(list, "\n")
}

// readAs reads a file of a format.
func readAs(in io.Reader, f Format) (events []history.Event, err error) {
	err = (&Reading{Format: f}).ReadEach(in, func(e *history.Event) error {
		events = append(events, *e)
		return nil
	})
	return events, err
}

// bincode writes what DBCop stores; a session is a list of transactions, a transaction one of (write, key, value, success).
func bincode(data [][][][4]uint64) []byte {
	var b bytes.Buffer
	word := func(n int) { binary.Write(&b, binary.LittleEndian, uint64(n)) }
	for range 5 {
		word(7)
	}
	for _, text := range []string{"info", "", "end"} {
		word(len(text))
		b.WriteString(text)
	}
	word(len(data))
	for _, session := range data {
		word(len(session))
		for _, txn := range session {
			word(len(txn))
			for _, a := range txn {
				b.WriteByte(byte(a[0]))
				word(int(a[1]))
				word(int(a[2]))
				b.WriteByte(byte(a[3]))
			}
			b.WriteByte(1)
		}
	}
	return b.Bytes()
}

func cobra(words ...any) []byte {
	var b bytes.Buffer
	for _, w := range words {
		switch w := w.(type) {
		case rune:
			b.WriteByte(byte(w))
		case int:
			binary.Write(&b, binary.BigEndian, uint64(w))
		}
	}
	return b.Bytes()
}

func TestSessions(t *testing.T) {
	const two = "session 1 ok [[\"w\",0,1]]\nsession 2 ok [[\"r\",0,1],[\"r\",1,null]]\nsession 1 ok [[\"w\",1,2]]"
	stored := bincode([][][][4]uint64{{{{1, 0, 1, 1}}, {{1, 1, 2, 1}, {1, 1, 9, 0}}}, {{{0, 0, 1, 1}, {0, 1, 0, 1}}}})
	for _, c := range []struct {
		format   Format
		in, want string
	}{
		{Plume, "w(0,1,1,1)\nr(0,1,2,7)\nw(1,2,1,2)\nr(1,0,2,7)\n", two},
		{Plume, "w(0,0,1,1)\nr(0,00,2,2)", "session 1 ok [[\"w\",0,0]]\nsession 2 ok [[\"r\",0,0]]"},
		{Plume, "w(0,5,3,-1)\nr(0,5,3,-1)\nw(0,1,3,1)", "aborted write 1 fail [[\"w\",0,5]]\nsession 3 ok [[\"w\",0,1]]"},
		{Awdit, "w 0 1\n-----\nw 1 2\n=====\nr 0 1\n r  1 0 ",
			"session 1 ok [[\"w\",0,1]]\nsession 2 ok [[\"r\",0,1],[\"r\",1,0]]\nsession 1 ok [[\"w\",1,2]]"},
		{DBCop, "// one\n[x:=1] [y:=2]!\n---\n[x==1 y==? z==0]",
			"session 1 ok [[\"w\",\"x\",1]]\nsession 2 ok [[\"r\",\"x\",1],[\"r\",\"y\",null],[\"r\",\"z\",null]]\nsession 1 fail [[\"w\",\"y\",2]]"},
		{DBCopJS, `[[{"events":[{"Write":{"variable":0,"version":1}}],"committed":true}],[{"events":[{"Read":{"variable":0,"version":null}}],"committed":false}]]`,
			"session 1 ok [[\"w\",0,1]]\nsession 2 fail [[\"r\",0,null]]"},
		{DBCopJS, `{"params":{"id":0},"data":[[{"events":[{"Write":{"variable":0,"version":1}}],"committed":true}]]}`, "session 1 ok [[\"w\",0,1]]"},
		{Bincode, string(stored), two},
	} {
		events, err := readAs(strings.NewReader(c.in), c.format)
		if err != nil {
			t.Errorf("%s %q: %v", c.format, c.in, err)
			continue
		}
		if got := told(t, events); got != c.want {
			t.Errorf("%s %q:\n%s\nwant\n%s", c.format, c.in, got, c.want)
		}
		if f := Recognize("", []byte(c.in)); f != c.format && c.format != Bincode {
			t.Errorf("%q is taken for %q, not %q", c.in, f, c.format)
		}
	}
	for n := range stored {
		if _, err := readAs(bytes.NewReader(stored[:n]), Bincode); err == nil {
			t.Errorf("the first %d bytes of %d are taken for a history", n, len(stored))
		}
	}
	if _, err := readAs(bytes.NewReader(append(stored, 0)), Bincode); err == nil {
		t.Error("a byte follows the history, and the reader does not notice")
	}
}

func TestCobra(t *testing.T) {
	one := cobra('S', 5, 'W', 77, 4, 1, 'R', 0, cobraInitial, 6, 0, 'C', 5)
	two := cobra('S', 6, 'R', 5, 77, 4, 1, 'C', 6)
	read := func(one, two []byte) ([]history.Event, error) {
		return readCobra(fstest.MapFS{"T1.log": {Data: one}, "T2.log": {Data: two}, "T2.debug": {Data: []byte("x")}})
	}
	events, err := read(one, two)
	if err != nil {
		t.Fatal(err)
	}
	if got, want := told(t, events), "T1 ok [[\"w\",4,77],[\"r\",6,null]]\nT2 ok [[\"r\",4,77]]"; got != want {
		t.Errorf("%s, want %s", got, want)
	}
	for n := 1; n < len(one); n++ {
		if _, err := read(one[:n], two); err == nil {
			t.Errorf("the first %d bytes of %d are taken for a log", n, len(one))
		}
	}
	for _, broken := range [][]byte{cobra('C', 5), cobra('S', 1, 'S', 2), cobra('S', 1, 'C', 2), cobra('S', 1, 'X'),
		cobra('S', 1, 'R', 0, cobraCollect, 1, 1, 'C', 1)} {
		if _, err := read(broken, two); err == nil {
			t.Errorf("%x is taken for a log", broken)
		}
	}
}

func TestBrokenSessions(t *testing.T) {
	for _, c := range []struct {
		format   Format
		in, want string
	}{
		{Plume, "w(0,1,1,1)\nr(0,1,2", "line 2:"},
		{Plume, "w(0,1,1,1)\nx(0,1,2,2)", "line 2:"},
		{Plume, "w(0,x,1,1)", "64-bit number"},
		{Plume, "w(0,-1,1,1)", "64-bit number"},
		{Plume, "w(0,1,1,-2)", "64-bit number"},
		{Plume, "w(0,1,1,1)\nr(0,1,2,1)", "two sessions"},
		{Plume, "w(0,1,1,1)\nw(0,2,1,2)\nw(0,3,1,1)", "continues after"},
		{Plume, "w", "is not r(key"},
		{Plume, "", "no transactions"},
		{Awdit, "w 0", "line 1:"},
		{Awdit, "w 0 1 2", "line 1:"},
		{Awdit, "=====\n", "no transactions"},
		{DBCopJS, `[[{"events":[{"Write":{"variable":0,"version":1,"version":2}}],"committed":true}]]`, `"version" stands twice`},
		{DBCop, "[x:=1", "not a transaction such as"},
		{DBCop, "[x:=?]", "not an access"},
		{DBCop, "[x=1]", "not an access"},
		{DBCop, "[x:=1y==2]", "not an access"},
		{DBCopJS, `[[{"events":[]}]]`, "are required"},
		{DBCopJS, `[[{"events":[{}],"committed":true}]]`, "an event must be"},
		{DBCopJS, `[[{"events":[{"Write":{"variable":0}}],"committed":true}]]`, "version"},
		{DBCopJS, `[[`, "not a DBCop history"},
		{DBCopJS, `{"params":1}`, "no transactions"},
	} {
		if _, err := readAs(strings.NewReader(c.in), c.format); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s %q: %v, want %q", c.format, c.in, err, c.want)
		}
	}
}

func TestJepsenJSON(t *testing.T) {
	const edn = `[{:type :invoke :process 0 :f :txn :value [[:append "x" 1] [:r 3 nil]]} {:type :ok :process 0 :f :txn :value [[:append "x" 1] [:r 3 [1 2]]]}
{:type :info :process :nemesis :f :start} {:type :invoke :process 0 :f :read} {:type :ok :process 0 :f :read :value {0 10 1 20}}]`
	want, err := gather(ReadEDN, strings.NewReader(edn), false)
	if err != nil {
		t.Fatal(err)
	}
	const lines = `{"type":"invoke","process":0,"f":"txn","value":[["append","x",1],["r",3,null]]}
{"type":"ok","process":0,"f":"txn","value":[["append","x",1],["r",3,[1,2]]]}
{"type":"info","process":"nemesis","f":"start"}
{"type":"invoke","process":0,"f":"read"}
{"type":"ok","process":0,"f":"read","value":{"0":10,"1":20}}`
	for _, in := range []string{lines, "[" + strings.ReplaceAll(lines, "\n", ",\n") + "]\n"} {
		got, err := gather(ReadJepsenJSON, strings.NewReader(in), false)
		if err != nil || fmt.Sprint(got) != fmt.Sprint(want) {
			t.Errorf("%v\n%+v\nwant\n%+v", err, got, want)
		}
		if jsonOf([]byte(in)) != JepsenJSON {
			t.Errorf("%.20s is not taken for Jepsen's", in)
		}
		for n := range len(strings.TrimSpace(in)) {
			whole := in[0] == '{' && (n == 0 || in[n] == '\n' || in[n-1] == '\n') // lines that are there are a history
			if _, err := gather(ReadJepsenJSON, strings.NewReader(in[:n]), false); err == nil && !whole {
				t.Errorf("the first %d bytes are taken for a history", n)
			}
		}
	}
	for in, want := range map[string]string{
		`[{"type":"ok"}`: `no "f"`,
		`[{"type":"invoke","process":1,"f":"r"}] 7`:                                                             "something follows",
		`[{"type":"invoke","process":1,"process":2,"f":"r"}]`:                                                   "stands twice",
		`[{"type":"invoke","process":1,"f":"read"},{"type":"ok","process":1,"f":"read","value":{"a":1,"a":2}}]`: "stands twice",
		`[{"type":"invoke","f":"read"},{"type":"invoke","f":"read"},{"type":"ok","f":"read","value":1}]`:        "may complete operation 1 or operation 2",
		`[{"type":"invoke","f":"add","value":1},{"type":"ok","f":"add","value":2}]`:                             "completes no invoked operation",
		`[7]`: "not an object",
		``:    "empty",
	} {
		if _, err := gather(ReadJepsenJSON, strings.NewReader(in), false); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %q", in, err, want)
		}
	}
}

// TestWithoutProcess: operations without a process are paired where there is one way only.
func TestWithoutProcess(t *testing.T) {
	const in = `({:type :invoke :f :read} {:type :invoke :f :write :value 1} {:type :invoke :f :write :value 2} {:type :ok :f :write :value 2}
{:type :ok :f :read :value [1 2]} {:type :invoke :value [[:r :x nil] [:append :y 2]]} {:type :invoke :value [[:r :z nil]]} {:type :ok :value [[:r :x [1]] [:append :y 2]]})`
	events, err := gather(ReadEDN, strings.NewReader(in), false)
	if err != nil {
		t.Fatal(err)
	}
	const want = `operation 1 ok [1,2]
operation 2 info 1
operation 3 ok 2
operation 6 ok [["r",":x",null],["append",":y",2]][["r",":x",[1]],["append",":y",2]]
operation 7 info [["r",":z",null]]`
	if got := told(t, events); got != want {
		t.Errorf("%s\nwant\n%s", got, want)
	}
}
