package workloads

import (
	"bytes"
	"encoding/json"

	"github.com/bloodhound-dst/bloodhound/internal/config/load"
	"github.com/bloodhound-dst/bloodhound/internal/config/source"
	"github.com/bloodhound-dst/bloodhound/internal/strictjson"
	"github.com/bloodhound-dst/bloodhound/internal/world"
)

// scheduleTailNs is how long a workload lasts at least after its last scheduled operation.
const scheduleTailNs = 1_000_000_000

// schedule reads the file of a workload's operations, one a line.
func schedule(l *load.State, c *source.Node, w *world.Workload, key string) {
	n := c.Get("schedule")
	if n == nil || n.Bad {
		return
	}
	for _, name := range []string{"qps", "clients", "max_operations", "operations", "dictionary"} {
		if e := c.Entry(name); e != nil {
			l.Fail(e.Key.Position, "remove it", "%s.%s has no effect with a schedule", key, e.Key.Text)
		}
	}
	text, err := source.ReadBounded(l.Under(l.Spec.Dir, n.Text))
	if err != nil {
		l.Fail(n.Position, "write a path relative to the folder of this file", "%s.schedule: %v", key, err)
		return
	}
	line := 0
	for row := range bytes.Lines(text) {
		line++
		if row = bytes.TrimSpace(row); len(row) == 0 {
			continue
		}
		var o world.Scheduled
		in := json.NewDecoder(bytes.NewReader(row))
		in.DisallowUnknownFields()
		if err := in.Decode(&o); err != nil {
			l.Fail(n.Position, `write lines such as {"at_ms": 1500, "client": 0, "op": "put", "key": "k", "value": "v"}`,
				"%s.schedule: %s:%d: %v", key, n.Text, line, strictjson.Plain(err))
			return
		}
		w.Schedule = append(w.Schedule, o)
		w.Clients = max(w.Clients, o.Client+1)
		w.DurationNs = max(w.DurationNs, int64(o.AtMs*1e6)+scheduleTailNs)
	}
	if len(w.Schedule) == 0 {
		l.Fail(n.Position, "write a line for each operation, or remove `schedule`", "%s.schedule: %s has no operation", key, n.Text)
	}
}
