package raft

import (
	"fmt"
	"time"

	"github.com/bloodhound-dst/bloodhound/sim/inproc"
)

// request is what a client asks: a put, or a get if it has no value. Values are numbers of the client and of the put.
type request struct{ Key, Value string }

func valueOf(client, i int) string { return fmt.Sprint(client, ".", i) }

// How long an operation may take, and how many operations clients do when faults have ended.
const (
	patience     = 300 * time.Millisecond
	lastTries    = 60
	lastPause    = 50 * time.Millisecond
	catchUpLooks = 60
)

// client puts and gets, when the schedule gives it a turn. When the chaos is over, what is left must work: one put and one get, by
// whichever server can do them.
func client(p *inproc.Process, number int, seen *observer, o *Options) {
	i := 1
	for ; p.Turn(); i++ {
		operate(p, number, 1+uint64(p.Choose(o.servers())), i, p.Choose(2) == 0)
	}
	tries := 0
	for _, put := range []bool{true, false} {
		for ; operate(p, number, 1+uint64(i%o.servers()), i, put) != nil; i++ {
			if tries++; tries == lastTries {
				seen.stuck = fmt.Errorf("%d operations of %s, one after the other and of all servers in turn, have failed", tries, p.Name())
				return
			}
			p.Sleep(lastPause)
		}
		i++
	}
	if !o.CatchUp {
		return
	}
	for range catchUpLooks {
		if seen.catchUp(); seen.behind == nil {
			return
		}
		p.Sleep(lastPause)
	}
}

// operate does one operation of a client.
func operate(p *inproc.Process, number int, server uint64, i int, put bool) error {
	r := request{Key: "k"}
	op := inproc.Op{Kind: "get", Key: r.Key, Node: name(server)}
	if put {
		r.Value = valueOf(number, i)
		op.Kind, op.Input = "put", r.Value
	}
	_, err := p.Operation(op, func() (string, error) {
		answer, err := p.Call(name(server), r, patience)
		if err != nil {
			return "", err
		}
		if failed, ok := answer.(error); ok {
			return "", failed
		}
		if answer == "" && !put {
			return "", inproc.ErrNotFound
		}
		return answer.(string), nil
	})
	return err
}

// requests asks servers for the same, and does not wait for the outcome.
func requests(p *inproc.Process, o *Options) {
	for i := 1; p.Turn(); i++ {
		if o.Requests > 0 && i > o.Requests {
			continue
		}
		r := request{Key: "k"}
		if o.Requests > 0 || p.Choose(2) == 0 {
			r.Value = valueOf(0, i)
		}
		p.Send(name(1+uint64(p.Choose(o.servers()))), r)
	}
}

// load puts values that no client reads.
func load(p *inproc.Process, o *Options) {
	for i := 1; p.Turn(); {
		to := name(1 + uint64(p.Choose(o.servers())))
		for range o.Load {
			p.Send(to, request{"load", valueOf(0, i)})
			i++
		}
	}
}

// operator asks who led last for changes of the configuration.
func operator(p *inproc.Process, seen *observer, o *Options) {
	kinds := changes
	if o.Specified {
		kinds = swap
	}
	for p.Turn() {
		r := reconfigure{p.Choose(kinds), 1 + uint64(p.Choose(o.servers())), 1 + uint64(p.Choose(o.servers()))}
		if seen.leader != 0 {
			p.Send(name(seen.leader), r)
		}
	}
}
