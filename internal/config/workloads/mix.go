package workloads

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/bloodhound-dst/bloodhound/internal/config/load"
	"github.com/bloodhound-dst/bloodhound/internal/config/source"
	"github.com/bloodhound-dst/bloodhound/internal/config/suggest"
	"github.com/bloodhound-dst/bloodhound/internal/workload/kinds"
	"github.com/bloodhound-dst/bloodhound/internal/world"
)

// mix reads the operations of a workload.
func mix(l *load.State, n *source.Node, w *world.Workload, key string) {
	facts, known := kinds.Named(w.Driver)
	if !known {
		return // the program chooses its operations itself
	}
	if n == nil {
		for _, kind := range facts.Mix {
			w.Mix = append(w.Mix, world.Operation{Kind: kind, Weight: 1, KeyPattern: defaultKeyPattern})
		}
		return
	}
	total := 0
	for i, item := range n.List() {
		at := fmt.Sprintf("%s[%d]", key, i)
		o := world.Operation{Kind: source.ValueOr(item.Get("type"), ""), Weight: int(source.ValueOr(item.Get("weight"), int64(1))),
			KeyPattern: source.ValueOr(item.Get("key_pattern"), patternOf(source.ValueOr(item.Get("type"), ""))),
			Path:       source.ValueOr(item.Get("path"), "")}
		valueSize(l, item.Get("value_size"), &o, at)
		if o.Kind == "" {
			l.Missing(item, "type", "add `type:`, one of "+strings.Join(facts.Operations, ", "), "%s has no type", at)
			continue
		}
		written, ok := facts.Operation(o.Kind)
		if !ok {
			l.Fail(item.Get("type").Position, suggest.Remedy(o.Kind, facts.Operations)+
				" (`bloodhound docs write-a-driver`: drivers for other operations)", "%s: driver %s has no operation %s", at, w.Driver, o.Kind)
			continue
		}
		o.Kind = written
		l.OnlyFor(item, at, "driver", w.Driver, map[string]string{"path": "http"})
		if w.Driver == "http" && o.Path != "" && (!strings.HasPrefix(o.Path, "/") || !strings.Contains(o.Path, "{key}")) {
			l.Fail(item.Get("path").Position, "write a path such as /kv/{key}", "%s.path does not start with /, or has no {key}", at)
		}
		if reason := keyPattern(o.KeyPattern); reason != "" {
			l.Fail(item.Get("key_pattern").Position, "use the placeholders {random}, {random:a-b}, {seq}, {seq:a-b}, {zipf:a-b}, {client} and {uuid}",
				"%s.key_pattern: %s", at, reason)
		}
		total += o.Weight
		w.Mix = append(w.Mix, o)
	}
	if len(n.Items) == 0 || len(w.Mix) == len(n.Items) && total == 0 {
		l.Fail(n.Position, "set a weight above 0 for at least one operation", "%s: no operation has a weight above 0", key)
	}
}

// valueSize reads a size, or the two ends of a range of sizes.
func valueSize(l *load.State, n *source.Node, o *world.Operation, key string) {
	if n == nil || n.Bad {
		return
	}
	if n.Kind == source.Scalar {
		o.ValueSizeBytes = int(source.ValueOr(n, int64(0)))
		return
	}
	items := n.List()
	if len(items) != 2 || source.ValueOr(items[0], int64(0)) > source.ValueOr(items[1], int64(0)) || source.ValueOr(items[1], int64(1)) == 0 {
		l.Fail(n.Position, "write `value_size: [a, b]` with a <= b, such as [0, 4097]", "%s.value_size is not a range", key)
		return
	}
	o.ValueSizeBytes, o.MaxValueBytes = int(source.ValueOr(items[0], int64(0))), int(source.ValueOr(items[1], int64(0)))
}

// Limits of a dictionary: a driver gets it in its environment.
const (
	maxDictionary      = 1000 // entries
	maxDictionaryBytes = 64 << 10
)

// dictionary reads the special keys and values of a workload.
func dictionary(l *load.State, n *source.Node, w *world.Workload, key string) {
	if n == nil || n.Bad {
		return
	}
	w.SpecialPPM = source.ValueOr(n.Get("probability"), uint64(50_000))
	if w.Dictionary = slices.Clone(world.Dictionary); source.ValueOr(n.Get("only_file"), false) {
		w.Dictionary = nil
	}
	f := n.Get("file")
	if f == nil {
		if len(w.Dictionary) == 0 {
			l.Fail(n.Position, "set `file:`, or remove `only_file`", "%s has no special values", key)
		}
		return
	}
	name := f.File.Beside(f.Text)
	text, err := source.ReadBounded(l.Under(l.Spec.Dir, f.Text))
	if err != nil {
		l.Fail(f.Position, "write the path of a file in the project", "%s.file: %v", key, err)
		return
	}
	for i, line := range strings.Split(string(text), "\n") {
		line = strings.TrimSuffix(line, "\r")
		if strings.TrimSpace(line) == "" || strings.HasPrefix(line, "#") {
			continue
		}
		if _, err := world.Special(line); err != nil {
			l.Fail(f.Position, "correct that line, or remove it", "%s:%d: %v", name, i+1, err)
			return
		}
		w.Dictionary = append(w.Dictionary, line)
	}
	if n := len(strings.Join(w.Dictionary, "\n")); len(w.Dictionary) > maxDictionary || n > maxDictionaryBytes {
		l.Fail(f.Position, fmt.Sprintf("use at most %d lines and %d bytes; `\"ab\"*100` writes a long text as a short line", maxDictionary, maxDictionaryBytes),
			"%s has %d lines with %d bytes in total", key, len(w.Dictionary), n)
	}
	if len(w.Dictionary) == 0 {
		l.Fail(f.Position, "write at least one value into the file", "%s: %s has no special values", key, name)
	}
}

// patternOf is the key pattern of an operation without one: transactions keep to keys of their own.
func patternOf(kind string) string {
	if kind == "txn" {
		return "txn-{random:0-4}"
	}
	return defaultKeyPattern
}

const defaultKeyPattern = "key-{random:0-9}"

// keyPattern says what is wrong with a key pattern, or nothing.
func keyPattern(s string) string {
	if s == "" {
		return "it is empty"
	}
	for rest := s; ; {
		_, after, opened := strings.Cut(rest, "{")
		if !opened {
			return ""
		}
		inside, tail, closed := strings.Cut(after, "}")
		if !closed {
			return "a { has no closing }"
		}
		name, limits, hasRange := strings.Cut(inside, ":")
		switch name {
		case "random", "seq", "zipf":
		case "client", "uuid":
			if hasRange {
				return fmt.Sprintf("{%s} has no range", name)
			}
		default:
			return fmt.Sprintf("unknown placeholder {%s}", source.Shorten(inside))
		}
		if hasRange {
			from, to, ok := strings.Cut(limits, "-")
			a, err1 := strconv.ParseUint(from, 10, 62)
			b, err2 := strconv.ParseUint(to, 10, 62)
			if !ok || err1 != nil || err2 != nil || a > b {
				return fmt.Sprintf("{%s}: the range must be a-b with 0 <= a <= b", source.Shorten(inside))
			}
		}
		rest = tail
	}
}
