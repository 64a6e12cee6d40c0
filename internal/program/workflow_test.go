package program

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/bloodhound-dst/bloodhound/internal/testkit/steplog"
)

// attacks are lines that the runner executes, or nearly.
var attacks = []string{
	"::error::x", "    ::error file=a.go,line=1::x", "\t::set-env name=PATH::x", "\u00a0\u2003::add-mask::x", "\u200b::error::x",
	":\u00ad:error::x", "\x00::error::x",
	"##[error]x", "text ##[set-env name=PATH]x", "#\u00ad#[error]x", "::stop-commands::x", "::stop-commands::", "a\r::error::x",
	"::1 is an address", ": :error::x",
	"##[", "::", strings.Repeat(" ", 3*maxHeldLine) + "::error::x", strings.Repeat("x", 3*maxHeldLine) + "##[error]x",
}

// Whatever is written to the two streams, in whatever pieces, the runner executes nothing of it, reads both in whatever order,
// and executes commands again after it.
func TestWorkflowLogs(t *testing.T) {
	for _, line := range attacks {
		l := steplog.Log{}
		if l.Read("quiet\n" + line + "\n"); len(l.Commands) == 0 && l.Token == "" && strings.Contains(line, "error::x") && !strings.Contains(line, ": :") {
			t.Errorf("the test is blind: the runner executes %.40q", line)
		}
	}
	for seed := range uint64(3000) {
		chance := rand.New(rand.NewPCG(seed, 1))
		var out, errs, both bytes.Buffer
		var results, notes *workflowLog
		if chance.IntN(2) == 0 {
			results, notes = newWorkflowLogs(&out, &errs)
		} else {
			results, notes = newWorkflowLogs(&both, &both)
		}
		written := ""
		for range 1 + chance.IntN(6) {
			to := results
			if chance.IntN(2) == 0 {
				to = notes
			}
			n := len(attacks)
			if seed > 100 {
				n -= 2 // the long ones take time
			}
			text := attacks[chance.IntN(n)] + []string{"", "\n", "\r\n", "\n\nplain\n"}[chance.IntN(4)]
			if to == results {
				written += text
			}
			for len(text) > 0 {
				k := min(len(text), 1+chance.IntN(40))
				if len(text) > maxHeldLine {
					k = min(len(text), 1+chance.IntN(maxHeldLine))
				}
				if _, err := io.WriteString(to, text[:k]); err != nil {
					t.Fatal(err)
				}
				text = text[k:]
			}
		}
		results.flush()
		notes.flush()
		streams := []string{out.String(), errs.String()}
		if chance.IntN(2) == 0 {
			slices.Reverse(streams)
		}
		l := steplog.Log{}
		for _, text := range append(streams, both.String(), "::error::ours") {
			l.Read(text)
		}
		if len(l.Commands) != 1 || l.Token != "" {
			t.Fatalf("seed %d: the runner executes %.300q, and waits for %q, after\n%.2000q\n%.2000q\n%.2000q", seed, l.Commands,
				l.Token, out.String(), errs.String(), both.String())
		}
		// The streams hold the same text but for the pairs. A pair gives the line in it an end.
		pairs := strings.NewReplacer(results.stop(), "", results.resume(), "", "\n", "", "\r", "")
		if both.Len() == 0 && pairs.Replace(out.String()) != strings.NewReplacer("\n", "", "\r", "").Replace(written) {
			t.Fatalf("seed %d: %q is written as %q", seed, written, out.String())
		}
	}
}

// A line that is no command is written as it is.
func TestWorkflowLogsKeepText(t *testing.T) {
	var out, errs bytes.Buffer
	results, notes := newWorkflowLogs(&out, &errs)
	text := "run of seed 1: a::b, # [x], key ::error::, 3##4\n  ok\n"
	for _, w := range []*workflowLog{results, notes} {
		if _, err := io.WriteString(w, text+"last"); err != nil {
			t.Fatal(err)
		}
		w.flush()
	}
	if out.String() != text+"last" || errs.String() != text+"last" {
		t.Errorf("%q, %q", &out, &errs)
	}
	other, _ := newWorkflowLogs(&out, &errs)
	if other.token == results.token || len(results.token) < 20 {
		t.Errorf("tokens %q and %q can be guessed", results.token, other.token)
	}
}

// A document is the same for who reads JSON.
func TestWorkflowJSON(t *testing.T) {
	var out bytes.Buffer
	want := map[string]string{"##[error]k": "a ##[error]x\n::error::y"}
	if err := json.NewEncoder(workflowJSON{&out}).Encode(want); err != nil {
		t.Fatal(err)
	}
	var got map[string]string
	text := out.String()
	if err := json.Unmarshal(out.Bytes(), &got); err != nil || fmt.Sprint(got) != fmt.Sprint(want) || strings.Contains(text, "#") {
		t.Errorf("%s: %v", text, err)
	}
}
