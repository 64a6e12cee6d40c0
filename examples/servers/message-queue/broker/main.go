// Command broker is one of the brokers of a replicated message queue. Producers publish, consumers receive a message for half
// a second and acknowledge it; what is not acknowledged is handed out again: each message is delivered at least once.
//
// `broker health` asks the broker of this machine whether it leads or follows a leader.
//
// With QUEUE_COUNT=replies it has a bug: the leader counts a follower's answer as a copy without looking whether the follower
// has accepted what it was sent. With QUEUE_SYNC=never it has another one: it answers before anything is on the disk.
package main

import (
	"log"
	"os"
	"slices"
	"strings"

	"github.com/bloodhound-dst/bloodhound/examples/servers/internal/mains"
)

func main() {
	log.SetFlags(0)
	if slices.Equal(os.Args[1:], []string{"health"}) {
		mains.AskHealth()
		return
	}
	id, all, data := os.Getenv("QUEUE_ID"), strings.Split(os.Getenv("QUEUE_BROKERS"), ","), os.Getenv("QUEUE_DATA")
	i := slices.Index(all, id)
	if id == "" || i < 0 || data == "" {
		log.Fatalf("QUEUE_ID=%q must be one of QUEUE_BROKERS=%q, and QUEUE_DATA=%q a folder", id, strings.Join(all, ","), data)
	}
	count := os.Getenv("QUEUE_COUNT")
	if count != "" && count != "accepted" && count != "replies" {
		log.Fatalf("QUEUE_COUNT=%q: it is accepted, or replies (the bug)", count)
	}
	sync := os.Getenv("QUEUE_SYNC")
	if sync != "" && sync != "always" && sync != "never" {
		log.Fatalf("QUEUE_SYNC=%q: it is always, or never (a bug)", sync)
	}
	b, err := newBroker(newReplica(id, slices.Delete(all, i, i+1)), data+"/journal")
	if err != nil {
		log.Fatal(err)
	}
	b.replica.countReplies = count == "replies"
	b.disk.Lazy = sync == "never"
	log.Fatal(b.serve(":8080"))
}
