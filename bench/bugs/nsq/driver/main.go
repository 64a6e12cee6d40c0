// Command driver publishes messages to a topic of nsqd, and at the end, when the world has settled, consumes all of them. It speaks NSQ's
// protocols itself, so that nothing is sent twice.
package main

import (
	"bufio"
	"encoding/binary"
	"errors"
	"flag"
	"fmt"
	"io"
	"log"
	"net"
	"net/http"
	"os"
	"strings"
	"sync"
	"time"

	"github.com/bloodhound-dst/bloodhound/bench/bugs/set"
)

func main() {
	log.SetFlags(0)
	server := flag.String("server", "", "host of nsqd")
	clients := flag.Int("clients", 3, "clients that publish at once")
	count := flag.Int("messages", 60, "how many messages all clients publish together")
	rate := flag.Float64("rate", 10, "messages a second of all clients together")
	flag.Parse()
	report := set.Open()
	publish := func(value string) error { return publish(*server, value) }

	// Faults begin when nsqd has written its first metadata, which it does every two seconds.
	(&set.Client{Label: "first", Log: report}).Add(1, time.Millisecond, publish)
	time.Sleep(3 * time.Second)
	report.Announce("ready")
	pause := time.Duration(float64(*clients) / *rate * float64(time.Second))
	var all sync.WaitGroup
	for i := range *clients {
		all.Go(func() {
			(&set.Client{Label: fmt.Sprintf("c%d", i), Log: report}).Add(*count / *clients, pause, publish)
		})
	}
	all.Wait()
	report.Announce("done")
	bufio.NewReader(os.Stdin).ReadString('\n')
	report.Announce("check")
	reader := &set.Client{Label: "reader", Log: report}
	for !reader.Read(func() ([]string, error) { return consume(*server) }) {
		time.Sleep(time.Second)
	}
}

func publish(server, value string) error {
	over := http.Client{Timeout: 500 * time.Millisecond}
	answer, err := over.Post("http://"+server+":4151/pub?topic="+set.Key, "text/plain", strings.NewReader(value))
	if err != nil {
		return err
	}
	answer.Body.Close()
	if answer.StatusCode != http.StatusOK {
		return errors.New(answer.Status)
	}
	return nil
}

// consume makes a channel of the topic and takes all messages from it, until none has come for three seconds.
func consume(server string) ([]string, error) {
	conn, err := net.DialTimeout("tcp", server+":4150", time.Second)
	if err != nil {
		return nil, err
	}
	defer conn.Close()
	if _, err := fmt.Fprintf(conn, "  V2SUB %s reader\nRDY 100\n", set.Key); err != nil {
		return nil, err
	}
	values := []string{}
	for last := time.Now(); ; {
		conn.SetReadDeadline(last.Add(3 * time.Second))
		kind, body, err := frame(conn)
		if errors.Is(err, os.ErrDeadlineExceeded) {
			return values, nil
		}
		if err != nil {
			return nil, err
		}
		const message, idOffset, bodyOffset = 2, 10, 26 // a time, a count of attempts and an id stand in front of what was published
		switch {
		case kind == message:
			values = append(values, string(body[bodyOffset:]))
			_, err = fmt.Fprintf(conn, "FIN %s\n", body[idOffset:bodyOffset])
			last = time.Now()
		case string(body) == "_heartbeat_":
			_, err = io.WriteString(conn, "NOP\n")
		case string(body) != "OK":
			err = errors.New(string(body))
		}
		if err != nil {
			return nil, err
		}
	}
}

// frame reads one frame of a server.
func frame(from io.Reader) (kind uint32, body []byte, err error) {
	var head struct{ Size, Kind uint32 }
	if err := binary.Read(from, binary.BigEndian, &head); err != nil {
		return 0, nil, err
	}
	body = make([]byte, head.Size-4)
	_, err = io.ReadFull(from, body)
	return head.Kind, body, err
}
