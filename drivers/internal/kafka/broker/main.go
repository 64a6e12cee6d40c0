// Command broker is kfake, franz-go's fake broker, as the node of a world: broker NAME [FOLDER [sync]]. Debian has no broker of Kafka's protocol. With a
// folder it keeps records there, and synchronises each batch only when it is told so, like Kafka.
package main

import (
	"fmt"
	"net"
	"os"

	"github.com/twmb/franz-go/pkg/kfake"
)

const port = 9092

// named is a listener on all addresses that clients are told to reach by a name.
type named struct {
	net.Listener
	name string
}

func (l named) Addr() net.Addr { return address{fmt.Sprintf("%s:%d", l.name, port)} }

type address struct{ text string }

func (address) Network() string  { return "tcp" }
func (a address) String() string { return a.text }

func main() {
	if len(os.Args) < 2 {
		fmt.Fprintln(os.Stderr, "usage: broker NAME [FOLDER [sync]]")
		os.Exit(2)
	}
	options := []kfake.Opt{kfake.NumBrokers(1), kfake.Ports(port), kfake.ListenFn(func(network, _ string) (net.Listener, error) {
		l, err := net.Listen(network, fmt.Sprintf(":%d", port))
		return named{l, os.Args[1]}, err
	})}
	if len(os.Args) > 2 {
		options = append(options, kfake.DataDir(os.Args[2]))
	}
	if len(os.Args) > 3 {
		options = append(options, kfake.SyncWrites())
	}
	if _, err := kfake.NewCluster(options...); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	select {}
}
