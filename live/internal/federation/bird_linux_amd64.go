package federation

import (
	"context"
	"errors"
	"fmt"
	"net/netip"
	"os"
	"strconv"
	"strings"
	"time"

	"github.com/bloodhound-dst/bloodhound/live/internal/bgp"
	"github.com/bloodhound-dst/bloodhound/live/internal/daemon"
	"github.com/bloodhound-dst/bloodhound/live/internal/router"
)

// birdBudget bounds what a copy may use for a message or a command.
var birdBudget = daemon.Budget{Calls: 100_000, CPU: 5 * time.Second}

// Checkpoint makes a checkpoint and two copies of it: one that gets messages, and one that shows what was before them.
func (b *BIRD) Checkpoint(context.Context) (Copy, error) {
	text, err := os.ReadFile(b.PIDFile)
	if err != nil {
		return nil, err
	}
	pid, err := strconv.Atoi(strings.TrimSpace(string(text)))
	if err != nil {
		return nil, fmt.Errorf("%s has no number of a process", b.PIDFile)
	}
	d, err := daemon.Attach(pid)
	if err != nil {
		return nil, err
	}
	at, err := d.TakeCheckpoint()
	if err != nil {
		return nil, err
	}
	c := &birdCopy{control: b.Control, at: at, from: map[string]netip.AddrPort{}, names: map[netip.AddrPort]string{}, known: map[netip.Prefix][]Route{}}
	if err := c.start(b); err != nil {
		return nil, errors.Join(err, c.Close())
	}
	return c, nil
}

type birdCopy struct {
	control      string
	at           *daemon.Checkpoint
	initial, now *router.Router
	from         map[string]netip.AddrPort // neighbours
	names        map[netip.AddrPort]string // and the other way round
	protocols    map[string]string         // neighbours by the names of their sessions
	known        map[netip.Prefix][]Route  // routes of the initial copy
}

func (c *birdCopy) start(b *BIRD) error {
	for _, r := range []**router.Router{&c.initial, &c.now} {
		fork, err := c.at.Copy()
		if err != nil {
			return err
		}
		if *r, err = router.New(fork, birdBudget); err != nil {
			return errors.Join(err, fork.Close())
		}
		if pending := (*r).Pending; pending.Status != daemon.Done {
			return fmt.Errorf("the copy of BIRD ended before it received a message: status %d, signal "+
				"%d", pending.Status, pending.Signal)
		}
	}
	for name, address := range b.Neighbours {
		if session, err := c.now.Neighbour(address); err == nil { // one without a session gets and sends nothing
			c.from[name], c.names[session] = session, name
		}
	}
	text, err := c.initial.Ask(c.control, "show protocols all")
	c.protocols = birdSessions(text, b.Neighbours)
	return err
}

func (c *birdCopy) Close() error {
	var errs []error
	for _, r := range []*router.Router{c.initial, c.now} {
		if r != nil {
			errs = append(errs, r.Close())
		}
	}
	return errors.Join(append(errs, c.at.Close())...)
}

func (c *birdCopy) Deliver(_ context.Context, from string, message []byte) (Effect, error) {
	session, ok := c.from[from]
	if !ok {
		return Effect{}, fmt.Errorf("BIRD has no session with %s", from)
	}
	got, err := c.now.Deliver(session, message)
	if err != nil {
		return Effect{}, err
	}
	e := Effect{Crashed: got.Status != daemon.Done, Closed: len(got.Closed) > 0}
	for _, m := range got.Sent {
		if name := c.names[m.To]; name != "" && m.Type == bgp.TypeUpdate {
			e.Sent = append(e.Sent, Sent{name, m.Bytes})
		}
	}
	return e, nil
}

func (c *birdCopy) Routes(_ context.Context, p netip.Prefix) (initial, now []Route, err error) {
	initial, known := c.known[p]
	if !known {
		if initial, err = c.ask(c.initial, p); err != nil {
			return nil, nil, err
		}
		c.known[p] = initial
	}
	now, err = c.ask(c.now, p)
	return initial, now, err
}

func (c *birdCopy) ask(r *router.Router, p netip.Prefix) (list []Route, err error) {
	text, err := r.Ask(c.control, "show route for "+p.String()+" all")
	if err != nil {
		return nil, err
	}
	err = readBIRD(strings.NewReader(text), func(r birdRoute) bool {
		list = append(list, Route{r.prefix, c.protocols[r.protocol], r.path})
		return true
	})
	return list, err
}
