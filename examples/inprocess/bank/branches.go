package bank

import (
	"cmp"
	"errors"
	"fmt"
	"strconv"
	"time"

	"github.com/bloodhound-dst/bloodhound/sim/fake"
	"github.com/bloodhound-dst/bloodhound/sim/inproc"
)

// Options of Branches.
type Options struct {
	// Level is the isolation of transfers.
	Level fake.Isolation
	// Named has a transfer look whether it was made before, since a commit of unknown outcome may have taken effect.
	Named bool
	// Failures are the chances that a commit fails before or after it took effect.
	Failures fake.Failures
	Faults   []string
}

const (
	tries = 5 // of each transfer
	pause = 20 * time.Millisecond
)

// Branches describes the same bank over a database, which the tellers of two branches ask themselves: a transfer is one transaction, and is tried again until it
// is known to be made.
func Branches(o Options) func(*inproc.World) {
	return func(w *inproc.World) {
		opened := map[string]fake.Row{}
		for i := range accounts {
			opened[strconv.Itoa(i)] = fake.Row{"balance": strconv.Itoa(opening)}
		}
		fake.Database(w, "db", fake.DatabaseOptions{Failures: o.Failures, Tables: map[string]map[string]fake.Row{"accounts": opened}})
		for _, name := range []string{"branch1", "branch2"} {
			w.Client(name, func(p *inproc.Process) { (&branch{p, fake.Open(p, "db"), o}).serve() })
		}
		w.Faults(o.Faults...)
	}
}

type branch struct {
	*inproc.Process
	db *fake.DB
	o  Options
}

func (b *branch) serve() {
	for i := range transfers {
		id := b.Name() + "." + strconv.Itoa(i)
		t := transfer{b.Choose(accounts), b.Choose(accounts), 1 + b.Choose(opening)}
		b.Operation(inproc.Op{Kind: "transfer", Key: id, Input: fmt.Sprint(t), Node: "db"}, func() (string, error) { return "", b.make(id, t) })
		b.Operation(inproc.Op{Kind: "audit", Key: id, Node: "db"}, func() (string, error) { return b.audit(id) })
	}
}

// make makes a transfer. Once the outcome of a try is unknown, a later one that fails proves nothing.
func (b *branch) make(id string, t transfer) error {
	var lost error
	for i := range tries {
		err := b.db.Transact(b.o.Level, func(tx *fake.Tx) error { return b.move(tx, id, i, t) })
		switch {
		case err == nil:
			return nil
		case !errors.Is(err, inproc.ErrFailed):
			lost = err
		case errors.Is(err, errPoor):
			return cmp.Or(lost, err)
		}
		b.Log("transfer %s, try %d: %v", id, i+1, err)
		b.Sleep(pause << i)
	}
	return cmp.Or(lost, inproc.ErrFailed)
}

// errPoor says that an account has not so much.
var errPoor = fmt.Errorf("there is not so much: %w", inproc.ErrFailed)

// move is the transaction: two balances, and a row that says by which try the transfer was made.
func (b *branch) move(tx *fake.Tx, id string, try int, t transfer) error {
	if b.o.Named {
		if made, err := tx.Prefix("transfers", id+"/"); err != nil || len(made) > 0 {
			return err
		}
	}
	from, err := tx.Get("accounts", strconv.Itoa(t.From))
	if err != nil {
		return err
	}
	to, err := tx.Get("accounts", strconv.Itoa(t.To))
	if err != nil {
		return err
	}
	if from.Int("balance") < t.Amount || t.From == t.To {
		return errPoor
	}
	return errors.Join(
		tx.Put("accounts", strconv.Itoa(t.From), fake.Row{"balance": strconv.Itoa(from.Int("balance") - t.Amount)}),
		tx.Put("accounts", strconv.Itoa(t.To), fake.Row{"balance": strconv.Itoa(to.Int("balance") + t.Amount)}),
		tx.Put("transfers", id+"/"+strconv.Itoa(try), fake.Row{"amount": strconv.Itoa(t.Amount)}))
}

// audit looks at the sum of all accounts, and at how often a transfer was made.
func (b *branch) audit(id string) (string, error) {
	sum, made := 0, 0
	err := b.db.Transact(fake.Serializable, func(tx *fake.Tx) error {
		list, err := tx.Prefix("accounts", "")
		if err != nil {
			return err
		}
		for _, e := range list {
			sum += e.Row.Int("balance")
		}
		tries, err := tx.Prefix("transfers", id+"/")
		made = len(tries)
		return err
	})
	if err == nil {
		b.Assert(sum == accounts*opening, "the sum of all accounts stays the same")
		b.Assert(made <= 1, "no transfer is made twice")
	}
	return fmt.Sprint(sum), err
}
