package history

import (
	"bytes"
	"errors"
	"reflect"
	"slices"
	"strings"
	"testing"
)

func TestParseRecords(t *testing.T) {
	cases := []struct {
		name, in string
		want     []Event
		err      string
	}{
		{"an invoke", `{"client":"c1","type":"invoke","op":"put","key":"k","input":"v"}` + "\n",
			[]Event{{Client: "c1", Type: Invoke, Op: "put", Key: "k", Input: "v"}}, ""},
		{"without newline", `{"client":"c1","type":"ok","op":"put"}`, []Event{{Client: "c1", Type: Ok, Op: "put"}}, ""},
		{"numbers and booleans are text", `{"client":1,"type":"invoke","op":"cas","key":7,"expect":1.50,"input":true}`,
			[]Event{{Client: "1", Type: Invoke, Op: "cas", Key: "7", Expect: "1.50", Input: "true"}}, ""},
		{"an output means found", `{"client":"c","type":"ok","op":"get","output":""}`,
			[]Event{{Client: "c", Type: Ok, Op: "get", Found: true}}, ""},
		{"an output means found without op too", `{"client":"c","type":"ok","output":"x"}`,
			[]Event{{Client: "c", Type: Ok, Output: "x", Found: true}}, ""},
		{"null is not found", `{"client":"c","type":"ok","op":"get","output":null}`,
			[]Event{{Client: "c", Type: Ok, Op: "get"}}, ""},
		{"null as an input and an expect", `{"client":"c","type":"invoke","op":"cas","key":"k","expect":null,"input":null}`,
			[]Event{{Client: "c", Type: Invoke, Op: "cas", Key: "k", NoInput: true, NoExpect: true}}, ""},
		{"a read asks for nothing", `{"client":"c","type":"invoke","op":"get","input":null}`, []Event{{Client: "c", Type: Invoke, Op: "get"}}, ""},
		{"a completion repeats nothing", `{"client":"c","type":"ok","op":"put","input":null}`, []Event{{Client: "c", Type: Ok, Op: "put"}}, ""},
		{"found says it", `{"client":"c","type":"ok","op":"read","found":true}`,
			[]Event{{Client: "c", Type: Ok, Op: "read", Found: true}}, ""},
		{"a lost read has no result", `{"client":"c","type":"info","op":"get","output":"x"}`,
			[]Event{{Client: "c", Type: Info, Op: "get", Output: "x"}}, ""},
		{"a write's output is no value found", `{"client":"c","type":"ok","op":"put","output":"OK"}`,
			[]Event{{Client: "c", Type: Ok, Op: "put", Output: "OK"}}, ""},
		{"two in one write", `{"client":"a","type":"invoke","op":"get"}` + "\n" + `{"client":"a","type":"ok"}` + "\n",
			[]Event{{Client: "a", Type: Invoke, Op: "get"}, {Client: "a", Type: Ok}}, ""},
		{"stamps of the driver are read over", `{"number":9,"time_ns":9,"client":"a","type":"ok"}`,
			[]Event{{Client: "a", Type: Ok}}, ""},

		{"output of nothing", `{"client":"c","type":"ok","op":"get","output":"x","found":false}`, nil, `output "x" with "found": false`},
		{"null and an input", `{"client":"c","type":"invoke","op":"put","input":"x","no_input":true}`, nil, "cannot have input"},
		{"typo", `{"client":"c","type":"ok","op":"get","ouput":"x"}`, nil, `unknown field "ouput"`},
		{"no type", `{"client":"c","op":"get"}`, nil, `no "type"`},
		{"strange type", `{"client":"c","op":"get","type":"finished"}`, nil, `"finished" is not one of`},
		{"a mark about an operation", `{"client":"c","op":"get","type":"done"}`, nil, `"done" does not belong to an operation`},
		{"a mark with a result", `{"type":"check","found":false}`, nil, `"check" does not belong to an operation`},
		{"no client", `{"type":"ok","op":"get"}`, nil, `no "client"`},
		{"no op", `{"type":"invoke","client":"c"}`, nil, `without "op"`},
		{"cut", `{"client":"c","type":"o`, nil, "the record is truncated"},
		{"no JSON", `started`, nil, "invalid character"},
		{"nested", `{"client":"c","type":"ok","op":"get","output":{"a":1}}`, nil, "an object or array"},
		{"binary", "{\"client\":\"c\",\"type\":\"ok\",\"output\":\"\xff\"}", nil, "not UTF-8"},
		{"glued", `{"client":"c","type":"ok"}{"client":"c","type":"ok"}`, nil, "two records on one line"},
		{"the engine's type", `{"client":"c","type":"broken"}`, nil, "reserved for the engine"},
		{"huge", `{"client":"` + strings.Repeat("c", MaxRecordBytes) + `"}`, nil, "the limit is"},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			got, err := parseRecords([]byte(c.in))
			if c.err != "" {
				if err == nil || !strings.Contains(err.Error(), c.err) || !errors.Is(err, ErrBroken) {
					t.Fatalf("error %v, want one with %q that is ErrBroken", err, c.err)
				}
				return
			}
			if err != nil || !reflect.DeepEqual(got, c.want) {
				t.Fatalf("got %+v, %v\nwant %+v", got, err, c.want)
			}
		})
	}
}

func TestStampMarksWhatCannotBeRead(t *testing.T) {
	got := Stamp([]byte(`{"client":"c","type":"ok"}`+"\nhello\n"), 7, 70)
	if len(got) != 2 || got[0].Type != Ok || got[1].Type != Broken || got[1].Number != 7 || got[1].TimeNs != 70 {
		t.Fatalf("%+v", got)
	}
	if _, err := Pair(got); !errors.Is(err, ErrBroken) || !strings.Contains(err.Error(), `"hello"`) {
		t.Fatalf("Pair says %v", err)
	}
}

func TestPair(t *testing.T) {
	inv := func(n uint64, client, op, key, input string) Event {
		return Event{Number: n, TimeNs: int64(n) * 10, Client: client, Type: Invoke, Op: op, Key: key, Input: input}
	}
	end := func(n uint64, client string, typ Type, output string) Event {
		return Event{Number: n, TimeNs: int64(n) * 10, Client: client, Type: typ, Output: output}
	}
	// Given out of order on purpose: the number orders.
	ops, err := Pair([]Event{
		end(5, "b", Ok, "1"), inv(1, "a", "put", "k", "1"), inv(2, "b", "get", "k", ""), end(6, "a", Info, ""),
		inv(7, "a.1", "put", "k", "2"), inv(8, "b", "put", "k", "3"), end(9, "b", Fail, ""),
	})
	if err != nil {
		t.Fatal(err)
	}
	want := []Operation{
		{Client: "a", Op: "put", Key: "k", Input: "1", Type: Info, Call: 1, CallTimeNs: 10, Return: Pending, ReturnTimeNs: 60},
		{Client: "b", Op: "get", Key: "k", Output: "1", Type: Ok, Call: 2, CallTimeNs: 20, Return: 5, ReturnTimeNs: 50},
		{Client: "a.1", Op: "put", Key: "k", Input: "2", Type: Info, Call: 7, CallTimeNs: 70, Return: Pending},
		{Client: "b", Op: "put", Key: "k", Input: "3", Type: Fail, Call: 8, CallTimeNs: 80, Return: 9, ReturnTimeNs: 90},
	}
	if !reflect.DeepEqual(ops, want) {
		t.Fatalf("got  %+v\nwant %+v", ops, want)
	}

	for _, c := range []struct {
		name   string
		events []Event
		is     error
		text   string
	}{
		{"two in flight", []Event{inv(1, "a", "put", "k", "1"), inv(2, "a", "get", "k", "")}, ErrBroken, "while its put of event 1"},
		{"after info", []Event{inv(1, "a", "put", "k", "1"), end(2, "a", Info, ""), inv(3, "a", "get", "k", "")}, ErrBroken, "a.1"},
		{"late answer after info", []Event{inv(1, "a", "put", "k", "1"), end(2, "a", Info, ""), end(3, "a", Ok, "")}, ErrBroken, "continues at event 3"},
		{"no invoke", []Event{end(1, "a", Ok, "")}, ErrBroken, "without an operation"},
		{"answered twice", []Event{inv(1, "a", "put", "k", "1"), end(2, "a", Ok, ""), end(3, "a", Ok, "")}, ErrBroken, "event 3 without"},
		{"buffered", []Event{inv(1, "a", "put", "k", "1"), end(1, "a", Ok, "")}, ErrBuffered, "one write (event 1)"},
		{"another key", []Event{inv(1, "a", "put", "k", "1"), {Number: 2, Client: "a", Type: Ok, Key: "j"}}, ErrBroken, `invoked key "k"`},
		{"another op", []Event{inv(1, "a", "put", "k", "1"), {Number: 2, Client: "a", Type: Ok, Op: "get"}}, ErrBroken, `invoked op "put"`},
	} {
		t.Run(c.name, func(t *testing.T) {
			if _, err := Pair(c.events); !errors.Is(err, c.is) || !strings.Contains(err.Error(), c.text) {
				t.Fatalf("error %v, want %v with %q", err, c.is, c.text)
			}
		})
	}
}

func TestFiles(t *testing.T) {
	events := []Event{
		{Number: 3, TimeNs: 30, Client: "a", Type: Invoke, Op: "get", Key: "<k>"},
		{Number: 4, TimeNs: 40, Client: "a", Type: Ok, Op: "get", Key: "<k>", Found: true, Node: "n1"},
		{Number: 9, TimeNs: 90, Type: Broken, Error: "broken history: why"},
		{Number: 10, TimeNs: 91, Client: "b", Type: Invoke, Op: "cas", Key: "k", NoInput: true, NoExpect: true},
	}
	var b bytes.Buffer
	if err := Write(&b, events); err != nil {
		t.Fatal(err)
	}
	got, err := Read(&b)
	if err != nil || !reflect.DeepEqual(got, events) {
		t.Fatalf("got %+v, %v", got, err)
	}
	got, err = Read(strings.NewReader(`{"client":"a","type":"invoke","op":"get"}` + "\n\n" + `{"client":"a","type":"ok","output":5}`))
	if err != nil || len(got) != 2 || got[0].Number != 1 || got[1].Number != 3 {
		t.Fatalf("lines number what has no number: %+v, %v", got, err)
	}
	for in, want := range map[string]string{
		`{"client":"a","type":"invoke","op":"get"}` + "\nx\n":                                            "line 2: ",
		`{"client":"a","type":"invoke","op":"get","number":1}` + "\n" + `{"client":"a","type":"ok"}`:     "line 2: some records have a number",
		`{"client":"` + strings.Repeat("c", MaxRecordBytes) + `","type":"invoke","op":"get","number":1}`: "line 1: a record has more",
	} {
		if _, err := Read(strings.NewReader(in)); err == nil || !strings.HasPrefix(err.Error(), want) {
			t.Errorf("error %v, want %q", err, want)
		}
	}
}

func TestRecordList(t *testing.T) {
	const in = `[{"client":"a","type":"invoke","op":"get","key":"k"},
 {"client":"a","type":"ok","output":"1"}]`
	events, err := Read(strings.NewReader(in))
	if err != nil || len(events) != 2 {
		t.Errorf("%v %v", events, err)
	}
	for n := 1; n < len(in); n++ {
		if _, err := Read(strings.NewReader(in[:n])); err == nil {
			t.Errorf("%q is taken for a history", in[:n])
		}
	}
}

// FuzzParseRecords checks that what was parsed can be stored and read again unchanged.
func FuzzParseRecords(f *testing.F) {
	f.Add([]byte(`{"client":1,"type":"ok","op":"get","output":null,"found":true}`))
	f.Add([]byte(`{"client":"a","type":"invoke","op":"cas","key":"k","expect":"1","input":2}` + "\n\n"))
	f.Fuzz(func(t *testing.T, p []byte) {
		events, err := parseRecords(p)
		if err != nil || len(events) == 0 {
			return
		}
		for i := range events {
			events[i].Number = uint64(i + 1)
		}
		var b bytes.Buffer
		if err := Write(&b, events); err != nil {
			t.Fatal(err)
		}
		if b.Len() > MaxRecordBytes {
			return
		}
		got, err := Read(&b)
		if err != nil || !reflect.DeepEqual(got, events) {
			t.Fatalf("%+v became %+v, %v", events, got, err)
		}
	})
}

// Records that say where a driver is are no operations: a run takes them in, and a history leaves them out.
func TestMarks(t *testing.T) {
	const text = `{"type":"ready"}
{"client":"a","type":"invoke","op":"get","key":"k"}
{"client":"a","type":"ok"}
{"type":"done","client":"a"}
{"type":"check"}
`
	var types []Type
	for _, e := range Stamp([]byte(text), 7, 8) {
		if types = append(types, e.Type); e.Number != 7 || e.TimeNs != 8 {
			t.Errorf("%+v", e)
		}
	}
	if want := []Type{Ready, Invoke, Ok, Done, Check}; !slices.Equal(types, want) {
		t.Errorf("%q, not %q", types, want)
	}
	events, err := Read(strings.NewReader(text))
	if err != nil || len(events) != 2 || events[0].Type != Invoke || events[0].Number != 2 || events[1].Number != 3 {
		t.Errorf("%v, %v", events, err)
	}
}
