// Package checkout is a shop that keeps orders in a database and has them paid by a service: in a world of package inproc, with fakes of package sim/fake, and in an ordinary
// test, with PostgreSQL, whose calls fail by package sdk. A shop that
// tries a payment again without a key charges twice what was charged, though the service said that it had failed.
package checkout

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strconv"
	"strings"
	"time"

	"github.com/bloodhound-dst/bloodhound/sdk"
	"github.com/bloodhound-dst/bloodhound/sdk/httpfault"
	"github.com/bloodhound-dst/bloodhound/sim/fake"
	"github.com/bloodhound-dst/bloodhound/sim/inproc"
)

const (
	each     = 5 // orders of a customer
	attempts = 5 // of the shop, for each of its steps
	pause    = 20 * time.Millisecond
	patience = 5 * time.Second // of customers
)

// Options of a World.
type Options struct {
	// Keys has the shop name each payment, so that the service knows one that it has made.
	Keys bool
	// Before and After are the chances that the service, and a commit of the database, fail before or after they took effect.
	Before, After float64
	// Lost is the chance that the shop's request to the service, and that its answer, is lost.
	Lost   float64
	Faults []string
}

// order is what a customer wants.
type order struct {
	ID     string
	Amount int
}

// charge is the body of a request to the service.
type charge struct {
	Order  string `json:"order"`
	Amount int    `json:"amount"`
}

// World describes a shop, its database, the service and two customers.
func World(o Options) func(*inproc.World) {
	return func(w *inproc.World) {
		fake.Database(w, "db", fake.DatabaseOptions{Failures: fake.Failures{Before: o.Before, After: o.After}})
		fake.Service(w, "pay", payments(o))
		w.Process("shop", func(p *inproc.Process) {
			web := fake.Client(p)
			web.Transport = httpfault.Transport(web.Transport, "pay", p, httpfault.Route{Pattern: "POST /charges", Operation: "charge", Rates: sdk.Rates{Before: o.Lost, After: o.Lost}})
			s := &shop{orders: rows{fake.Open(p, "db")}, web: web, keys: o.Keys, sleep: p.Sleep, log: p.Log}
			for {
				m := p.Receive()
				p.Reply(m, s.sell(m.Payload.(order)))
			}
		})
		for _, name := range []string{"ann", "bob"} {
			w.Client(name, customer)
		}
		w.Faults(o.Faults...)
	}
}

// payments is the catalogue of the service. Both failures of a charge look alike to its caller.
func payments(o Options) fake.Catalogue {
	const sorry = `{"error": "something went wrong"}`
	return fake.Catalogue{Operations: []fake.Operation{
		{
			Method: "POST", Path: "/charges", Latency: 5 * time.Millisecond, Jitter: 5 * time.Millisecond,
			Problems: []fake.Problem{{Status: 500, Body: sorry, Rate: o.Before}, {Status: 500, Body: sorry, Rate: o.After, After: true}},
			Do: func(c *fake.Call) fake.Response {
				var b charge
				if err := json.Unmarshal([]byte(c.Body), &b); err != nil || b.Amount <= 0 {
					return fake.Response{Status: 400, Body: `{"error": "no charge"}`}
				}
				key := c.Header.Get("Idempotency-Key")
				if _, made := c.Get("key/" + key); key == "" || !made {
					prefix := "charge/" + b.Order + "/"
					c.Put(prefix+strconv.Itoa(len(c.Keys(prefix))), strconv.Itoa(b.Amount))
					c.Put("key/"+key, b.Order)
				}
				return fake.Response{Status: 201, Body: `{"paid": true}`}
			},
		},
		{
			Method: "GET", Path: "/charges/{order}",
			Do: func(c *fake.Call) fake.Response {
				return fake.Response{Status: 200, Body: strconv.Itoa(len(c.Keys("charge/" + c.Vars["order"] + "/")))}
			},
		},
	}}
}

// orders is where a shop notes what becomes of an order.
type orders interface {
	note(o order, state string) error
}

// rows are the orders of a fake database.
type rows struct{ db *fake.DB }

func (r rows) note(o order, state string) error {
	return r.db.Transact(fake.Serializable, func(tx *fake.Tx) error {
		return tx.Put("orders", o.ID, fake.Row{"amount": strconv.Itoa(o.Amount), "state": state})
	})
}

// shop sells.
type shop struct {
	orders
	web   *http.Client
	keys  bool
	sleep func(time.Duration)
	log   func(format string, args ...any)
}

// sell takes an order into the database, has it paid, and notes that. Each step is tried again until it is known to be done: what is written twice is written once.
func (s *shop) sell(o order) error {
	steps := []func() error{
		func() error { return s.note(o, "new") },
		func() error { return s.pay(o) },
		func() error { return s.note(o, "paid") },
	}
	for _, step := range steps {
		err := errors.New("nothing was tried")
		for i := 0; i < attempts && err != nil; i++ {
			if i > 0 {
				s.sleep(pause << i)
			}
			err = step()
		}
		if err != nil {
			return err
		}
	}
	s.log("%s is paid", o.ID)
	return nil
}

func (s *shop) pay(o order) error {
	body, err := json.Marshal(charge{o.ID, o.Amount})
	if err != nil {
		return err
	}
	r, err := http.NewRequest("POST", "http://pay/charges", strings.NewReader(string(body)))
	if err != nil {
		return err
	}
	if s.keys {
		r.Header.Set("Idempotency-Key", o.ID)
	}
	answer, err := s.web.Do(r)
	if err != nil {
		return err
	}
	defer answer.Body.Close()
	if answer.StatusCode != http.StatusCreated {
		s.log("charging %s: %s", o.ID, answer.Status)
		return fmt.Errorf("the payment was answered %s", answer.Status)
	}
	return nil
}

// customer orders, and looks at what was charged.
func customer(p *inproc.Process) {
	web := fake.Client(p)
	for i := range each {
		id := p.Name() + strconv.Itoa(i)
		p.Operation(inproc.Op{Kind: "order", Key: id, Node: "shop"}, func() (string, error) {
			answer, err := p.Call("shop", order{id, 10 + i}, patience)
			if failed, ok := answer.(error); ok {
				return "", failed
			}
			return "", err
		})
		p.Operation(inproc.Op{Kind: "look", Key: id, Node: "pay"}, func() (string, error) {
			answer, err := web.Get("http://pay/charges/" + id)
			if err != nil {
				return "", err
			}
			defer answer.Body.Close()
			text, err := io.ReadAll(answer.Body)
			p.Assert(string(text) == "0" || string(text) == "1", "no order is charged twice")
			return string(text), err
		})
	}
}
