// Counted executes what its arguments say, and prints how many blocks that were.
package main

import (
	"fmt"
	"os"

	"github.com/bloodhound-dst/bloodhound/internal/coverage/counters"
	"github.com/bloodhound-dst/bloodhound/internal/coverage/counters/testdata/counted/counts"
)

func main() {
	r, err := counters.New()
	if err != nil {
		fmt.Println(err)
		return
	}
	executed := func() map[uint64]bool {
		m := map[uint64]bool{}
		if err := r.Executed(func(b uint64) { m[b] = true }); err != nil {
			fmt.Println(err)
			os.Exit(1)
		}
		return m
	}
	tell := func(n int) map[uint64]bool {
		if err := r.Clear(); err != nil {
			fmt.Println(err)
			os.Exit(1)
		}
		counts.Sign(n)
		return executed()
	}
	none, first, again, other := len(executed()), tell(1), tell(1), tell(-1)
	same, fresh := 0, 0
	for b := range again {
		if first[b] {
			same++
		}
	}
	for b := range other {
		if !first[b] {
			fresh++
		}
	}
	fmt.Println(none, len(first), len(again), same, len(other), fresh)
}
