package check_test

import (
	"fmt"
	"strings"

	"github.com/bloodhound-dst/bloodhound/check"
	"github.com/bloodhound-dst/bloodhound/history"
)

// recorded is a history as drivers write it: one record a line, in the order in which things happened.
func recorded(lines string) []history.Operation {
	events, err := history.Read(strings.NewReader(lines))
	if err != nil {
		panic(err)
	}
	ops, err := history.Pair(events)
	if err != nil {
		panic(err)
	}
	return ops
}

// A read returns the old value although the write of the new one has returned before the read began.
func ExampleLinearizable() {
	ops := recorded(`
{"client":"a","type":"invoke","op":"put","key":"x","input":"1"}
{"client":"a","type":"ok","op":"put","key":"x"}
{"client":"a","type":"invoke","op":"put","key":"x","input":"2"}
{"client":"a","type":"ok","op":"put","key":"x"}
{"client":"b","type":"invoke","op":"get","key":"x"}
{"client":"b","type":"ok","op":"get","key":"x","output":"1"}
`)
	fmt.Println(check.Linearizable(ops, check.KeyValue).Status)
	// Output: violated
}

// Two transactions each read an empty list and append to the other one: write skew, which snapshot isolation allows.
func ExampleIsolation() {
	ops := recorded(`
{"client":"a","type":"invoke","op":"txn","input":"[[\"r\",\"x\",null],[\"append\",\"y\",1]]"}
{"client":"b","type":"invoke","op":"txn","input":"[[\"r\",\"y\",null],[\"append\",\"x\",1]]"}
{"client":"a","type":"ok","op":"txn","output":"[[\"r\",\"x\",[]],[\"append\",\"y\",1]]"}
{"client":"b","type":"ok","op":"txn","output":"[[\"r\",\"y\",[]],[\"append\",\"x\",1]]"}
{"client":"c","type":"invoke","op":"txn","input":"[[\"r\",\"x\",null],[\"r\",\"y\",null]]"}
{"client":"c","type":"ok","op":"txn","output":"[[\"r\",\"x\",[1]],[\"r\",\"y\",[1]]]"}
`)
	fmt.Println(check.Isolation(ops, check.ListAppend, check.SnapshotIsolation).Status)
	fmt.Println(check.Isolation(ops, check.ListAppend, check.Serializable).Status)
	// Output:
	// holds
	// violated
}

// A counter of tickets gives each number once, in order.
func ExampleConforms() {
	ops := recorded(`
{"client":"a","type":"invoke","op":"next"}
{"client":"a","type":"ok","op":"next","output":"1"}
{"client":"b","type":"invoke","op":"next"}
{"client":"b","type":"ok","op":"next","output":"1"}
`)
	tickets := check.Model{Initial: 0, Step: func(state any, op history.Operation) (any, bool) {
		n := state.(int) + 1
		return n, op.Type == history.Info || op.Output == fmt.Sprint(n)
	}}
	fmt.Println(check.Conforms(ops, tickets).Status)
	// Output: violated
}
