package formats

import (
	"errors"
	"fmt"
	"io"
	"strings"
	"testing"

	"github.com/bloodhound-dst/bloodhound/history"
)

// oneOf has values of EDN, of which those of one list are equal, and no others.
var oneOf = [][]string{
	{"1", "1N", "+1", "2/2"}, {"1.0", "1e0", "10e-1", "1.00"}, {"1M", "1.0M", "1.00M"}, {`"1"`, `"\u0031"`, `"\61"`}, {":1"}, {`\1`, `\u0031`, `\o61`},
	{"nil"}, {`"nil"`}, {":nil"}, {`"null"`}, {"null"}, {"true"}, {`"true"`}, {"false"}, {":foo"}, {`"foo"`}, {"foo"}, {`":foo"`}, {`"'foo"`}, {":user/foo"},
	{"0", "-0", "0N"}, {"0.0", "-0.0"}, {"-1"}, {`"-1"`}, {"1/2", "2/4"}, {"0.5"}, {`"1/2"`}, {"0.5M", "0.50M"}, {`"0.5M"`},
	{"1000000000000000000000", "1000000000000000000000N"}, {"1e21"}, {"100000.0", "1e5"}, {"##NaN"}, {"##Inf"}, {"##-Inf"}, {`"##Inf"`},
	{"[1 2]", "(1 2)", "[1, 2]", "[1 #_ 3 2]", "^{:a 1} [1 2]"}, {"[2 1]"}, {"#{1 2}", "#{2 1}"}, {`"[1 2]"`}, {`"[1,2]"`},
	{`["1" 2]`}, {"[1.0 2]"}, {"[[1] 2]"}, {"[nil]"}, {"[null]"},
	{`["nil"]`}, {`["null"]`}, {"[]", "()"}, {"#{}"}, {"{}"}, {`""`}, {`"[]"`}, {`"{}"`}, {`"#{}"`},
	{"{:a 1 :b 2}", "{:b 2, :a 1}"}, {`{"a" 1 "b" 2}`}, {"{a 1 b 2}"}, {"{1 2}"}, {`{"1" 2}`}, {"{1.0 2}"}, {"{nil 2}"},
	{"{1 3}"}, {`{[1] 2}`, "{(1) 2}"}, {`{"[1]" 2}`},
	{"#user.Foo{:a 1}"}, {`#inst "2020"`}, {`"2020"`}, {`#uuid "2020"`}, {"#{:a}"}, {`#{":a"}`}, {"[#{1 2}]", "[#{2 1}]"},
	{`["#{1,2}"]`}, {`\a`}, {`"\\a"`}, {`\newline`}, {`"\n"`},
	{`"\ud83d\ude00"`, "\"\U0001f600\""}, {`"\ud83d\ude01"`},
}

// TestEqualityOfEDN: values are spelt alike exactly if Clojure's = takes them for equal, by themselves, in lists, as values of maps, and as keys.
func TestEqualityOfEDN(t *testing.T) {
	inside := []string{"%s", "[%s]", "#{%s}", "{:k %s}", "{%s :v}", "#tag %s", "[[0 %s] 1]"}
	for _, form := range inside {
		seen := map[string]string{}
		for _, list := range oneOf {
			first := ""
			for i, value := range list {
				text := fmt.Sprintf("{:process 0 :type :invoke :f :add :value [0 "+form+"]}", value)
				events, err := gather(ReadEDN, strings.NewReader(text), true)
				if err != nil {
					t.Fatalf("%s: %v", text, err)
				}
				got := fmt.Sprintf("%q %v", events[0].Input, events[0].NoInput)
				if i == 0 {
					first = got
				} else if got != first {
					t.Errorf(form+": %s is spelt %s, and %s %s", value, got, list[0], first)
				}
				if other, twice := seen[got]; twice && other != list[0] {
					t.Errorf(form+": %s and %s are both spelt %s", value, other, got)
				}
				seen[got] = list[0]
			}
		}
	}
}

// Keys and processes are values too.
func TestKeysOfEDN(t *testing.T) {
	const in = `{:process 0 :type :invoke :f :read :key %s :value nil}`
	keys := map[string]string{}
	for _, list := range oneOf {
		if list[0] == "nil" {
			continue
		}
		events, err := gather(ReadEDN, strings.NewReader(fmt.Sprintf(in, list[0])), false)
		if err != nil {
			t.Fatal(err)
		}
		if other, twice := keys[events[0].Key]; twice || events[0].Key == "" {
			t.Errorf("%s and %s are one key, %q", list[0], other, events[0].Key)
		}
		keys[events[0].Key] = list[0]
	}
	events, err := gather(ReadEDN, strings.NewReader(`{:process 1 :type :invoke :f :read} {:process "1" :type :invoke :f :read}`), false)
	if err != nil || events[0].Client == events[1].Client {
		t.Errorf("%v: processes 1 and \"1\" are one client", err)
	}
}

// strange are forms that Clojure prints and that have no value to compare.
var strange = []string{`#object[java.lang.Object 0x6e4f "java.lang.Object@6e4f"]`, `#<Atom@1: {:a <b>}>`, `#"a\"b[c"`, `#'user/x`,
	"0x1F", "007", "1x", "1.5.5", `\nonsense`,
	`"\q"`, `"\ud800"`, `"\ud800x"`, `"\uzz"`, "\"\xff\"", "a\xff", "#t\xff 1", ":", `{:a 1 :a 2}`, `[1 #object[x]]`, "1e999", "##Other"}

// TestFieldsThatNobodyReads may have anything, and a value that cannot be compared is an error with its line.
func TestFieldsThatNobodyReads(t *testing.T) {
	more := append([]string{"##NaN", "#my/tag {:x [1]}", "#jepsen.history.Op{:index 3}", `#inst "2020-01-01"`, "^:private x", "'quoted"}, strange...)
	for _, form := range more {
		text := fmt.Sprintf("{:process 0 :type :invoke :f :read :value nil :other %[1]s}\n{:other [%[1]s] %[1]s 1 :process 0 "+
			":type :ok :f :read :value 3 :time %[1]s}", form)
		events, err := gather(ReadEDN, strings.NewReader(text), false)
		if err != nil || len(events) != 2 || events[1].Output != "3" {
			t.Errorf("%s: %v %+v", form, err, events)
		}
		text = fmt.Sprintf("{:process 0 :type :info :f :read :error %s}", form)
		if _, err := gather(ReadEDN, strings.NewReader(text), false); err != nil {
			t.Errorf("%s: %v", text, err)
		}
	}
	for _, form := range strange {
		for _, field := range []string{":value %s", ":value [1 %s]", ":key %s", ":value {%s 1}", ":value #{%s}", ":value #a %s"} {
			text := fmt.Sprintf("\n{:process 0 :type :invoke :f :write "+field+"}", form)
			if _, err := gather(ReadEDN, strings.NewReader(text), false); err == nil || !strings.HasPrefix(err.Error(), "line 2: ") {
				t.Errorf("%s: %v", text, err)
			}
		}
	}
}

// TestNullOfJepsen: nil is a value of writes and swaps.
func TestNullOfJepsen(t *testing.T) {
	const in = `{:process 0 :type :invoke :f :write :value nil} {:process 0 :type :ok :f :write :value nil}
{:process 0 :type :invoke :f :cas :value [nil 3]} {:process 0 :type :ok :f :cas :value [nil 3]}
{:process 0 :type :invoke :f :cas :value [3 nil]} {:process 0 :type :ok :f :cas :value [3 nil]} {:process 0 :type :invoke :f :cas :value ["" ""]}`
	events, err := gather(ReadEDN, strings.NewReader(in), false)
	if err != nil {
		t.Fatal(err)
	}
	e := events
	if !e[0].NoInput || e[1].Found || !e[2].NoExpect || e[2].NoInput || e[2].Input != "3" || e[4].NoExpect || !e[4].NoInput ||
		e[6].NoInput || e[6].NoExpect || e[6].Input != `""` {
		t.Errorf("%+v", events)
	}
}

// TestIndices: events are in the order of their indices, whatever that of the file is.
func TestIndices(t *testing.T) {
	const edn = `{:index 2 :process 1 :type :invoke :f :read}
{:index 3 :process 1 :type :ok :f :read :value 1} {:index 4 :process :nemesis :type :info :f :start}
{:index 1 :process 0 :type :ok :f :write :value 1} {:index 0 :process 0 :type :invoke :f :write :value 1}`
	json := strings.NewReplacer("{:index ", `{"index":`, " :process :nemesis", `,"process":"nemesis"`, " :process ",
		`,"process":`, " :type :", `,"type":"`, " :f :", `","f":"`,
		" :value ", `","value":`, "read}", `read"}`, "start}", `start"}`).Replace(edn)
	want := []string{"write invoke 1 ", "write ok  ", "read invoke  ", "read ok  1"}
	for _, c := range []struct {
		in         string
		quick, all reader
	}{{edn, ReadEDN, ReadEDNInOrder}, {json, ReadJepsenJSON, ReadJepsenJSONInOrder}} {
		if _, err := gather(c.quick, strings.NewReader(c.in), false); !errors.Is(err, ErrUnordered) {
			t.Errorf("%v", err)
		}
		events, err := gather(c.all, strings.NewReader(c.in), false)
		if err != nil {
			t.Fatal(err)
		}
		for i, e := range events {
			if got := fmt.Sprintf("%s %s %s %s", e.Op, e.Type, e.Input, e.Output); got != want[i] || e.Number != uint64(i+1) {
				t.Errorf("event %d: %s, want %s", i+1, got, want[i])
			}
		}
		if _, err := gather(c.all, strings.NewReader(strings.Replace(c.in, "3", "2", 1)), false); err == nil ||
			!strings.Contains(err.Error(), "two events have the") {
			t.Errorf("an index twice: %v", err)
		}
		// An index may be a float that is whole. One by which nothing can be sorted is an error.
		for index, wanted := range map[string]string{"3.0": "", "3.5": "must be a 64-bit integer", `"3"`: "must be a 64-bit integer",
			"123456789012345678901234": "must be a 64-bit integer"} {
			in := strings.NewReplacer(":index 3", ":index "+index, `"index":3`, `"index":`+index).Replace(c.in)
			for _, read := range []reader{c.quick, c.all} {
				if _, err := gather(read, strings.NewReader(in), false); wanted == "" && err != nil &&
					!errors.Is(err, ErrUnordered) || wanted != "" && (err == nil || !strings.Contains(err.Error(), wanted)) {
					t.Errorf("index %s: %v", index, err)
				}
			}
		}
		// Where an event has no index, the file has the order.
		mixed := strings.NewReplacer("{:index 0 ", "{", `{"index":0,`, "{").Replace(c.in)
		if _, err := gather(c.all, strings.NewReader(mixed), false); err != nil {
			t.Error(err)
		}
	}
	if _, err := gather(ReadEDNInOrder, strings.NewReader("{:index 1 :process 0 :type :ok}\n{:index 0 :process 0 :type :bad}"),
		false); err == nil || !strings.HasPrefix(err.Error(), "line 2: ") {
		t.Errorf("%v", err)
	}
}

// TestErrorsSpeakOfTheirFormat: errors about JSON do not speak of EDN, nor those about EDN of JSON.
func TestErrorsSpeakOfTheirFormat(t *testing.T) {
	for _, event := range []string{`7`, `{"process":0}`, `{"process":0,"type":"maybe"}`, `{"process":0,"type":"invoke"}`,
		`{"process":0,"type":"invoke","f":"cas","value":3}`,
		`{"process":0,"type":"invoke","f":"read"},{"type":"ok","f":"read"}`,
		`{"type":"invoke","f":"read"},{"type":"invoke","f":"read"},{"type":"ok","f":"read","value":1}`} {
		_, err := gather(ReadJepsenJSON, strings.NewReader("["+event+"]"), false)
		if err == nil || strings.Contains(err.Error(), " :") || strings.Contains(err.Error(), "nil") || strings.Contains(err.Error(), "EDN") {
			t.Errorf("%s: %v", event, err)
		}
		edn := strings.NewReplacer(`"process":`, ":process ", `"type":"`, ":type :", `"f":"`, ":f :", `"value":`, ":value ", `"`, "").Replace(event)
		_, err = gather(ReadEDN, strings.NewReader(edn), false)
		if err == nil || strings.ContainsAny(err.Error(), `"`) || strings.Contains(err.Error(), "null") || strings.Contains(err.Error(), "JSON") {
			t.Errorf("%s: %v", edn, err)
		}
	}
}

type reader = func(r io.Reader, keyed bool, do func(*history.Event) error) error
