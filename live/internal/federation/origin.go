package federation

import (
	"bytes"
	"context"
	"crypto/rand"
	"encoding/binary"
	"errors"
	"fmt"
	"slices"
	"sort"
	"sync"
	"time"

	"github.com/cloudflare/circl/oprf"
	"github.com/cloudflare/circl/zk/dleq"
)

// Origins are compared by a verifiable oblivious pseudo-random function (VOPRF, RFC 9497). A domain publishes the function's value, with a key that
// it alone has, for each prefix and origin of its table: numbers that look random. An asker has one prefix and origin evaluated, blinded, so that the
// domain does not learn which, and looks the value up. A proof shows that the value was computed with the key of the table. Each table has a new key:
// values of two tables cannot be compared.

// suite is the group and hash of the function.
var suite = oprf.SuiteRistretto255

// Sizes of the protocol.
const (
	elementBytes  = 32      // an element of ristretto255
	proofBytes    = 64      // two scalars
	valueBytes    = 8       // of a published value: two of 1.2 million inputs have the same one with a chance below 1e-7
	maxOrigins    = 4 << 20 // in a table
	chunkOrigins  = maxFrameBytes / valueBytes / 2
	originBits    = 1
	originMessage = "an origin" // what the log has; the domain does not know which
)

// originTable is the domain's side: the table of an epoch.
type originTable struct {
	mu    sync.Mutex
	made  *originEpoch
	ready chan struct{} // while one is being made
	err   error
}

type originEpoch struct {
	id     token
	at     time.Time
	server oprf.VerifiableServer
	public []byte
	values []byte // sorted, so that the order shows nothing
}

// originInput encodes an origin as an input of the function.
func originInput(o Origin) []byte {
	a := o.Prefix.Addr().As4()
	return binary.BigEndian.AppendUint32(append(a[:], byte(o.Prefix.Bits())), o.ASN)
}

// publish computes the values of the router's table with a new key.
func (d *Domain) publish(ctx context.Context) (*originEpoch, error) {
	list, err := d.Router.Origins(ctx)
	if err != nil {
		return nil, err
	}
	key, err := oprf.GenerateKey(suite, rand.Reader)
	if err != nil {
		return nil, err
	}
	e := &originEpoch{id: newToken(), at: d.times.now(), server: oprf.NewVerifiableServer(suite, key)}
	if e.public, err = key.Public().MarshalBinary(); err != nil {
		return nil, err
	}
	var values []uint64
	for o := range list {
		v, err := e.server.FullEvaluate(originInput(o))
		if err != nil {
			return nil, err
		}
		if values = append(values, binary.BigEndian.Uint64(v)); len(values) > maxOrigins {
			return nil, fmt.Errorf("a table of more than %d origins", maxOrigins)
		}
		if ctx.Err() != nil {
			return nil, ctx.Err()
		}
	}
	slices.Sort(values)
	for _, v := range slices.Compact(values) {
		e.values = binary.BigEndian.AppendUint64(e.values, v)
	}
	return e, nil
}

// epoch is the table of now. It is made when someone asks and the last one is old; a large one takes longer than askers wait.
func (d *Domain) epoch(ctx context.Context) (*originEpoch, error) {
	t := &d.origins
	t.mu.Lock()
	if t.made != nil && d.times.now().Sub(t.made.at) < d.times.epoch {
		defer t.mu.Unlock()
		return t.made, nil
	}
	if t.ready == nil {
		t.ready = make(chan struct{})
		go func() { // until the server ends: also when this asker has gone
			made, err := d.publish(ctx)
			t.mu.Lock()
			defer t.mu.Unlock()
			if err == nil {
				t.made = made
			}
			t.err = err
			close(t.ready)
			t.ready = nil
		}()
	}
	ready := t.ready
	t.mu.Unlock()
	select {
	case <-ready:
	case <-time.After(d.times.router):
		return nil, statusBusy
	case <-ctx.Done():
		return nil, ctx.Err()
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.made, t.err
}

// originAnswer answers what concerns origins.
func (d *Domain) originAnswer(ctx context.Context, p *Peer, r *request) (*answer, error) {
	if r.Op == opOriginTable {
		if err := d.charge(p, false); err != nil {
			return nil, err
		}
		e, err := d.epoch(ctx)
		if err != nil {
			return nil, err
		}
		return &answer{ID: e.id, Body: be.AppendUint32(slices.Clone(e.public), uint32(len(e.values)/valueBytes))}, nil
	}
	d.origins.mu.Lock()
	e := d.origins.made
	d.origins.mu.Unlock()
	if e == nil || e.id != r.ID {
		return nil, statusUnknown
	}
	if r.Op == opOriginChunk {
		from := uint64(r.Number) * chunkOrigins * valueBytes
		if from >= uint64(len(e.values)) {
			return nil, statusBad
		}
		return &answer{Body: e.values[from:min(from+chunkOrigins*valueBytes, uint64(len(e.values)))]}, nil
	}
	blinded := suite.Group().NewElement()
	if len(r.Body) != elementBytes || blinded.UnmarshalBinary(r.Body) != nil || blinded.IsIdentity() {
		return nil, statusBad
	}
	if err := d.charge(p, true); err != nil {
		return nil, err
	}
	evaluated, err := e.server.Evaluate(&oprf.EvaluationRequest{Elements: []oprf.Blinded{blinded}})
	if err != nil {
		return nil, err
	}
	element, err := evaluated.Elements[0].MarshalBinaryCompress()
	if err != nil {
		return nil, err
	}
	proof, err := evaluated.Proof.MarshalBinary()
	if err != nil {
		return nil, err
	}
	statement, err := d.Log.record(d.times.now(), p.Name, e.id, originMessage, originBits, "", r.Body)
	return &answer{Body: slices.Concat(element, proof, statement)}, err
}

// OriginAsker asks one domain about origins in its table.
type OriginAsker struct {
	Received []Statement // of the domain

	client *client
	epoch  token
	oprf   oprf.VerifiableClient
	values []byte
}

// AskOrigins connects with a domain, and fetches the table of its origins, in which each is a number that looks random.
func AskOrigins(ctx context.Context, self *Identity, p *Peer) (*OriginAsker, error) {
	c, err := dial(ctx, self, p, nil)
	if err != nil {
		return nil, err
	}
	o := &OriginAsker{client: c}
	if err := o.fetch(ctx); err != nil {
		c.Close()
		return nil, err
	}
	return o, nil
}

func (o *OriginAsker) Close() error { return o.client.Close() }

// Size is how many origins the domain's table has, which it discloses.
func (o *OriginAsker) Size() int { return len(o.values) / valueBytes }

var errProtocol = errors.New("the domain does not keep to the protocol")

func (o *OriginAsker) fetch(ctx context.Context) error {
	a, err := o.client.call(ctx, &request{Op: opOriginTable})
	if err != nil {
		return err
	}
	if len(a.Body) != elementBytes+4 {
		return errProtocol
	}
	n := be.Uint32(a.Body[elementBytes:])
	var public oprf.PublicKey
	if n > maxOrigins || public.UnmarshalBinary(suite, a.Body[:elementBytes]) != nil {
		return errProtocol
	}
	o.epoch, o.oprf = a.ID, oprf.NewVerifiableClient(suite, &public)
	for i := uint32(0); len(o.values) < int(n)*valueBytes; i++ {
		a, err := o.client.call(ctx, &request{Op: opOriginChunk, ID: o.epoch, Number: i})
		if err != nil {
			return err
		}
		if o.values = append(o.values, a.Body...); len(a.Body) == 0 || len(o.values) > int(n)*valueBytes {
			return errProtocol
		}
	}
	return nil
}

// Has reports whether an origin is in the domain's table. It discloses one bit of the table, and nothing of the origin.
func (o *OriginAsker) Has(ctx context.Context, origin Origin) (bool, error) {
	blind, ask, err := o.oprf.Blind([][]byte{originInput(origin)})
	if err != nil {
		return false, err
	}
	blinded, err := ask.Elements[0].MarshalBinaryCompress()
	if err != nil {
		return false, err
	}
	a, err := o.client.call(ctx, &request{Op: opOriginEvaluate, ID: o.epoch, Body: blinded})
	if err != nil {
		return false, err
	}
	element, proof := suite.Group().NewElement(), new(dleq.Proof)
	if len(a.Body) < elementBytes+proofBytes || element.UnmarshalBinary(a.Body[:elementBytes]) != nil ||
		proof.UnmarshalBinary(suite.Group(), a.Body[elementBytes:elementBytes+proofBytes]) != nil {
		return false, errProtocol
	}
	out, err := o.oprf.Finalize(blind, &oprf.Evaluation{Elements: []oprf.Evaluated{element}, Proof: proof})
	if err != nil {
		return false, fmt.Errorf("domain %s evaluates with another key than its table's: %w", o.client.peer.Name, err)
	}
	said, err := o.client.said(a.Body[elementBytes+proofBytes:], o.epoch)
	if err != nil {
		return false, err
	}
	o.Received = append(o.Received, *said)
	value := out[0][:valueBytes]
	i := sort.Search(o.Size(), func(i int) bool { return bytes.Compare(o.value(i), value) >= 0 })
	return i < o.Size() && bytes.Equal(o.value(i), value), nil
}

func (o *OriginAsker) value(i int) []byte { return o.values[i*valueBytes : (i+1)*valueBytes] }
