//go:build linux && amd64

package native_test

import (
	"fmt"
	"os"
	"strconv"
	"testing"
)

// The probe of a way: what two runs print.
func TestInsiderProbe(t *testing.T) {
	program := compile(t, "testdata/ways/insider.c")
	from, to := 0, 100
	if s := os.Getenv("WAY"); s != "" {
		from, _ = strconv.Atoi(s)
		to = from + 1
	}
	for way := from; way < to; way++ {
		spec := aloneSpec(program, strconv.Itoa(way))
		spec.Limits.SpinCPUMs = 200
		logA, a := run(t, spec, 1)
		logB, b := run(t, spec, 1)
		if len(a.Crashes) > 0 && a.Crashes[0].ExitCode == 2 {
			return
		}
		verdict := "fine"
		if d := difference(texts(logA, ""), texts(logB, "")); a.Repeat.Reproducible && (d != "" || a.Hash != b.Hash) {
			verdict = "LEAK"
		}
		fmt.Printf("%d %s %q %+v %v %+v\n", way, verdict, texts(logA, ""), a.Repeat, b.Repeat.Reproducible, a.Crashes)
	}
}
