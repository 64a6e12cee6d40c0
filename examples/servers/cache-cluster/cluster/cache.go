package main

import (
	"errors"
	"io"
	"log"
	"maps"
	"net/http"
	"strings"
	"sync"
	"time"

	"github.com/bloodhound-dst/bloodhound/examples/servers/internal/jsonhttp"
)

// holdings are what a cache has, and by which epoch.
type holdings struct {
	node   string
	epoch  int
	ring   ring
	values map[string]value
	// keepOwned is the planted mistake: what the node owns in the new ring and owned in its last one is kept, also when there were
	// epochs in between in which it was no member.
	keepOwned bool
}

// adopt moves to a later epoch, and says how many values are left of how many.
func (h *holdings) adopt(v view) (kept, had int) {
	had = len(h.values)
	next := newRing(v.Members)
	if v.Epoch == h.epoch+1 || h.keepOwned {
		maps.DeleteFunc(h.values, func(key string, _ value) bool { return next.owner(key) != h.node })
	} else {
		clear(h.values)
	}
	h.epoch, h.ring = v.Epoch, next
	return len(h.values), had
}

// cache is a node of the ring: it answers for the keys that it owns, and passes all others on to their owners.
type cache struct {
	store       string
	incarnation string
	client      *http.Client

	mu       sync.Mutex
	holdings holdings
	until    time.Time // when the lease is over
	ticket   int
	keys     map[string]*sync.Mutex // one request to the store for a key at a time
}

const beatInterval = 150 * time.Millisecond

func (c *cache) serve(address string) error {
	go c.beats()
	http.HandleFunc("GET /kv/{key}", c.get)
	http.HandleFunc("PUT /kv/{key}", c.put)
	http.HandleFunc("DELETE /kv/{key}", c.put)
	http.HandleFunc("GET /health", func(w http.ResponseWriter, _ *http.Request) {
		c.mu.Lock()
		defer c.mu.Unlock()
		if time.Now().After(c.until) {
			http.Error(w, "no lease", http.StatusServiceUnavailable)
		}
	})
	return http.ListenAndServe(address, nil)
}

// beats renews the lease, and adopts what epochs there are.
func (c *cache) beats() {
	for {
		c.mu.Lock()
		b := beat{c.holdings.node, c.incarnation, c.holdings.epoch}
		c.mu.Unlock()
		sent := time.Now()
		var v view
		err := jsonhttp.Post(c.client, c.store+"/beat", b, &v)
		c.mu.Lock()
		adopted := false
		if err == nil && v.Epoch >= c.holdings.epoch {
			c.until = sent.Add(leaseTime)
			if adopted = v.Epoch > c.holdings.epoch; adopted {
				was := c.holdings.epoch
				kept, had := c.holdings.adopt(v)
				log.Printf("goes from epoch %d to %d %v, keeps %d of %d values", was, v.Epoch, v.Members, kept, had)
			}
		}
		c.mu.Unlock()
		if !adopted { // the store waits for the cache's answer
			time.Sleep(time.Until(sent.Add(beatInterval)))
		}
	}
}

// owner of a key, while this node has a lease.
func (c *cache) owner(key string) string {
	if !time.Now().Before(c.until) {
		return ""
	}
	return c.holdings.ring.owner(key)
}

// route reports whether this node is to answer; otherwise the request is passed on, or refused.
func (c *cache) route(w http.ResponseWriter, req *http.Request, body string) bool {
	key := req.PathValue("key")
	c.mu.Lock()
	owner := c.owner(key)
	c.mu.Unlock()
	switch {
	case owner == c.holdings.node:
		return true
	case owner == "" || req.Header.Get("Passed-On") != "":
		refuse(w, "not the owner, or no lease")
		return false
	}
	r, err := http.NewRequest(req.Method, "http://"+owner+":8080"+req.URL.EscapedPath(), strings.NewReader(body))
	if err != nil {
		refuse(w, err.Error())
		return false
	}
	r.Header.Set("Passed-On", c.holdings.node)
	resp, err := c.client.Do(r)
	if err != nil {
		http.Error(w, err.Error(), http.StatusGatewayTimeout)
		return false
	}
	defer resp.Body.Close()
	text, err := io.ReadAll(resp.Body)
	if err != nil {
		http.Error(w, err.Error(), http.StatusGatewayTimeout)
		return false
	}
	w.WriteHeader(resp.StatusCode)
	w.Write(text)
	return false
}

// ask sends a request about a key to the store, after all earlier ones about it, and has what it learns cached. Without a change
// it is a read.
func (c *cache) ask(key string, change *access) (value, error) {
	c.mu.Lock()
	lock := c.keys[key]
	if lock == nil {
		lock = &sync.Mutex{}
		c.keys[key] = lock
	}
	c.mu.Unlock()
	lock.Lock()
	defer lock.Unlock()

	c.mu.Lock()
	if c.owner(key) != c.holdings.node {
		c.mu.Unlock()
		return value{}, jsonhttp.ErrRefused
	}
	if v, ok := c.holdings.values[key]; ok && change == nil {
		c.mu.Unlock()
		return v, nil
	}
	c.ticket++
	a := access{Epoch: c.holdings.epoch, Ticket: c.ticket, Key: key}
	c.mu.Unlock()

	var v value
	var err error
	if change == nil {
		err = jsonhttp.Post(c.client, c.store+"/read", a, &v)
	} else {
		if a.Value = change.Value; a.Value != nil {
			v = value{true, *a.Value}
		}
		err = jsonhttp.Post(c.client, c.store+"/write", a, &struct{}{})
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	// A value of which the store's state is unknown is in no cache, either.
	delete(c.holdings.values, key)
	if err == nil && c.holdings.epoch == a.Epoch {
		c.holdings.values[key] = v
	}
	return v, err
}

func (c *cache) get(w http.ResponseWriter, req *http.Request) {
	if !c.route(w, req, "") {
		return
	}
	key := req.PathValue("key")
	c.mu.Lock()
	v, cached := c.holdings.values[key]
	cached = cached && c.owner(key) == c.holdings.node
	c.mu.Unlock()
	if !cached {
		var err error
		if v, err = c.ask(key, nil); err != nil {
			refuse(w, err.Error())
			return
		}
	}
	if !v.Found {
		http.Error(w, "no such key", http.StatusNotFound)
		return
	}
	io.WriteString(w, v.Text)
}

func (c *cache) put(w http.ResponseWriter, req *http.Request) {
	body, err := io.ReadAll(req.Body)
	if err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	if !c.route(w, req, string(body)) {
		return
	}
	var change access
	if text := string(body); req.Method == http.MethodPut {
		change.Value = &text
	}
	switch _, err := c.ask(req.PathValue("key"), &change); {
	case errors.Is(err, jsonhttp.ErrRefused):
		refuse(w, err.Error())
	case err != nil:
		http.Error(w, "unknown: "+err.Error(), http.StatusGatewayTimeout)
	default:
		w.WriteHeader(http.StatusNoContent)
	}
}
