//go:build linux && amd64

package main

import (
	"fmt"
	"os/exec"
	"regexp"
	"slices"
	"strconv"
)

var benchmark = regexp.MustCompile(`(?m)^BenchmarkOff/(\w+)\S*\s+\d+\s+([0-9.]+) ns/op`)

// sdk compares calls of dependencies that package sdk wraps, with faults off or counted, with the same calls without.
func (b *bench) sdk() ([]row, error) {
	const count = 5
	var rows []row
	for _, p := range []struct{ folder, what, detail string }{
		{"../sdk", "a point of `sdk`", "after Quiet %.2f us; where five faults are drawn and none happens %.2f us"},
		{"../sdk/sqlfault", "a statement through `sdk/sqlfault`, faults off", "of a driver that does nothing"},
		{"../sdk/httpfault", "a request through `sdk/httpfault`, faults off", "to a transport that does nothing"},
		{"../sdk/grpcfault", "a call through `sdk/grpcfault`, faults off", "to an invoker that does nothing"},
		{"../sdk/redisfault", "a command through `sdk/redisfault`, faults off", "to a client that does nothing"},
		{"../sdk/sqlcount", "a statement through `sdk/sqlcount`", "of a driver that does nothing"},
		{"../sdk/httpcount", "a request through `sdk/httpcount`", "to a transport that does nothing"},
		{"../sdk/grpcfault/grpccount", "a call through `sdk/grpcfault/grpccount`", "to an invoker that does nothing"},
		{"../sdk/redisfault/rediscount", "a command through `sdk/redisfault/rediscount`", "to a client that does nothing"},
		{"../sdk/machinefault", "a write through `sdk/machinefault`, faults off", "of 100 bytes to a file"},
	} {
		cmd := exec.Command("go", "test", "-run", "^$", "-bench", "Off", "-count", strconv.Itoa(count), ".")
		cmd.Dir = p.folder
		out, err := cmd.CombinedOutput()
		if err != nil {
			return nil, fmt.Errorf("go test in %s: %w\n%s", p.folder, err, out)
		}
		took := map[string][]float64{}
		for _, m := range benchmark.FindAllStringSubmatch(string(out), -1) {
			ns, err := strconv.ParseFloat(m[2], 64)
			if err != nil {
				return nil, err
			}
			took[m[1]] = append(took[m[1]], ns)
		}
		fastest := func(name string) (float64, error) { // other work on the machine makes the others slower
			if len(took[name]) != count {
				return 0, fmt.Errorf("the benchmark of %s printed %d times of %q, not %d:\n%s", p.folder, len(took[name]), name, count, out)
			}
			return slices.Min(took[name]), nil
		}
		if p.folder == "../sdk" {
			off, err := fastest("off")
			if err != nil {
				return nil, err
			}
			quiet, err := fastest("quiet")
			if err != nil {
				return nil, err
			}
			drawn, err := fastest("drawn")
			if err != nil {
				return nil, err
			}
			rows = append(rows, row{p.what + ", faults off", fmt.Sprintf("%.3f us", off/1000), "2 us", fmt.Sprintf(p.detail, quiet/1000, drawn/1000)})
			continue
		}
		plain, err := fastest("plain")
		if err != nil {
			return nil, err
		}
		wrapped, err := fastest("wrapped")
		if err != nil {
			return nil, err
		}
		rows = append(rows, row{p.what + ", beyond one without", fmt.Sprintf("%.2f us", (wrapped-plain)/1000), "2 us",
			fmt.Sprintf("%s: %.2f and %.2f us, the fastest of %d", p.detail, wrapped/1000, plain/1000, count)})
	}
	return rows, nil
}
