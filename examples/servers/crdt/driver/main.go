// Command driver is the driver of this world: two kinds of clients, which do not agree on what a key is. Some count, others
// write texts, under the same keys, as before and after an upgrade of a program. Every client has a replica of its own. A key is
// new for a while, and then another one is. A client whose answer says that a key holds the other type leaves the key alone. When the
// replicas have had the time to send each other everything, the driver reads all that was written.
//
// It reports operations on two keys for each key of the store:
//
//	incrby   k3/counter: the input is added
//	set      k3/register: the input is written
//	get      either: what is there in the end; nothing if the key does not have that type
//
// It knows nothing of merges or faults.
package main

import (
	"bytes"
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"log"
	"net/http"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/bloodhound-dst/bloodhound/examples/servers/internal/report"
)

// What a driver may leave out or do wrong; the mutants show that such a world does not pass.
const (
	none     = "none"
	idle     = "idle"      // does nothing
	noReads  = "no-reads"  // never reads
	noWrites = "no-writes" // never writes
	forgets  = "forgets"   // reports a write that it does not make
)

type options struct {
	replicas []string
	clients  int
	busy     time.Duration // how long clients write
	wait     time.Duration // from there to the reads
	pause    time.Duration // between two writes of a client
	fresh    time.Duration // for how long a key is used
	timeout  time.Duration // of an operation
	mutation string
}

func main() {
	log.SetFlags(0)
	var o options
	replicas := flag.String("replicas", "", "URLs of the replicas, separated by commas")
	flag.IntVar(&o.clients, "clients", 6, "clients")
	flag.DurationVar(&o.busy, "busy", 4*time.Second, "how long clients write")
	flag.DurationVar(&o.wait, "wait", 2*time.Second, "from there to the reads of all that was written")
	flag.DurationVar(&o.pause, "pause", 300*time.Millisecond, "between two writes of a client, about")
	flag.DurationVar(&o.fresh, "fresh", 350*time.Millisecond, "for how long a key is used")
	flag.DurationVar(&o.timeout, "timeout", 500*time.Millisecond, "how long an operation may take")
	flag.StringVar(&o.mutation, "mutation", none, "what to do wrong: idle, no-reads, no-writes, forgets")
	flag.Parse()
	o.replicas = strings.Split(*replicas, ",")
	if *replicas == "" || o.clients < 1 || o.pause <= 0 || o.fresh <= 0 || flag.NArg() > 0 {
		log.Fatal("driver: -replicas is a list of URLs, -clients at least 1, -pause and -fresh are times")
	}
	if !slices.Contains([]string{none, idle, noReads, noWrites, forgets}, o.mutation) {
		log.Fatalf("driver: no mutation %q", o.mutation)
	}
	d := &driver{options: o, report: report.Open(), start: time.Now()}
	if o.mutation != idle {
		d.run()
	}
}

type driver struct {
	options
	report *report.Log
	start  time.Time
}

func (d *driver) run() {
	var clients sync.WaitGroup
	for i := range d.clients {
		clients.Go(func() { d.write(i) })
	}
	clients.Wait()
	time.Sleep(time.Until(d.start.Add(d.busy + d.wait)))
	d.read()
}

// write is the work of one client: the first half of them count, the others write texts.
func (d *driver) write(number int) {
	rnd := report.Random()
	c := &client{driver: d, label: fmt.Sprintf("c%d", number), replica: d.replicas[number%len(d.replicas)]}
	// Each client has a share of the pause for itself, so that without faults the others know of a key before they use it.
	share := d.pause / time.Duration(d.clients)
	for k := 0; ; k++ {
		at := time.Duration(k)*d.pause + time.Duration(number)*share + time.Duration(rnd.Int64N(int64(share/2)))
		key, by := int(at/d.fresh), 1+rnd.IntN(9)
		if at >= d.busy {
			return
		}
		time.Sleep(time.Until(d.start.Add(at)))
		switch {
		case d.report.Skips(c.label, k) || d.mutation == noWrites:
		case number < d.clients/2:
			c.perform("incrby", fmt.Sprintf("k%d/counter", key), fmt.Sprint(by))
		default:
			c.perform("set", fmt.Sprintf("k%d/register", key), fmt.Sprintf("%s-%d", c.label, k))
		}
	}
}

// read looks at every key, at one replica after the other: they agree by now.
func (d *driver) read() {
	if d.mutation == noReads {
		return
	}
	for k := range 2 * int((d.busy+d.fresh-1)/d.fresh) {
		c := &client{driver: d, label: "reader", replica: d.replicas[k/2%len(d.replicas)]}
		if !d.report.Skips(c.label, k) {
			c.perform("get", fmt.Sprintf("k%d/%s", k/2, []string{"counter", "register"}[k%2]), "")
		}
	}
}

// record is one line of $BLOODHOUND_REPORT.
type record struct {
	Client string  `json:"client"`
	Type   string  `json:"type"` // invoke, ok, fail, info
	Op     string  `json:"op"`
	Key    string  `json:"key"`
	Input  string  `json:"input,omitempty"`
	Output *string `json:"output,omitempty"`
	Error  string  `json:"error,omitempty"`
	Node   string  `json:"node,omitempty"`
}

// client performs one operation at a time. When the end of one is unknown, what comes next is done by another client.
type client struct {
	*driver
	label   string
	replica string
	retired int
}

func (c *client) perform(op, key, input string) {
	r := record{Client: c.label, Type: "invoke", Op: op, Key: key, Input: input, Node: strings.TrimPrefix(c.replica, "http://")}
	if c.retired > 0 {
		r.Client = fmt.Sprintf("%s.%d", c.label, c.retired)
	}
	c.report.Write(r)
	output, err := "", error(nil)
	if c.mutation != forgets || op != "set" {
		output, err = c.do(op, key, input)
	}
	switch {
	case err == nil && op == "get":
		r.Type, r.Output = "ok", &output
	case err == nil:
		r.Type = "ok"
	case errors.Is(err, errMissing):
		r.Type = "ok"
	case errors.Is(err, errType) || report.NeverSent(err):
		r.Type, r.Error = "fail", err.Error()
	default:
		r.Type, r.Error = "info", err.Error()
		c.retired++
	}
	c.report.Write(r)
}

var (
	errMissing = errors.New("nothing there")
	errType    = errors.New("the key holds the other type")
)

// do sends one request, once: the transport repeats only what it knows not to have been sent, and reads.
func (c *client) do(op, key, input string) (string, error) {
	name, kind, _ := strings.Cut(key, "/")
	method, url := http.MethodGet, c.replica+"/"+kind+"s/"+name
	switch op {
	case "incrby":
		method, url, input = http.MethodPost, url+"?by="+input, ""
	case "set":
		method = http.MethodPut
	}
	ctx, cancel := context.WithTimeout(context.Background(), c.timeout)
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, method, url, bytes.NewReader([]byte(input)))
	if err != nil {
		return "", err
	}
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		return "", err
	}
	defer resp.Body.Close()
	text, err := io.ReadAll(resp.Body)
	switch {
	case err != nil:
		return "", err
	case resp.StatusCode == http.StatusConflict:
		return "", errType
	case resp.StatusCode == http.StatusNotFound && op == "get":
		return "", errMissing
	case resp.StatusCode >= 300:
		return "", fmt.Errorf("status %d: %s", resp.StatusCode, bytes.TrimSpace(text))
	}
	return string(text), nil
}
