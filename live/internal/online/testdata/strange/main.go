// Strange is a live process for tests, whose handlers misbehave for one input each.
package main

import (
	"fmt"
	"log"
	"os"
	"sync"
	"time"

	"github.com/bloodhound-dst/bloodhound/live"
)

var held sync.Mutex

// on calls what misbehaves for one number.
func on(f func()) func() {
	return func() {
		n := uint32(1)
		live.Symbolic("n", &n)
		if n == 0xc0ffee {
			f()
		}
		live.Check("n is not 77", n != 77)
	}
}

func main() {
	held.Lock()
	var all [][]byte
	prepared := 0
	var lock sync.Mutex
	hold := func() func() { lock.Lock(); return lock.Unlock }
	state := uint32(42)
	if len(os.Args) > 1 { // another state, which its snapshot has
		state = 0xbeef
	}
	err := live.Serve(live.Service{
		Snapshot: func() ([]byte, error) { return fmt.Append(nil, state), nil },
		Restore:  func(text []byte) error { _, err := fmt.Sscan(string(text), &state); return err },
		Hold:     hold, Prepare: func() { lock.Lock(); prepared++; lock.Unlock() }, Handlers: map[string]func(){
			"fine": func() { live.Check("it is prepared once", prepared == 1) },
			"state": func() {
				n := uint32(1)
				live.Symbolic("n", &n)
				live.Check("n is not the state", n != state)
			},
			"spin": on(func() {
				for {
				}
			}),
			"locked": func() { held.Lock() },
			"waits":  on(func() { time.Sleep(time.Hour) }),
			"memory": on(func() {
				for {
					all = append(all, make([]byte, 64<<20))
				}
			}),
			"exit":  on(func() { os.Exit(0) }),
			"panic": on(func() { panic("at the disco") }),
			"fatal": on(func() { held.Unlock(); held.Unlock() }),
		}})
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println("ready")
	for {
		time.Sleep(time.Hour)
	}
}
