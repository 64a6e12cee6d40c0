// Package historytest writes histories in short words, for tests.
package historytest

import (
	"strings"
	"testing"

	"github.com/bloodhound-dst/bloodhound/history"
)

// Events reads a history in short: each word is one event, "a:put=1" an invoke by client a with input 1, "a!" an ok,
// "a!1" an ok with output 1, "a!-" an ok that found nothing, "a?" an info, "a/" a fail. Keys are "k" unless written
// "put(j)=1"; cas is "cas=1>2".
func Events(t testing.TB, short string) []history.Event {
	t.Helper()
	var out []history.Event
	inFlight := map[string]history.Event{}
	for i, w := range strings.Fields(short) {
		at := strings.IndexAny(w, ":!?/")
		if at < 0 {
			t.Fatalf("no event in %q", w)
		}
		e := inFlight[w[:at]]
		e.Client, e.Number, e.TimeNs = w[:at], uint64(i+1), int64(i+1)*1e6
		rest := w[at+1:]
		switch w[at] {
		case ':':
			op, input, _ := strings.Cut(rest, "=")
			op, key, hasKey := strings.Cut(strings.TrimSuffix(op, ")"), "(")
			if !hasKey {
				key = "k"
			}
			e = history.Event{Client: e.Client, Number: e.Number, TimeNs: e.TimeNs, Type: history.Invoke, Op: op, Key: key, Input: input}
			if old, new, isCas := strings.Cut(input, ">"); isCas {
				e.Expect, e.Input = old, new
			}
			inFlight[e.Client] = e
		case '!':
			e.Type = history.Ok
			if rest != "-" {
				e.Output, e.Found = rest, rest != "" && history.IsRead(e.Op)
			}
		case '?':
			e.Type = history.Info
		case '/':
			e.Type = history.Fail
		}
		out = append(out, e)
	}
	return out
}
