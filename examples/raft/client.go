package raft

import (
	"fmt"
	"time"

	"github.com/bloodhound-dst/bloodhound/engine/inproc"
)

// request is what a client asks: a put, or a get if it has no value.
type request struct{ Key, Value string }

// client puts and gets, when the schedule gives it a turn. When the chaos is over, what is left must work: one put and one get, by
// whichever server can do them.
func client(p *inproc.Process, o *Options) {
	i := 1
	for ; p.Turn(); i++ {
		operate(p, 1+uint64(p.Choose(o.Servers)), i, p.Choose(2) == 0)
	}
	for _, put := range []bool{true, false} {
		for operate(p, 1+uint64(i%o.Servers), i, put) != nil {
			i++
			p.Sleep(50 * time.Millisecond)
		}
		i++
	}
}

// operate does one operation of a client.
func operate(p *inproc.Process, server uint64, i int, put bool) error {
	r := request{Key: "k"}
	op := inproc.Op{Kind: "get", Key: r.Key, Node: name(server)}
	if put {
		r.Value = fmt.Sprint("v", i)
		op.Kind, op.Input = "put", r.Value
	}
	_, err := p.Operation(op, func() (string, error) {
		answer, err := p.Call(name(server), r, 300*time.Millisecond)
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

// load asks servers for the same, and does not wait for what comes of it.
func load(p *inproc.Process, o *Options) {
	for i := 1; p.Turn(); i++ {
		r := request{Key: "k"}
		if p.Choose(2) == 0 {
			r.Value = fmt.Sprint("v", i)
		}
		p.Send(name(1+uint64(p.Choose(o.Servers))), r)
	}
}
