package main

import (
	"net"
	"net/http"
	"time"
)

// beat is what a cache sends to the store again and again: its name, which of its lives this is, and by which epoch it works.
type beat struct {
	Node, Incarnation string
	Epoch             int
}

// view is the answer: the members of the present epoch.
type view struct {
	Epoch   int
	Members []string
}

// access is a request of a cache for a key of the store. Tickets of a key only go up: the store refuses what comes after a later one,
// such as a write that its cache has given up long ago.
type access struct {
	Epoch  int
	Ticket int
	Key    string
	Value  *string // of a write; nil: the key is deleted
}

// value is what the store has.
type value struct {
	Found bool
	Text  string
}

// callTimeout bounds requests between servers.
const callTimeout = 250 * time.Millisecond

func newClient() *http.Client {
	return &http.Client{Timeout: callTimeout,
		Transport: &http.Transport{DialContext: (&net.Dialer{Timeout: callTimeout}).DialContext, MaxIdleConnsPerHost: 8}}
}

// refuse answers a client that nothing was done.
func refuse(w http.ResponseWriter, why string) {
	w.Header().Set("X-Not-Done", "1")
	http.Error(w, why, http.StatusServiceUnavailable)
}
