package history_test

import (
	"fmt"
	"os"
	"strings"

	"github.com/bloodhound-dst/bloodhound/history"
)

func ExamplePair() {
	events, err := history.Read(strings.NewReader(`
{"client":"a","type":"invoke","op":"put","key":"x","input":"1"}
{"client":"b","type":"invoke","op":"get","key":"x"}
{"client":"a","type":"ok","op":"put","key":"x"}
{"client":"b","type":"info","op":"get","key":"x","error":"timeout"}
`))
	if err != nil {
		panic(err)
	}
	ops, err := history.Pair(events)
	if err != nil {
		panic(err)
	}
	for _, o := range ops {
		fmt.Println(o.Client, o.Op, o.Type, o.Return == history.Pending)
	}
	// Output:
	// a put ok false
	// b get info true
}

func ExampleWrite() {
	history.Write(os.Stdout, []history.Event{
		{Number: 1, Client: "a", Type: history.Invoke, Op: "put", Key: "x", Input: "1"},
		{Number: 2, TimeNs: 1000, Client: "a", Type: history.Ok, Op: "put", Key: "x"},
	})
	// Output:
	// {"number":1,"time_ns":0,"client":"a","type":"invoke","op":"put","key":"x","input":"1"}
	// {"number":2,"time_ns":1000,"client":"a","type":"ok","op":"put","key":"x"}
}
