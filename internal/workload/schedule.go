package workload

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/bloodhound-dst/bloodhound/internal/workload/kinds"
	"github.com/bloodhound-dst/bloodhound/internal/world"
)

// scheduled is an operation with its time, after the start.
type scheduled struct {
	at time.Duration
	operation
}

// plan takes a workload's schedule apart by its clients.
func (s *settings) plan(w *world.Workload, k *kinds.Kind) error {
	if len(w.Schedule) == 0 {
		return nil
	}
	s.schedule = make([][]scheduled, s.clients)
	for i, o := range w.Schedule {
		kind, known := k.Operation(o.Op)
		switch {
		case !known || kind == "cas" || kind == "txn" || slices.Contains(k.Receives, kind):
			return fmt.Errorf("operation %d of the schedule: driver %s cannot play %q; it can play "+
				"%s", i+1, w.Driver, o.Op, strings.Join(k.Operations, ", "))
		case o.Client < 0 || o.Client >= s.clients:
			return fmt.Errorf("operation %d of the schedule: there is no client %d; clients are 0 to "+
				"%d", i+1, o.Client, s.clients-1)
		case o.AtMs < 0 || i > 0 && o.AtMs < w.Schedule[i-1].AtMs:
			return fmt.Errorf("operation %d of the schedule: it comes before the operation above it; sort "+
				"operations by at_ms", i+1)
		case len(o.Value) > maxValueBytes:
			return fmt.Errorf("operation %d of the schedule: its value has %d bytes; the limit is "+
				"%d", i+1, len(o.Value), maxValueBytes)
		}
		e := &entry{Operation: world.Operation{Kind: kind}}
		if w.Driver == "http" && strings.HasPrefix(o.Key, "/") {
			e.Path = o.Key // a key is the whole path
		}
		s.schedule[o.Client] = append(s.schedule[o.Client],
			scheduled{time.Duration(o.AtMs * float64(time.Millisecond)), operation{entry: e, key: o.Key, value: o.Value}})
	}
	return nil
}

// play performs a client's part of the schedule. An operation that is due while the one before it is in flight follows at once.
func (c *client) play(list []scheduled) error {
	for k := range list {
		if c.skip.Ends(c.name, k) {
			return nil
		}
		if c.skip.Skips(c.name, k) {
			continue
		}
		if wait := list[k].at - time.Since(c.start); wait > 0 {
			time.Sleep(wait)
		}
		if _, err := c.perform(k, &list[k].operation); err != nil {
			return err
		}
	}
	return nil
}
