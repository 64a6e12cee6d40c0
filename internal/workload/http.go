package workload

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"

	"github.com/bloodhound-dst/bloodhound/history"
	"github.com/bloodhound-dst/bloodhound/internal/world"
)

// defaultPath is the path of an operation without one, below the target's own.
const defaultPath = "/kv/{key}"

// maxInterim bounds the 1xx replies before the final one.
const maxInterim = 5

// httpDialect speaks HTTP/1.1 over connections of its own: net/http's transport repeats requests by itself when a
// connection that was used before turns out to be closed (net/http, Transport), which would be a hidden retry.
type httpDialect struct {
	bases     []base
	putMethod string
	jsonField string // the field of JSON objects that holds the value, or empty
	trim      bool
	failed    []statusRange
}

// base is where a target's paths begin.
type base struct {
	host string // as the Host header says it
	addr string // host:port
	path string
}

// statusRange is an interval of HTTP status codes, both ends in it.
type statusRange struct{ low, high int }

func newHTTP(w *world.Workload) (dialect, error) {
	h := &httpDialect{putMethod: cmp.Or(w.Options["put_method"], http.MethodPut), jsonField: w.Options["json_field"]}
	if h.putMethod != http.MethodPut && h.putMethod != http.MethodPost {
		return nil, fmt.Errorf("put_method %q: use PUT or POST", h.putMethod)
	}
	if len(w.Targets) == 0 {
		return nil, fmt.Errorf("workload %q has no target; give one such as http://n1:8080", w.Name)
	}
	for _, t := range w.Targets {
		b, err := parseBase(t)
		if err != nil {
			return nil, err
		}
		if strings.Contains(b.path, "?") {
			return nil, fmt.Errorf("target %q has a query; put it into the path of each operation", t)
		}
		b.path = strings.TrimSuffix(b.path, "/")
		h.bases = append(h.bases, b)
	}
	for _, o := range w.Mix {
		if o.Path != "" && (!strings.HasPrefix(o.Path, "/") || !strings.Contains(o.Path, "{key}")) {
			return nil, fmt.Errorf("operation %s: path %q must start with / and contain {key}", o.Kind, o.Path)
		}
	}
	var err error
	if h.trim, err = option(w, "trim_space"); err != nil {
		return nil, err
	}
	h.failed, err = parseStatuses(w.Options["fail_status"])
	return h, err
}

func parseBase(target string) (base, error) {
	u, err := url.Parse(target)
	if err != nil {
		return base{}, err
	}
	if u.Scheme != "http" || u.Host == "" {
		return base{}, fmt.Errorf("target %q; it must be a URL such as http://n1:8080 (https is not supported)", target)
	}
	b := base{host: u.Host, addr: u.Host, path: u.EscapedPath()}
	if u.RawQuery != "" {
		b.path += "?" + u.RawQuery
	}
	if u.Port() == "" {
		b.addr = net.JoinHostPort(u.Hostname(), "80")
	}
	return b, nil
}

// parseStatuses reads "409, 500-503".
func parseStatuses(list string) ([]statusRange, error) {
	var ranges []statusRange
	for _, word := range strings.FieldsFunc(list, func(r rune) bool { return r == ',' || r == ' ' }) {
		from, to, isRange := strings.Cut(word, "-")
		if !isRange {
			to = from
		}
		low, err1 := strconv.Atoi(from)
		high, err2 := strconv.Atoi(to)
		if err1 != nil || err2 != nil || low < 300 || high > 599 || low > high {
			return nil, fmt.Errorf("fail_status %q: %q is not a status or a range of statuses from 300 to 599", list, word)
		}
		ranges = append(ranges, statusRange{low, high})
	}
	return ranges, nil
}

func (h *httpDialect) targets() int           { return len(h.bases) }
func (h *httpDialect) node(target int) string { return h.bases[target].host }

func (h *httpDialect) perform(cs *connections, target int, o *operation, deadline time.Time) result {
	b := h.bases[target]
	c := cs.conns[target]
	if c == nil {
		var err error
		if c, err = dial(b.addr, deadline); err != nil {
			return fail("not connected: %v", err)
		}
		cs.conns[target] = c
	}
	method := map[string]string{"put": h.putMethod, "get": http.MethodGet, "delete": http.MethodDelete}[strings.ToLower(o.entry.Kind)]
	path := b.path + strings.ReplaceAll(cmp.Or(o.entry.Path, defaultPath), "{key}", escape(o.key))
	sent, err := c.send(h.request(method, b.host, path, o.value), deadline)
	if err != nil {
		cs.drop(target)
		if !sent {
			return fail("not sent: %v", err)
		}
		return info("sending: %v", err)
	}
	reply, err := readReply(c, method, maxValueBytes)
	if err != nil || reply.last || c.in.Buffered() > 0 {
		cs.drop(target) // what else comes on it would be taken for the answer to the next request
	}
	if reply == nil {
		return info("no reply: %v", err)
	}
	r := h.judge(method, reply, err)
	if r.typ == history.Info {
		cs.drop(target)
	}
	return r
}

// escape makes a key fit for a path and for a query.
func escape(key string) string { return strings.ReplaceAll(url.QueryEscape(key), "+", "%20") }

// judge says what a reply proves. The status line is enough to know that a write was done; the result of a read needs
// its whole body.
func (h *httpDialect) judge(method string, reply *httpReply, bodyErr error) result {
	success := reply.status >= 200 && reply.status <= 299
	switch {
	case method == http.MethodGet && reply.status == http.StatusOK:
		if bodyErr != nil {
			return info("status 200, but no whole body: %v", bodyErr)
		}
		output, err := h.valueIn(reply.body)
		if err != nil {
			return info("status 200, but %v", err)
		}
		if h.trim {
			output = strings.TrimSpace(output)
		}
		return ok(output, true)
	case method == http.MethodGet && reply.status == http.StatusNotFound:
		return ok("", false)
	case method == http.MethodDelete && (success || reply.status == http.StatusNotFound), method == h.putMethod && success:
		return ok("", false)
	}
	for _, f := range h.failed {
		if reply.status >= f.low && reply.status <= f.high {
			return fail("status %d", reply.status)
		}
	}
	return info("status %d", reply.status)
}

// valueIn extracts the value from the body of a read: all of it, or one field of a JSON object.
func (h *httpDialect) valueIn(body []byte) (string, error) {
	if h.jsonField == "" {
		return string(body), nil
	}
	var document map[string]json.RawMessage
	if err := json.Unmarshal(body, &document); err != nil {
		return "", fmt.Errorf("its body is not a JSON object: %w", err)
	}
	raw, found := document[h.jsonField]
	if !found {
		return "", fmt.Errorf("its body has no field %q", h.jsonField)
	}
	var text string
	if json.Unmarshal(raw, &text) == nil {
		return text, nil
	}
	return string(raw), nil // a number, say
}

// request encodes a request, with the value in its body if the method has one.
func (h *httpDialect) request(method, host, path, value string) []byte {
	if h.jsonField == "" {
		return requestBytes(method, host, path, "text/plain", []byte(value))
	}
	body, _ := json.Marshal(map[string]string{h.jsonField: value}) // texts can always be written
	return requestBytes(method, host, path, "application/json", body)
}

func requestBytes(method, host, path, contentType string, body []byte) []byte {
	var b bytes.Buffer
	fmt.Fprintf(&b, "%s %s HTTP/1.1\r\nHost: %s\r\nUser-Agent: bloodhound\r\n", method, path, host)
	if method != http.MethodPut && method != http.MethodPost {
		b.WriteString("\r\n")
		return b.Bytes()
	}
	fmt.Fprintf(&b, "Content-Type: %s\r\nContent-Length: %d\r\n", contentType, len(body))
	b.WriteString("\r\n")
	b.Write(body)
	return b.Bytes()
}

type httpReply struct {
	status int
	body   []byte
	last   bool // the connection cannot be used again
}

// errNoEnd: a body that ends with its connection looks the same when a dying server cuts it.
var errNoEnd = errors.New("its end cannot be told from a cut connection; the server must send Content-Length or chunks")

// readReply reads one reply, with a body up to a bound. With an error and a reply, the body is not whole; with an error alone, there is none.
func readReply(c *conn, method string, maxBytes int) (*httpReply, error) {
	request := &http.Request{Method: method}
	for range maxInterim {
		r, err := http.ReadResponse(c.in, request)
		if err != nil {
			return nil, err
		}
		if r.StatusCode < 200 && r.StatusCode != http.StatusSwitchingProtocols {
			r.Body.Close()
			continue
		}
		reply := &httpReply{status: r.StatusCode, last: r.Close}
		reply.body, err = io.ReadAll(io.LimitReader(r.Body, int64(maxBytes)+1))
		switch {
		case err != nil:
		case len(reply.body) > maxBytes:
			err = fmt.Errorf("more than %d bytes", maxBytes)
		case r.ContentLength < 0 && len(r.TransferEncoding) == 0:
			err = errNoEnd
		}
		return reply, err
	}
	return nil, fmt.Errorf("more than %d interim replies", maxInterim)
}

// option is whether an option of a workload is true; without it, it is not.
func option(w *world.Workload, name string) (bool, error) {
	switch v := w.Options[name]; v {
	case "", "false":
		return false, nil
	case "true":
		return true, nil
	default:
		return false, fmt.Errorf("%s %q; it is true or false", name, v)
	}
}
