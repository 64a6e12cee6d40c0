package report

import (
	"bufio"
	"fmt"
	"io"
	"math"

	"github.com/bloodhound-dst/bloodhound/internal/check"
	"github.com/bloodhound-dst/bloodhound/internal/plural"
)

// Logs prints what the programs of a run have written, whole lines in virtual time order, and an empty line after them.
// Lines that come from elsewhere than a program's own output say from where.
func Logs(w io.Writer, o *check.Judged) error {
	width := 0
	for i := range o.Log {
		width = max(width, len(o.Log[i].Node))
	}
	b := bufio.NewWriter(w)
	for i := range o.Log {
		l := &o.Log[i]
		text := Visible(l.Text, math.MaxInt)
		if l.Stream != "stdout" && l.Stream != "stderr" {
			text = "(" + l.Stream + ") " + text
		}
		fmt.Fprintf(b, "%14s  %-*s  %s\n", Seconds(l.TimeNs), width, l.Node, text)
	}
	if o.LogLost > 0 {
		fmt.Fprintf(b, "... and %s, which were not kept\n", plural.Count(o.LogLost, "more line"))
	}
	if len(o.Log) == 0 {
		b.WriteString("no program wrote a line\n")
	}
	b.WriteByte('\n')
	return b.Flush()
}
