package workload

import (
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"strconv"
	"sync/atomic"
	"time"

	"github.com/bloodhound-dst/bloodhound/history"
	"github.com/bloodhound-dst/bloodhound/internal/world"
)

// etcdDialect speaks etcd's v3 API as JSON (its grpc-gateway), each operation one request on a connection of the driver's
// own: etcd's client library retries by itself.
type etcdDialect struct {
	bases    []base
	serial   bool         // reads that any member answers from what it has
	revision atomic.Int64 // the highest that a reply has named
	back     int64        // how many revisions old the ranges of range_put are
}

// What range_put reads: all keys, at a revision of the past.
const defaultBack = 10

func newEtcd(w *world.Workload) (dialect, error) {
	e := &etcdDialect{back: defaultBack}
	if len(w.Targets) == 0 {
		return nil, fmt.Errorf("workload %q has no target; give one such as http://n1:2379", w.Name)
	}
	for _, t := range w.Targets {
		b, err := parseBase(t)
		if err != nil {
			return nil, err
		}
		b.path = ""
		e.bases = append(e.bases, b)
	}
	var err error
	if e.serial, err = option(w, "serializable"); err != nil {
		return nil, err
	}
	if text := w.Options["back"]; text != "" {
		var err error
		if e.back, err = strconv.ParseInt(text, 10, 32); err != nil || e.back < 0 {
			return nil, fmt.Errorf("back %q: give a number of revisions", text)
		}
	}
	return e, nil
}

func (e *etcdDialect) targets() int           { return len(e.bases) }
func (e *etcdDialect) node(target int) string { return e.bases[target].host }

// etcdReply holds the fields of all replies, and those that some replies add. 64-bit numbers are strings.
type etcdReply struct {
	Header struct {
		Revision string `json:"revision"`
	} `json:"header"`
	KVs []struct {
		Value string `json:"value"`
	} `json:"kvs"`
	Deleted   string `json:"deleted"`
	Succeeded bool   `json:"succeeded"`
	ID        string `json:"ID"`
	// Of an error:
	Code    *int   `json:"code"`
	Message string `json:"message"`
	Error   any    `json:"error"`
}

type fields = map[string]any

func (e *etcdDialect) perform(cs *connections, target int, o *operation, deadline time.Time) result {
	c := cs.conns[target]
	if c == nil {
		var err error
		if c, err = dial(e.bases[target].addr, deadline); err != nil {
			return fail("not connected: %v", err)
		}
		cs.conns[target] = c
	}
	key, value := base64.StdEncoding.EncodeToString([]byte(o.key)), base64.StdEncoding.EncodeToString([]byte(o.value))
	put := fields{"key": key, "value": value}
	var path string
	var body fields
	switch o.entry.Kind {
	case "put":
		path, body = "/v3/kv/put", put
	case "get":
		path, body = "/v3/kv/range", fields{"key": key, "serializable": e.serial}
	case "delete":
		path, body = "/v3/kv/deleterange", fields{"key": key}
	case "cas":
		compare := fields{"target": "VALUE", "result": "EQUAL", "key": key, "value": base64.StdEncoding.EncodeToString([]byte(o.expect))}
		path, body = "/v3/kv/txn", fields{"compare": []fields{compare}, "success": []fields{{"request_put": put}}}
	case "range_put":
		all := base64.StdEncoding.EncodeToString([]byte{0}) // from the first key to the last
		past := max(e.revision.Load()-e.back, 1)
		read := fields{"key": all, "range_end": all, "revision": strconv.FormatInt(past, 10), "limit": "10"}
		path, body = "/v3/kv/txn", fields{"success": []fields{{"request_put": put}, {"request_range": read}}}
	case "compact":
		path, body = "/v3/kv/compaction", fields{"revision": strconv.FormatInt(max(e.revision.Load(), 1), 10)}
	case "lease_put":
		granted, r := e.call(cs, target, c, "/v3/lease/grant", fields{"TTL": "3600"}, deadline)
		if granted == nil {
			if r.typ == history.Info { // no byte of the put was sent
				r = fail("the lease: %s", r.err)
			}
			return r
		}
		put["lease"] = granted.ID
		path, body = "/v3/kv/put", put
	}
	reply, r := e.call(cs, target, c, path, body, deadline)
	if reply == nil {
		return r
	}
	switch o.entry.Kind {
	case "get":
		if len(reply.KVs) == 0 {
			return ok("", false)
		}
		text, err := base64.StdEncoding.DecodeString(reply.KVs[0].Value)
		if err != nil {
			return info("a value that is not base64: %v", err)
		}
		return ok(string(text), true)
	case "delete":
		if reply.Deleted == "" {
			reply.Deleted = "0" // the gateway leaves out what is zero
		}
		return ok(reply.Deleted, false)
	case "cas":
		return ok(strconv.FormatBool(reply.Succeeded), false)
	case "range_put":
		if !reply.Succeeded {
			return info("a transaction without conditions did not succeed")
		}
	}
	return ok("", false)
}

// call sends one request. Without a reply, the result says what that proves of the request.
func (e *etcdDialect) call(cs *connections, target int, c *conn, path string, body fields, deadline time.Time) (*etcdReply, result) {
	text, err := json.Marshal(body)
	if err != nil {
		return nil, fail("%v", err)
	}
	sent, err := c.send(requestBytes(http.MethodPost, e.bases[target].host, path, "text/plain", text), deadline)
	if err != nil {
		cs.drop(target)
		if !sent {
			return nil, fail("not sent: %v", err)
		}
		return nil, info("sending: %v", err)
	}
	got, err := readReply(c, http.MethodPost, maxValueBytes)
	if err != nil || got.last || c.in.Buffered() > 0 {
		cs.drop(target) // what else comes on it would be taken for the answer to the next request
	}
	if err == nil && got == nil {
		err = errors.New("none")
	}
	if err != nil {
		return nil, info("no whole reply: %v", err)
	}
	var reply etcdReply
	if err := json.Unmarshal(got.body, &reply); err != nil {
		return nil, info("status %d, and a reply that is no JSON: %v", got.status, err)
	}
	switch {
	case got.status == http.StatusOK && reply.Code == nil && reply.Error == nil && reply.Header.Revision != "":
		e.learn(reply.Header.Revision)
		return &reply, result{}
	case reply.Code != nil && refusedGRPC(*reply.Code):
		return nil, fail("%s", reply.Message)
	case reply.Code != nil:
		return nil, info("%s", reply.Message)
	}
	return nil, info("status %d", got.status)
}

func (e *etcdDialect) learn(text string) {
	n, err := strconv.ParseInt(text, 10, 64)
	if err != nil {
		return
	}
	for seen := e.revision.Load(); n > seen && !e.revision.CompareAndSwap(seen, n); seen = e.revision.Load() {
	}
}

// refusedGRPC lists the codes of gRPC with which etcd says that a request is wrong or not allowed (api/v3rpc/rpctypes), and
// so did nothing: InvalidArgument, NotFound, AlreadyExists, PermissionDenied, ResourceExhausted, FailedPrecondition,
// OutOfRange (a revision that is compacted, or still to come), Unimplemented, Unauthenticated. Unavailable, DeadlineExceeded
// and the like may have come after a proposal.
func refusedGRPC(code int) bool {
	switch code {
	case 3, 5, 6, 7, 8, 9, 11, 12, 16:
		return true
	}
	return false
}
