// Command cluster is a store and the caches in front of it: each key has one owner among the caches by consistent hashing, which
// answers reads from its memory and writes through to the store.
//
//	cluster store    the store: STORE_DATA is a folder
//	cluster cache    a cache: CACHE_NODE is its name, CACHE_STORE the URL of the store
//	cluster health   asks the server of this machine whether it is well
//
// With CACHE_REJOIN=keep a cache has a bug: when it comes back after an absence, it keeps the values of the keys that it owns again.
package main

import (
	"crypto/rand"
	"log"
	"os"
	"sync"
	"time"

	"github.com/bloodhound-dst/bloodhound/examples/servers/internal/mains"
)

func main() {
	log.SetFlags(0)
	if len(os.Args) != 2 {
		log.Fatal("usage: cluster store|cache|health")
	}
	switch os.Args[1] {
	case "store":
		s, err := openStore(os.Getenv("STORE_DATA")+"/journal", time.Now())
		if err != nil {
			log.Fatal(err)
		}
		log.Fatal(s.serve(":8080"))
	case "cache":
		node, store, rejoin := os.Getenv("CACHE_NODE"), os.Getenv("CACHE_STORE"), os.Getenv("CACHE_REJOIN")
		if node == "" || store == "" || rejoin != "" && rejoin != "drop" && rejoin != "keep" {
			log.Fatalf("CACHE_NODE=%q and CACHE_STORE=%q must be set, and CACHE_REJOIN=%q is drop, or keep (the bug)", node, store, rejoin)
		}
		c := &cache{store: store, incarnation: rand.Text(), client: newClient(), keys: map[string]*sync.Mutex{},
			holdings: holdings{node: node, values: map[string]value{}, keepOwned: rejoin == "keep"}}
		log.Fatal(c.serve(":8080"))
	case "health":
		mains.AskHealth()
	default:
		log.Fatalf("no command %q: store, cache or health", os.Args[1])
	}
}
