package federation

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"iter"
	"net/netip"
	"slices"
	"time"

	"github.com/bloodhound-dst/bloodhound/internal/plural"
	"github.com/bloodhound-dst/bloodhound/live/internal/attach"
	"github.com/bloodhound-dst/bloodhound/live/internal/bgp"
	"github.com/bloodhound-dst/bloodhound/live/internal/checkpoint"
)

// Service is a running router in Go that offers a live.Router.
type Service struct {
	ASN        uint32
	Socket     string
	Neighbours map[string]netip.Addr // domains, and the addresses of their ends of the sessions
}

// Bounds of copies.
const (
	serviceTime        = 5 * time.Second // for a message, after those before it
	serviceOriginsTime = time.Minute
	serviceMemoryBytes = 1 << 30
)

// Checkpoint asks the router for a checkpoint. Each message is given to a fresh copy of it, after those that came before.
func (s *Service) Checkpoint(context.Context) (Copy, error) {
	a, err := attach.Ask(s.Socket, attach.Request{Router: true, MemoryBytes: serviceMemoryBytes})
	if err != nil {
		return nil, fmt.Errorf("the router at %s: %w", s.Socket, err)
	}
	if err := a.Ready(); err != nil {
		return nil, errors.Join(fmt.Errorf("the router at %s: %w", s.Socket, err), a.Close())
	}
	return &serviceCopy{service: s, at: a, known: map[netip.Prefix][]Route{}}, nil
}

// Origins asks a copy.
func (s *Service) Origins(ctx context.Context) (iter.Seq[Origin], error) {
	c, err := s.Checkpoint(ctx)
	if err != nil {
		return nil, err
	}
	defer c.Close()
	reply, crashed, err := c.(*serviceCopy).ask(&attach.Question{Origins: true}, serviceOriginsTime)
	if err == nil && crashed {
		err = errors.New("a copy of the router ended when Bloodhound requested its origins")
	}
	if err != nil {
		return nil, err
	}
	var list []Origin
	for _, o := range reply.Origins {
		if o.ASN == 0 {
			o.ASN = s.ASN
		}
		list = append(list, Origin{o.Prefix, o.ASN})
	}
	return slices.Values(list), nil
}

type serviceCopy struct {
	service  *Service
	at       *attach.Attached
	messages []attach.Delivered       // that it has got
	known    map[netip.Prefix][]Route // at the checkpoint
}

func (c *serviceCopy) Close() error { return c.at.Close() }

// ask has a copy answer.
func (c *serviceCopy) ask(q *attach.Question, limit time.Duration) (a *attach.Reply, crashed bool, err error) {
	text, err := json.Marshal(q)
	if err != nil {
		return nil, false, err
	}
	o, err := c.at.Try(text, limit)
	if err != nil {
		return nil, false, err
	}
	if o.Status != checkpoint.Done {
		return nil, true, nil
	}
	a = &attach.Reply{}
	if err := json.Unmarshal(o.Result, a); err != nil {
		return nil, false, fmt.Errorf("a copy of the router gives no answer that can be read: %w", err)
	}
	if a.Error != "" {
		return nil, false, errors.New(a.Error)
	}
	if len(a.Routes) != len(q.Prefixes) {
		return nil, false, fmt.Errorf("a copy of the router answers for %s, and not for %d", plural.Count(len(a.Routes), "prefix"), len(q.Prefixes))
	}
	return a, false, nil
}

// Deliver gives a fresh copy all messages so far, and this one.
func (c *serviceCopy) Deliver(_ context.Context, from string, message []byte) (Effect, error) {
	address, ok := c.service.Neighbours[from]
	if !ok {
		return Effect{}, fmt.Errorf("the router has no session with %s", from)
	}
	messages := append(slices.Clone(c.messages), attach.Delivered{Neighbour: address, Message: message})
	a, crashed, err := c.ask(&attach.Question{Messages: messages}, serviceTime)
	if err != nil || crashed {
		return Effect{Crashed: crashed}, err
	}
	c.messages = messages
	e := Effect{Closed: a.Closed}
	for _, m := range a.Sent {
		kind := byte(0)
		if len(m.Message) >= bgp.HeaderSize {
			kind = m.Message[bgp.HeaderSize-1]
		}
		if name := c.name(m.Neighbour); name != "" && kind == bgp.TypeUpdate {
			e.Sent = append(e.Sent, Sent{name, m.Message})
		}
	}
	return e, nil
}

// name is the domain at the other end of a session, or empty.
func (c *serviceCopy) name(a netip.Addr) string {
	for name, address := range c.service.Neighbours {
		if address == a {
			return name
		}
	}
	return ""
}

func (c *serviceCopy) Routes(_ context.Context, p netip.Prefix) (initial, now []Route, err error) {
	initial, known := c.known[p]
	if !known {
		if initial, err = c.routes(nil, p); err != nil {
			return nil, nil, err
		}
		c.known[p] = initial
	}
	if len(c.messages) == 0 {
		return initial, initial, nil
	}
	now, err = c.routes(c.messages, p)
	return initial, now, err
}

func (c *serviceCopy) routes(after []attach.Delivered, p netip.Prefix) (list []Route, err error) {
	a, crashed, err := c.ask(&attach.Question{Messages: after, Prefixes: []netip.Prefix{p}}, serviceTime)
	if err == nil && crashed {
		err = errors.New("a copy of the router ended when Bloodhound requested its routes")
	}
	if err != nil {
		return nil, err
	}
	for _, r := range a.Routes[0] {
		route := Route{Prefix: r.Prefix, Path: bgp.Sequence(r.Path...)}
		if r.From.IsValid() {
			route.From = c.name(r.From)
			if route.From == "" {
				route.From = r.From.String() // a neighbour that takes no part, and no route of the router's own
			}
		}
		if r.Aggregated && len(route.Path) > 0 {
			route.Path = append(route.Path, bgp.Segment{Set: true})
		}
		list = append(list, route)
	}
	return list, nil
}
