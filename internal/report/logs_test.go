package report_test

import (
	"bytes"
	"testing"

	"github.com/bloodhound-dst/bloodhound/internal/check"
	"github.com/bloodhound-dst/bloodhound/internal/record"
	"github.com/bloodhound-dst/bloodhound/internal/report"
)

func TestLogs(t *testing.T) {
	o := &check.Judged{Outcome: record.Outcome{LogLost: 3, Log: []record.LogLine{
		{TimeNs: 1_000, Node: "n1", Stream: "stdout", Text: "one\x1b[2J"},
		{TimeNs: 12_000_000_000, Node: "client", Stream: "stderr", Text: "two  words"},
		{TimeNs: 12_000_000_001, Node: "n1", Stream: "healthcheck", Text: "sick"},
	}}}
	const want = `     0.000001s  n1      one\x1b[2J
    12.000000s  client  two  words
    12.000000s  n1      (healthcheck) sick
... and 3 more lines, which were not kept

`
	var b bytes.Buffer
	if err := report.Logs(&b, o); err != nil || b.String() != want {
		t.Errorf("%v\n%s\nwant\n%s", err, &b, want)
	}
	b.Reset()
	if err := report.Logs(&b, &check.Judged{}); err != nil || b.String() != "no program wrote a line\n\n" {
		t.Errorf("%v\n%s", err, &b)
	}
}
