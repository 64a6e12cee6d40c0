package histories

import (
	"fmt"
	"testing"
	"time"

	"github.com/anishathalye/porcupine"

	"github.com/bloodhound-dst/bloodhound/history"
	"github.com/bloodhound-dst/bloodhound/internal/check/linear"
)

// written is Porcupine's register of texts as a user of linear.Check writes it.
var written = linear.Model{
	Initial: "",
	Step: func(s any, o history.Operation) (any, bool) {
		held := s.(string)
		switch o.Op {
		case "read":
			return s, o.Type == history.Info || o.Output == held
		case "write":
			return o.Input, true
		case "append":
			return held + o.Input, true
		}
		if held == o.Expect {
			return o.Input, o.Type == history.Info || o.Output == "true"
		}
		return s, o.Type == history.Info || o.Output == "false"
	},
}

// operationsOf are the operations of a history of Porcupine's, for its keys.
func operationsOf(h published) (ours []history.Operation, theirs []porcupine.Operation) {
	for k, ops := range h.keys {
		key := fmt.Sprint(k)
		for _, p := range ops {
			o := history.Operation{Client: "c", Op: p.call.kind.String(), Key: key, Input: p.call.value, Expect: p.call.expect, Output: p.reply.value,
				Type: history.Ok, Call: uint64(p.from), Return: uint64(p.to)}
			if p.to == forever {
				o.Type, o.Return = history.Info, history.Pending
			}
			ours = append(ours, o)
			theirs = append(theirs, porcupine.Operation{Input: peerInput{p.call, key}, Output: p.reply, Call: p.from, Return: p.to})
		}
	}
	return ours, theirs
}

// TestModelsOfUsers: linear.Check with a user's model decides all of Porcupine's histories.
func TestModelsOfUsers(t *testing.T) {
	for _, h := range publishedHistories(t) {
		ours, theirs := operationsOf(h)
		at := time.Now()
		v := linear.Check(written, ours, MaxSteps, MaxBytes, MaxWall)
		took := time.Since(at)
		at = time.Now()
		porcupine.CheckOperations(peer, theirs)
		t.Logf("%s: %s, Porcupine %s", h.name, took, time.Since(at))
		if want := map[bool]linear.Answer{true: linear.Legal, false: linear.Illegal}[h.legal]; v.Answer != want {
			t.Errorf("%s: %v, %s; want %v", h.name, v.Answer, v.Reason, want)
		}
	}
}
