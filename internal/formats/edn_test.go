package formats

import (
	"encoding/json"
	"fmt"
	"io"
	"reflect"
	"strings"
	"testing"

	"github.com/bloodhound-dst/bloodhound/history"
)

// gather reads all events of a history.
func gather(read func(io.Reader, bool, func(*history.Event) error) error, r io.Reader, keyed bool) (events []history.Event, err error) {
	err = read(r, keyed, func(e *history.Event) error {
		events = append(events, *e)
		return nil
	})
	return events, err
}

func TestEDN(t *testing.T) {
	in := `; a comment
{:type :invoke, :f :write, :value 3, :process 0, :time 100, :index 0}
{:process :nemesis, :type :info, :f :start, :value "cut"}
{:type :ok, :f :write, :value 3, :process 0, :time 200}
#jepsen.history.Op{:index 4, :time 300, :type :invoke, :process 1, :f :read, :value nil}
{:type :ok, :f :read, :value nil, :process 1}
{:type :invoke :f :cas :value [3 4] :process 0} {:type :info :f :cas :value [3 4] :process 0 :error :timeout}
{:type :invoke, :f :txn, :value [[:r 1 nil] [:append "k" -2.5]], :process 5}
{:type :ok, :f :txn, :value [[:r 1 [1 2N]] [:append "k" -2.5] #_ :gone], :process 5}
{:type :invoke, :f :read, :value nil, :process 6, :key "a\n\"\u00e9"}
{:type :ok, :f :read, :value #{1 :b {:c \x}}, :process 6, :key "a\n\"\u00e9"}
{:type :invoke, :f :dequeue, :value nil, :process 7}
{:type :ok, :f :dequeue, :value 8, :process 7}
`
	want := []history.Event{
		{TimeNs: 100, Client: "0", Type: history.Invoke, Op: "write", Input: "3"},
		{TimeNs: 200, Client: "0", Type: history.Ok, Op: "write"},
		{TimeNs: 300, Client: "1", Type: history.Invoke, Op: "read"},
		{Client: "1", Type: history.Ok, Op: "read"},
		{Client: "0", Type: history.Invoke, Op: "cas", Expect: "3", Input: "4"},
		{Client: "0", Type: history.Info, Op: "cas", Expect: "3", Input: "4", Error: "timeout"},
		{Client: "5", Type: history.Invoke, Op: "txn", Input: `[["r",1,null],["append","k","-2.5"]]`},
		{Client: "5", Type: history.Ok, Op: "txn", Output: `[["r",1,[1,2]],["append","k","-2.5"]]`, Found: true},
		{Client: "6", Type: history.Invoke, Op: "read", Key: "a\n\"é"},
		{Client: "6", Type: history.Ok, Op: "read", Key: "a\n\"é", Output: `#{":b",1,{":c":"\\x"}}`, Found: true},
		{Client: "7", Type: history.Invoke, Op: "dequeue", NoInput: true},
		{Client: "7", Type: history.Ok, Op: "dequeue", Output: "8", Found: true},
	}
	for i := range want {
		want[i].Number = uint64(i + 1)
	}
	for _, text := range []string{in, "[" + in + "]"} {
		got, err := gather(ReadEDN, strings.NewReader(text), false)
		if err != nil || !reflect.DeepEqual(got, want) {
			t.Fatalf("%v\ngot  %+v\nwant %+v", err, got, want)
		}
		if _, err := history.Pair(got); err != nil {
			t.Fatal(err)
		}
	}
	got, err := gather(ReadEDN, strings.NewReader(`{:type :invoke, :f :write, :value [7 3], :process 0} {:type :info, :f :write, :value [7 3], :process 0, :error [:x "y"]}
		{:type :invoke, :f :read, :value [7 nil], :process 1} {:type :ok, :f :read, :value [7 3], :process 1}`), true)
	if err != nil || got[0].Key != "7" || got[0].Input != "3" || got[1].Error != `["x","y"]` || got[2].Input != "" || got[3].Output != "3" || !got[3].Found {
		t.Fatalf("%v %+v", err, got)
	}
}

func TestBrokenEDN(t *testing.T) {
	for in, want := range map[string]string{
		"\n7":                                 "line 2: not a map",
		"{:type :invoke\n:f :read :process 0": "line 2: the file ends in the middle",
		"{:type :invoke :f}":                  "line 1: a map has a key without a value",
		"{:type :invoke :f :read}{:type :ok :f :read :process 1}": "line 1: some events have a :process",
		"{:type :ok :f :read}": "line 1: this read completes no invoked operation",
		"[{:type :invoke :f :read :process 1}] {:type :ok :f :read :process 1}":        "after the end of the history",
		"({:type :invoke :f :read :process 1 :process 2})":                             "appears twice",
		"{:type :maybe :f :read :process 1}":                                           "line 1: :type is maybe",
		"{:type :invoke :process 1}":                                                   "line 1: no :f",
		"{:type :invoke :f :cas :process 1 :value 3}":                                  "the value of a cas must be [old new]",
		"{:type :invoke :f :w :process 1 :value \"\\q\"}":                              `\q in a text`,
		"{:type :invoke :f :w :process 1 :value \"\\uzzzz\"}":                          "does not encode a character",
		"{:type :invoke :f :w :process 1 :value \"\xff\"}":                             "not UTF-8",
		"{:type :invoke :f :w :process 1 :value 1x}":                                   "not a number",
		"{:type :invoke :f :w :process 1 :value " + strings.Repeat("9", 500_000) + "}": "a number has more than 400 digits",
		"{:type :invoke :f :w :process 1 :value 1e999}":                                "not a number",
		"{] }":                                                   `unexpected ']'`,
		"[{:type :invoke :f :w :process 1}":                      "the vector of events is not closed",
		"{:a " + strings.Repeat("[", 100):                        "nested more than 64",
		"{:a #_ #_" + strings.Repeat(" #_", 100):                 "",
		"{:a \"" + strings.Repeat("x", history.MaxRecordBytes+1): "an event has more than",
		"{:a " + strings.Repeat("#t ", 100) + "1}":               "nested more than 64",
		"{:type :invoke :f :w :process 1 :value :}":              "a keyword without a name",
	} {
		_, err := gather(ReadEDN, strings.NewReader(in), false)
		if err == nil || !strings.Contains(err.Error(), want) || !strings.HasPrefix(err.Error(), "line ") {
			t.Errorf("%.40q: error %v, want %q", in, err, want)
		}
	}
	if _, err := gather(ReadEDN, strings.NewReader("{:type :invoke :f :w :process 1 :value 3}"), true); err == nil ||
		!strings.Contains(err.Error(), "not a pair") {
		t.Error(err)
	}
}

// FuzzReadEDN: whatever is read can be written and read again.
func FuzzReadEDN(f *testing.F) {
	f.Add("{:type :invoke, :f :txn, :value [[:r 1 nil] {:a #{1.5 \\x}}], :process 0}")
	f.Add("[{:type :ok :f :read :process 1 :value \"\\u00e9\"}]")
	f.Fuzz(func(t *testing.T, in string) {
		events, err := gather(ReadEDN, strings.NewReader(in), false)
		if err != nil {
			return
		}
		for _, e := range events {
			p, err := json.Marshal(e)
			var again history.Event
			if err != nil || json.Unmarshal(p, &again) != nil || fmt.Sprint(again) != fmt.Sprint(e) {
				t.Fatalf("%+v became %s", e, p)
			}
		}
	})
}
