package workload

import (
	"cmp"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"strings"
	"time"

	"github.com/bloodhound-dst/bloodhound/world"
)

// ProbeTimeout bounds one probe.
const ProbeTimeout = 2 * time.Second

// maxShown is how many bytes of a wrong reply a probe prints.
const maxShown = 200

// probe performs one check of type http or redis, prints a line that says why, and returns the exit code.
func probe(text string, out io.Writer) int {
	var c world.Check
	if err := json.Unmarshal([]byte(text), &c); err != nil {
		fmt.Fprintf(out, "%s is no check: %v\n", EnvDriver, err)
		return world.ProbeFailed
	}
	deadline := time.Now().Add(ProbeTimeout)
	var code int
	var line string
	switch c.Type {
	case world.HTTPCheck:
		code, line = probeHTTP(&c, deadline)
	case world.RedisCheck:
		code, line = probeRedis(&c, deadline)
	default:
		code, line = world.ProbeFailed, fmt.Sprintf("a check of type %q cannot be probed", c.Type)
	}
	fmt.Fprintln(out, line)
	return code
}

func probeHTTP(c *world.Check, deadline time.Time) (int, string) {
	b, err := parseBase(c.Endpoint)
	if err != nil {
		return world.ProbeFailed, err.Error()
	}
	conn, err := dial(b.addr, deadline)
	if err != nil {
		return world.ProbeNoAnswer, fmt.Sprintf("%s: %v", c.Endpoint, err)
	}
	defer conn.Close()
	path := b.path
	if !strings.HasPrefix(path, "/") {
		path = "/" + path
	}
	if _, err := conn.send(requestBytes(http.MethodGet, b.host, path, ""), deadline); err != nil {
		return world.ProbeNoAnswer, fmt.Sprintf("%s: %v", c.Endpoint, err)
	}
	reply, err := readReply(conn, http.MethodGet)
	if reply == nil {
		return world.ProbeNoAnswer, fmt.Sprintf("%s: %v", c.Endpoint, err)
	}
	want := cmp.Or(c.ExpectStatus, http.StatusOK)
	if reply.status != want {
		return world.ProbeViolated, fmt.Sprintf("%s: status %d instead of %d", c.Endpoint, reply.status, want)
	}
	if c.ExpectBody != "" {
		if err != nil && err != errNoEnd {
			return world.ProbeNoAnswer, fmt.Sprintf("%s: no whole body: %v", c.Endpoint, err)
		}
		if body := strings.TrimSpace(string(reply.body)); body != strings.TrimSpace(c.ExpectBody) {
			return world.ProbeViolated, fmt.Sprintf("%s: body %q instead of %q", c.Endpoint, clip(body), c.ExpectBody)
		}
	}
	return world.ProbeHolds, fmt.Sprintf("%s: status %d", c.Endpoint, reply.status)
}

func probeRedis(c *world.Check, deadline time.Time) (int, string) {
	s, err := parseServer(c.Endpoint)
	if err != nil {
		return world.ProbeFailed, err.Error()
	}
	if len(c.Command) == 0 {
		return world.ProbeFailed, "the check has no command"
	}
	conn, _, err := (&redisDialect{}).connect(s, deadline)
	if err != nil {
		return world.ProbeNoAnswer, fmt.Sprintf("%s: %v", c.Endpoint, err)
	}
	defer conn.Close()
	reply, err := ask(conn, deadline, c.Command...)
	if err != nil {
		return world.ProbeNoAnswer, fmt.Sprintf("%s: %v", c.Endpoint, err)
	}
	got := strings.TrimSpace(reply.String())
	switch {
	case c.Expect != "" && got != strings.TrimSpace(c.Expect):
		return world.ProbeViolated, fmt.Sprintf("%s: %s says %q instead of %q", c.Endpoint, strings.Join(c.Command, " "), clip(got), c.Expect)
	case c.Expect == "" && reply.kind == '-':
		return world.ProbeViolated, fmt.Sprintf("%s: %s says %q", c.Endpoint, strings.Join(c.Command, " "), clip(got))
	}
	return world.ProbeHolds, fmt.Sprintf("%s: %s says %q", c.Endpoint, strings.Join(c.Command, " "), clip(got))
}

func clip(s string) string {
	if len(s) > maxShown {
		return s[:maxShown] + "..."
	}
	return s
}
