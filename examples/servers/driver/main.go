// Command driver is a driver of one's own, as bloodhound.yaml runs it with `driver: command`: several clients put,
// get and delete keys of an HTTP key-value store and report every operation to the file $BLOODHOUND_REPORT. It
// speaks to the store of examples/quickstart and to etcd's JSON gateway, of which it also asks transactions,
// compactions and defragmentations if a flag asks for them.
//
// With -mutation it breaks one rule of drivers on purpose, or does nothing worth judging; the mutants of the
// examples show that such a driver cannot make a run pass.
package main

import (
	"bytes"
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"io"
	"log"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/bloodhound-dst/bloodhound/examples/servers/internal/report"
)

// Mutations, one rule of drivers broken by each.
const (
	none       = "none"
	retry      = "retry"       // sends a write again that may have been done already
	claimFail  = "claim-fail"  // says of a write without an answer that it did nothing
	claimOk    = "claim-ok"    // says of a write without an answer that it was done
	stale      = "stale"       // etcd: asks one node for what it happens to have (serializable reads)
	onlyReads  = "only-reads"  // never writes
	idle       = "idle"        // does nothing
	sameClient = "same-client" // continues under the name of a client whose last operation is still open
)

type options struct {
	store      string
	endpoints  []string
	clients    int
	operations int
	ratePerS   float64
	keys       int
	timeout    time.Duration
	mutation   string
	// compactAfter is how old a revision of etcd is when it is compacted; 0 compacts nothing.
	compactAfter time.Duration
	// defragmentAfter is the time between two defragmentations of an etcd node; 0 defragments nothing.
	defragmentAfter time.Duration
	// revisions: every write changes etcd's revision by one, and the history is about the revision instead of the keys.
	revisions bool
	// compactEvery is the time between two compactions, and the look at the present revision before the next one.
	compactEvery time.Duration
	// transactions: clients send transactions that read at a revision of the past, if there are compactions.
	transactions bool
	// announces: the driver reports where it is, and reads every key when the world has settled.
	announces bool
}

func main() {
	log.SetFlags(0)
	var o options
	flag.StringVar(&o.store, "store", "kv", "kv (examples/quickstart) or etcd")
	endpoints := flag.String("endpoints", "", "base URLs, separated by commas")
	flag.IntVar(&o.clients, "clients", 5, "clients at once, each with one operation in flight")
	flag.IntVar(&o.operations, "operations", 100, "operations of all clients together")
	flag.Float64Var(&o.ratePerS, "rate", 25, "operations a second of all clients together, if answers come in time")
	flag.IntVar(&o.keys, "keys", 4, "number of keys")
	flag.DurationVar(&o.timeout, "timeout", 2*time.Second, "how long an operation may take")
	flag.StringVar(&o.mutation, "mutation", none, "a rule to break: retry, claim-fail, claim-ok, stale, only-reads, idle, same-client")
	flag.DurationVar(&o.compactAfter, "compact-after", 0,
		"etcd: compact revisions of this age, and read at the revision that the client saw last in transactions that write")
	flag.BoolVar(&o.transactions, "transactions", true, "etcd: send those transactions, if there are compactions")
	flag.DurationVar(&o.compactEvery, "compact-every", 0,
		"etcd: wait so long after a compaction; without -compact-after it compacts the present revision")
	flag.DurationVar(&o.defragmentAfter, "defragment-after", 0, "etcd: defragment a node each time this has passed")
	flag.BoolVar(&o.revisions, "revisions", false,
		"etcd: report the revision in each answer: writes, each of which changes one key, are incr of key revision, reads are get of it")
	flag.BoolVar(&o.announces, "announces", false, "report where the driver is, and read every key when the world has settled; its workload needs 'announces: true'")
	flag.Parse()
	o.endpoints = strings.Split(*endpoints, ",")

	stores := map[string]func(options) store{"kv": newKV, "etcd": newEtcd}
	open := stores[o.store]
	if open == nil || *endpoints == "" || o.clients < 1 || o.ratePerS <= 0 || o.keys < 1 || flag.NArg() > 0 {
		log.Fatal("driver: -store is kv or etcd, -endpoints a list of URLs, -clients, -rate and -keys at least 1")
	}
	switch o.mutation {
	case none, retry, claimFail, claimOk, stale, onlyReads, idle, sameClient:
	default:
		log.Fatalf("driver: no mutation %q", o.mutation)
	}
	maintained := o.compactAfter > 0 || o.compactEvery > 0 || o.defragmentAfter > 0 || o.revisions
	if o.compactAfter < 0 || o.compactEvery < 0 || o.defragmentAfter < 0 || maintained && o.store != "etcd" {
		log.Fatal("driver: -compact-after, -compact-every and -defragment-after are times, and with -revisions for etcd")
	}
	run(o, func() store { return open(o) }, report.Open())
}

func run(o options, open func() store, to *report.Log) {
	if o.announces {
		to.Ready()
	}
	var clients sync.WaitGroup
	for i := range o.clients {
		share := o.operations / o.clients
		if i < o.operations%o.clients {
			share++
		}
		clients.Go(func() { (&client{o: o, store: open(), report: to, label: fmt.Sprintf("c%d", i)}).run(i, share) })
	}
	done := make(chan struct{})
	var maintenance sync.WaitGroup
	if o.compactAfter > 0 || o.compactEvery > 0 {
		maintenance.Go(func() { (&client{o: o, store: open(), report: to, label: "compactor"}).compact(done) })
	}
	if o.defragmentAfter > 0 {
		maintenance.Go(func() { (&client{o: o, store: open(), report: to, label: "defragmenter"}).defragment(done) })
	}
	clients.Wait()
	close(done)
	maintenance.Wait()
	if o.announces {
		to.ReadBack()
		reader := &client{o: o, store: open(), report: to, label: "reader"}
		for k := range o.keys {
			reader.perform(o.endpoints[k%len(o.endpoints)], "get", fmt.Sprintf("k%d", k), "")
		}
	}
}

// answer is what a store said of an operation.
type answer struct {
	value string
	found bool
	err   error
	// notDone is a proof that the operation did nothing and never will.
	notDone bool
	// revision is the one that etcd was at, if it answered.
	revision string
}

// store performs one operation against one endpoint, once. Each client has one of its own.
type store interface {
	do(ctx context.Context, endpoint, op, key, value string) answer
}

// record is one line of $BLOODHOUND_REPORT.
type record struct {
	Client string `json:"client"`
	Type   string `json:"type"` // invoke, ok, fail, info
	Op     string `json:"op"`
	Key    string `json:"key"`
	Input  string `json:"input,omitempty"`
	Output string `json:"output,omitempty"`
	Found  *bool  `json:"found,omitempty"`
	Error  string `json:"error,omitempty"`
	Node   string `json:"node,omitempty"`
}

// client performs one operation at a time. A client whose operation has an unknown end retires: what comes next
// is done by another one.
type client struct {
	o       options
	store   store
	report  *report.Log
	label   string
	retired int
}

func (c *client) name() string { return fmt.Sprintf("%s.%d", c.label, c.retired) }

func (c *client) run(number, operations int) {
	if c.o.mutation == idle {
		return
	}
	rnd := report.Random()
	pause := time.Duration(float64(c.o.clients) / c.o.ratePerS * float64(time.Second))
	next := time.Now().Add(time.Duration(rnd.Int64N(int64(pause))))
	for i := range operations {
		if c.report.Ends(c.label, i) {
			return
		}
		time.Sleep(time.Until(next))
		next = next.Add(pause)
		key := fmt.Sprintf("k%d", rnd.IntN(c.o.keys))
		endpoint := c.o.endpoints[rnd.IntN(len(c.o.endpoints))]
		op, value := "get", ""
		switch n := rnd.IntN(20); {
		case c.o.mutation == onlyReads:
		case n < 11 && c.o.revisions:
			op, value = "toggle", fmt.Sprintf("v%d.%d", number, i)
		case n < 10:
			op, value = "put", fmt.Sprintf("v%d.%d", number, i)
		case n < 11:
			op = "delete"
		case n < 15 && c.o.transactions && c.o.compactAfter > 0:
			op, value = "txn", fmt.Sprintf("v%d.%d", number, i)
		}
		if c.report.Skips(c.label, i) {
			continue
		}
		c.perform(endpoint, op, key, value)
	}
}

// compact works as Kubernetes' API server does: it looks which revision is the present one, and a while later compacts
// it, and all before it.
func (c *client) compact(done <-chan struct{}) {
	rnd := report.Random()
	for i := 0; ; i += 2 {
		look, then := c.o.endpoints[rnd.IntN(len(c.o.endpoints))], c.o.endpoints[rnd.IntN(len(c.o.endpoints))]
		revision := ""
		if !c.report.Skips(c.label, i) {
			revision = c.perform(look, "get", "k0", "").revision
		}
		select {
		case <-done:
			return
		case <-time.After(c.o.compactAfter):
		}
		if revision != "" && !c.report.Skips(c.label, i+1) {
			c.perform(then, "compact", "", revision)
		}
		if c.o.compactEvery > 0 {
			select {
			case <-done:
				return
			case <-time.After(c.o.compactEvery):
			}
		}
	}
}

// defragment works as a cron job of an administrator does: it has one node after the other rewrite its file.
func (c *client) defragment(done <-chan struct{}) {
	for i := 0; ; i++ {
		select {
		case <-done:
			return
		case <-time.After(c.o.defragmentAfter):
		}
		if !c.report.Skips(c.label, i) {
			c.perform(c.o.endpoints[i%len(c.o.endpoints)], "defragment", "", "")
		}
	}
}

// revisionKey is the key whose value is the revision, in a history about it.
const revisionKey = "revision"

// writesUpTo is how many writes a revision of etcd counts: an empty store has revision 1.
func writesUpTo(revision string) string {
	n, err := strconv.ParseInt(revision, 10, 64)
	if err != nil || n < 1 {
		log.Fatalf("driver: etcd answered with the revision %q", revision)
	}
	return strconv.FormatInt(n-1, 10)
}

// recordOf is the record of an operation that begins. In a history about the revision, a write increments it.
func (c *client) recordOf(endpoint, op, key, value string) record {
	r := record{Client: c.name(), Type: "invoke", Op: op, Key: key, Input: value, Node: host(endpoint)}
	if c.o.revisions {
		switch op {
		case "put", "txn", "toggle":
			r.Op, r.Key, r.Input = "incr", revisionKey, ""
		case "get":
			r.Key = revisionKey
		}
	}
	return r
}

func (c *client) perform(endpoint, op, key, value string) answer {
	r := c.recordOf(endpoint, op, key, value)
	c.report.Write(r)
	ctx, cancel := context.WithTimeout(context.Background(), c.o.timeout)
	a := c.store.do(ctx, endpoint, op, key, value)
	cancel()
	if c.o.mutation == retry {
		for i := 0; a.err != nil && i < 5; i++ {
			ctx, cancel := context.WithTimeout(context.Background(), c.o.timeout)
			a = c.store.do(ctx, c.o.endpoints[i%len(c.o.endpoints)], op, key, value)
			cancel()
		}
	}
	switch {
	case a.err == nil:
		r.Type = "ok"
		switch {
		case c.o.revisions && r.Key == revisionKey:
			r.Output = writesUpTo(a.revision)
		case op == "get":
			r.Output, r.Found = a.value, &a.found
		}
	// A read changes nothing, so it never needs to be looked for later.
	case a.notDone || op == "get" || c.o.mutation == claimFail:
		r.Type, r.Error = "fail", a.err.Error()
	case c.o.mutation == claimOk:
		r.Type = "ok"
	default:
		r.Type, r.Error = "info", a.err.Error()
		if c.o.mutation != sameClient {
			c.retired++
		}
	}
	c.report.Write(r)
	return a
}

func host(endpoint string) string {
	u, err := url.Parse(endpoint)
	if err != nil {
		return ""
	}
	return u.Hostname()
}

// send performs one HTTP request. The transport repeats only what it knows not to have been sent, and reads.
func send(ctx context.Context, method, url, body string) (status int, header http.Header, text []byte, err error) {
	req, err := http.NewRequestWithContext(ctx, method, url, strings.NewReader(body))
	if err != nil {
		return 0, nil, nil, err
	}
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		return 0, nil, nil, err
	}
	defer resp.Body.Close()
	text, err = io.ReadAll(resp.Body)
	return resp.StatusCode, resp.Header, text, err
}

// kv is the store of examples/quickstart; its README says what each status means.
type kv struct{}

func newKV(options) store { return kv{} }

func (kv) do(ctx context.Context, endpoint, op, key, value string) answer {
	method := map[string]string{"put": http.MethodPut, "get": http.MethodGet, "delete": http.MethodDelete}[op]
	status, header, text, err := send(ctx, method, endpoint+"/kv/"+url.PathEscape(key), value)
	switch {
	case err != nil:
		return answer{err: err, notDone: report.NeverSent(err)}
	case status < 300:
		return answer{value: string(text), found: true}
	case status == http.StatusNotFound && op == "get":
		return answer{}
	}
	return answer{err: fmt.Errorf("status %d: %s", status, bytes.TrimSpace(text)), notDone: header.Get("X-Not-Done") == "1"}
}

// etcd speaks to the JSON gateway of etcd 3.4 and later (/v3/kv/...), whose texts are base64.
type etcd struct {
	// serializable reads are answered by the endpoint alone, without asking the others.
	serializable bool
	// seen is the revision in the last answer.
	seen string
}

func newEtcd(o options) store { return &etcd{serializable: o.mutation == stale} }

// etcdRequest is what the gateway takes for puts, ranges, deletions and compactions.
type etcdRequest struct {
	Key          []byte `json:"key,omitempty"`
	Value        []byte `json:"value,omitempty"`
	Revision     string `json:"revision,omitempty"`
	Serializable bool   `json:"serializable,omitempty"`
}

// etcdStep is one of the things that a transaction does.
type etcdStep struct {
	Put    *etcdRequest `json:"requestPut,omitempty"`
	Range  *etcdRequest `json:"requestRange,omitempty"`
	Delete *etcdRequest `json:"requestDeleteRange,omitempty"`
}

// etcdCompare is a condition of a transaction.
type etcdCompare struct {
	Key     []byte `json:"key"`
	Target  string `json:"target"`
	Result  string `json:"result"`
	Version string `json:"version"`
}

// request gives the path and the body of an operation. A txn writes a value and reads what the key held at the revision
// that the client saw last. A toggle deletes a key that exists and puts one that does not, so that it always changes one key.
func (e *etcd) request(op, key, value string) (path string, body any) {
	k, v := []byte(key), []byte(value)
	switch op {
	case "put":
		return "/v3/kv/put", etcdRequest{Key: k, Value: v}
	case "delete":
		return "/v3/kv/deleterange", etcdRequest{Key: k}
	case "compact":
		return "/v3/kv/compaction", etcdRequest{Revision: value}
	case "txn":
		steps := []etcdStep{{Put: &etcdRequest{Key: k, Value: v}}, {Range: &etcdRequest{Key: k, Revision: e.seen}}}
		return "/v3/kv/txn", map[string]any{"success": steps}
	case "toggle":
		return "/v3/kv/txn", map[string]any{
			"compare": []etcdCompare{{Key: k, Target: "VERSION", Result: "GREATER", Version: "0"}},
			"success": []etcdStep{{Delete: &etcdRequest{Key: k}}},
			"failure": []etcdStep{{Put: &etcdRequest{Key: k, Value: v}}},
		}
	case "defragment":
		return "/v3/maintenance/defragment", etcdRequest{}
	}
	return "/v3/kv/range", etcdRequest{Key: k, Serializable: e.serializable}
}

func (e *etcd) do(ctx context.Context, endpoint, op, key, value string) answer {
	path, request := e.request(op, key, value)
	body, err := json.Marshal(request)
	if err != nil {
		return answer{err: err, notDone: true}
	}
	status, _, text, err := send(ctx, http.MethodPost, endpoint+path, string(body))
	if err != nil {
		return answer{err: err, notDone: report.NeverSent(err)}
	}
	var response struct {
		// Code of gRPC, if the status is not 200.
		Code   int `json:"code"`
		Header struct {
			Revision string `json:"revision"`
		} `json:"header"`
		KVs []struct {
			Value []byte `json:"value"`
		} `json:"kvs"`
	}
	err = json.Unmarshal(text, &response)
	if status != http.StatusOK {
		const outOfRange = 11 // a revision that is compacted, or not there yet: etcd refuses the whole request
		refused := err == nil && response.Code == outOfRange
		if refused && op == "txn" && bytes.Contains(text, []byte("compacted")) {
			log.Printf("a transaction at revision %s came too late", e.seen)
		}
		return answer{err: fmt.Errorf("status %d: %s", status, bytes.TrimSpace(text)), notDone: refused}
	}
	if err != nil {
		return answer{err: err}
	}
	if op == "defragment" {
		return answer{} // its header has no revision
	}
	e.seen = response.Header.Revision
	a := answer{revision: e.seen}
	if len(response.KVs) > 0 {
		a.value, a.found = string(response.KVs[0].Value), true
	}
	return a
}
