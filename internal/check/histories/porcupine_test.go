package histories

import (
	"bufio"
	"fmt"
	"hash/fnv"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/anishathalye/porcupine"

	"github.com/bloodhound-dst/bloodhound/internal/check/linear"
	"github.com/bloodhound-dst/bloodhound/internal/testkit/needs"
)

// porcupineDir is where the module of Porcupine lies, with its test data.
func porcupineDir(t testing.TB) string {
	out, err := exec.Command("go", "list", "-m", "-f", "{{.Dir}}", "github.com/anishathalye/porcupine").Output()
	if err != nil {
		needs.Missing(t, "github.com/anishathalye/porcupine", err)
	}
	return strings.TrimSpace(string(out))
}

func lines(t testing.TB, path string) []string {
	f, err := os.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	var list []string
	s := bufio.NewScanner(f)
	for s.Scan() {
		list = append(list, s.Text())
	}
	return list
}

// published is one history of Porcupine's: as we judge it, key by key, and as Porcupine's own model does.
type published struct {
	name  string
	legal bool
	keys  [][]placed
}

var (
	jepsenLine = regexp.MustCompile(`^INFO\s+jepsen\.util\s+-\s+(\d+)\s+:(invoke|ok|fail|info)\s+:(read|write|cas)\s+(.*)$`)
	numbers    = regexp.MustCompile(`\d+`)
	kvLine     = regexp.MustCompile(`{:process (\d+), :type :(invoke|ok), :f :(get|put|append), :key "(.*)", :value (?:nil|"(.*)")}`)
)

// jepsenLog reads one log of etcd. A read that timed out says nothing; all else that did not return may still happen.
func jepsenLog(t testing.TB, path string) []placed {
	var ops []placed
	open := map[string]int{}
	for i, line := range lines(t, path) {
		m := jepsenLine.FindStringSubmatch(line)
		if m == nil {
			continue
		}
		args := numbers.FindAllString(m[4], -1)
		if m[2] == "invoke" {
			p := placed{from: int64(i), to: forever, simple: m[3] != "cas"}
			switch m[3] {
			case "read":
				p.call.kind = read
			case "write":
				p.call = call{kind: write, value: args[0]}
			case "cas":
				p.call = call{kind: cas, expect: args[0], value: args[1]}
			}
			open[m[1]] = len(ops)
			ops = append(ops, p)
			continue
		}
		k, ok := open[m[1]]
		if !ok || m[2] == "info" || m[2] == "fail" && m[3] != "cas" || strings.Contains(m[4], "timed-out") {
			continue
		}
		p := &ops[k]
		p.to, p.reply.known = int64(i), true
		switch m[3] {
		case "read":
			if p.reply.found = len(args) > 0; p.reply.found {
				p.reply.value = args[0]
			}
		case "cas":
			p.reply.value = fmt.Sprint(m[2] == "ok")
		}
	}
	return slices.DeleteFunc(ops, func(p placed) bool { return p.call.kind == read && p.to == forever })
}

// kvLog reads one history of a map with texts that grow.
func kvLog(t testing.TB, path string) [][]placed {
	keys := map[string][]placed{}
	open := map[string]int{}
	var names []string
	for i, line := range lines(t, path) {
		m := kvLine.FindStringSubmatch(line)
		if m == nil {
			t.Fatalf("%s:%d: %s", path, i+1, line)
		}
		if m[2] == "invoke" {
			p := placed{from: int64(i), to: forever, call: call{kind: map[string]kind{"get": read, "put": write, "append": grow}[m[3]], value: m[5]}}
			if keys[m[4]] == nil {
				names = append(names, m[4])
			}
			open[m[1]] = len(keys[m[4]])
			keys[m[4]] = append(keys[m[4]], p)
			continue
		}
		p := &keys[m[4]][open[m[1]]]
		p.to, p.reply.known = int64(i), true
		if p.call.kind == read {
			p.call.value = ""
			// A text that was never written reads as an empty one.
			p.reply.found, p.reply.value = m[5] != "", m[5]
		}
	}
	var list [][]placed
	for _, n := range names {
		list = append(list, keys[n])
	}
	return list
}

// publishedHistories are all histories that Porcupine's own tests judge, with the verdicts that stand there.
func publishedHistories(t testing.TB) []published {
	dir := porcupineDir(t)
	source, err := os.ReadFile(filepath.Join(dir, "porcupine_test.go"))
	if err != nil {
		needs.Missing(t, "github.com/anishathalye/porcupine", err)
	}
	var list []published
	for _, m := range regexp.MustCompile(`\tcheckJepsen\(t, (\d+), (true|false)\)`).FindAllStringSubmatch(string(source), -1) {
		name := fmt.Sprintf("etcd_%03s", m[1])
		ops := jepsenLog(t, filepath.Join(dir, "test_data", "jepsen", name+".log"))
		list = append(list, published{name: name, legal: m[2] == "true", keys: [][]placed{ops}})
	}
	for _, m := range regexp.MustCompile(`\tcheckKv\(t, "(.*)", (true|false), true\)`).FindAllStringSubmatch(string(source), -1) {
		keys := kvLog(t, filepath.Join(dir, "test_data", "kv", m[1]+".txt"))
		list = append(list, published{name: m[1], legal: m[2] == "true", keys: keys})
	}
	return list
}

func TestPorcupinesHistories(t *testing.T) {
	list := publishedHistories(t)
	for _, h := range list {
		legal := true
		for _, ops := range h.keys {
			answer := search(ops, plenty())
			if answer == linear.Undecided {
				t.Errorf("%s: undecided", h.name)
			}
			legal = legal && answer == linear.Legal
		}
		if legal != h.legal {
			t.Errorf("%s: legal is %v, want %v", h.name, legal, h.legal)
		}
	}
	if len(list) != 102+6 {
		t.Errorf("%d histories, want 108", len(list))
	}
}

// peer is a register of texts as users of Porcupine write it, with its own hash and without our preparations.
var peer = porcupine.Model{
	Partition: func(list []porcupine.Operation) [][]porcupine.Operation {
		keys := map[string][]porcupine.Operation{}
		for _, o := range list {
			keys[o.Input.(peerInput).key] = append(keys[o.Input.(peerInput).key], o)
		}
		var parts [][]porcupine.Operation
		for _, k := range slices.Sorted(maps.Keys(keys)) {
			parts = append(parts, keys[k])
		}
		return parts
	},
	Init: func() any { return "" },
	Step: func(s, input, output any) (bool, any) {
		in, out, held := input.(peerInput), output.(reply), s.(string)
		switch in.kind {
		case read:
			return !out.known || out.value == held, s
		case write:
			return true, in.value
		case grow:
			return true, held + in.value
		}
		matches := held == in.expect
		if matches {
			return !out.known || out.value == "true", in.value
		}
		return !out.known || out.value == "false", s
	},
	Hash: func(s any) uint64 {
		h := fnv.New64a()
		h.Write([]byte(s.(string)))
		return h.Sum64()
	},
}

type peerInput struct {
	call
	key string
}

// BenchmarkBesidePorcupine judges each of Porcupine's histories by both, twenty times in turn. A history's ratio is the
// median of those of its pairs, so that a load on the machine slows both alike.
func BenchmarkBesidePorcupine(b *testing.B) {
	const pairs = 20
	median := func(list []float64) float64 {
		slices.Sort(list)
		return list[len(list)/2]
	}
	for b.Loop() {
		sums, ratios := map[string]*[2]float64{"etcd": {}, "kv": {}}, map[string][]float64{}
		for _, h := range publishedHistories(b) {
			var list []porcupine.Operation
			for k, ops := range h.keys {
				for _, p := range ops {
					list = append(list, porcupine.Operation{Input: peerInput{p.call, fmt.Sprint(k)}, Output: p.reply, Call: p.from, Return: p.to})
				}
			}
			var ours, theirs, both []float64
			for range pairs {
				at := time.Now()
				budget := plenty()
				for _, ops := range h.keys {
					if search(ops, budget) == linear.Illegal {
						break
					}
				}
				ours = append(ours, time.Since(at).Seconds())
				at = time.Now()
				if porcupine.CheckOperations(peer, list) != h.legal {
					b.Fatalf("%s: Porcupine does not say %v", h.name, h.legal)
				}
				theirs = append(theirs, time.Since(at).Seconds())
				both = append(both, ours[len(ours)-1]/theirs[len(theirs)-1])
			}
			group := "kv"
			if strings.HasPrefix(h.name, "etcd") {
				group = "etcd"
			}
			ratio := median(both)
			ratios[group] = append(ratios[group], ratio)
			sums[group][0] += median(ours)
			sums[group][1] += median(theirs)
			if ratio > 0.5 || group == "kv" {
				b.Logf("%s: %.2f: %.3f ms, Porcupine %.3f ms", h.name, ratio, median(ours)*1e3, median(theirs)*1e3)
			}
		}
		for _, group := range []string{"etcd", "kv"} {
			b.ReportMetric(sums[group][0]/sums[group][1], group+"-sum-ratio")
			b.ReportMetric(median(ratios[group]), group+"-median-ratio")
			b.ReportMetric(slices.Max(ratios[group]), group+"-worst-ratio")
		}
	}
}
