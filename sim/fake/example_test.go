package fake_test

import (
	"context"
	"fmt"
	"os"

	"github.com/bloodhound-dst/bloodhound/sim"
	"github.com/bloodhound-dst/bloodhound/sim/fake"
	"github.com/bloodhound-dst/bloodhound/sim/inproc"
)

// A shop inserts an order again if the commit of the first attempt is lost. A commit that was lost after it took effect leaves two orders.
func Example() {
	shop := func(w *inproc.World) {
		fake.Database(w, "db", fake.DatabaseOptions{Failures: fake.Failures{Before: 0.1, After: 0.1}})
		w.Client("shop", func(p *inproc.Process) {
			db := fake.Open(p, "db")
			for try := range 5 {
				err := db.Transact(fake.Serializable, func(tx *fake.Tx) error {
					return tx.Put("orders", fmt.Sprintf("order-%d", try), fake.Row{"item": "book"})
				})
				if err == nil {
					break
				}
			}
			db.Transact(fake.Serializable, func(tx *fake.Tx) error {
				orders, err := tx.Scan("orders", "", "")
				p.Assert(len(orders) <= 1, "there is one order")
				return err
			})
		})
	}
	dir, err := os.MkdirTemp("", "example")
	if err != nil {
		panic(err)
	}
	defer os.RemoveAll(dir)
	r, err := sim.Campaign{Runs: 200, Dir: dir}.Run(context.Background(), "shop", shop)
	if err != nil {
		panic(err)
	}
	fmt.Println(r.Status)
	fmt.Println(r.Failures[0].Property)
	// Output:
	// violated
	// Always: there is one order
}
