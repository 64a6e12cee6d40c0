package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"time"
)

// beat is what a cache sends to the store again and again: who it is, which life of its own this is, and by which epoch it works.
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

// errRefused is a proof that nothing was done.
var errRefused = fmt.Errorf("refused")

func newClient() *http.Client {
	return &http.Client{Timeout: callTimeout,
		Transport: &http.Transport{DialContext: (&net.Dialer{Timeout: callTimeout}).DialContext, MaxIdleConnsPerHost: 8}}
}

// call sends a request once; a POST is never repeated by the library.
func call(client *http.Client, url string, question, reply any) error {
	text, err := json.Marshal(question)
	if err != nil {
		return err
	}
	resp, err := client.Post(url, "application/json", bytes.NewReader(text))
	if err != nil {
		return err
	}
	defer resp.Body.Close()
	text, err = io.ReadAll(resp.Body)
	switch {
	case err != nil:
		return err
	case resp.StatusCode == http.StatusConflict:
		return fmt.Errorf("%w: %s", errRefused, bytes.TrimSpace(text))
	case resp.StatusCode != http.StatusOK:
		return fmt.Errorf("%s: %s", resp.Status, bytes.TrimSpace(text))
	}
	return json.Unmarshal(text, reply)
}

// refuse tells a client that nothing was done.
func refuse(w http.ResponseWriter, why string) {
	w.Header().Set("X-Not-Done", "1")
	http.Error(w, why, http.StatusServiceUnavailable)
}
