package load

import (
	"fmt"
	"net"
	"net/netip"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/bloodhound-dst/bloodhound/internal/config/source"
	"github.com/bloodhound-dst/bloodhound/internal/config/suggest"
	"github.com/bloodhound-dst/bloodhound/internal/world"
)

// ExpectedBody is the body that an answer must have, or nothing where any will do.
func (l *State) ExpectedBody(expect *source.Node, key string) string {
	text := source.ValueOr(expect.Get("body"), "")
	if body := expect.Get("body"); body != nil && strings.TrimSpace(text) == "" {
		l.Fail(body.Position, "remove it, or write the expected body", "%s.expect.body is empty, so the check would always pass", key)
	}
	return text
}

// OnlyFor complains about keys that mean something to another driver or type only.
func (l *State) OnlyFor(n *source.Node, key, what, is string, belongs map[string]string) {
	if n == nil {
		return
	}
	for _, e := range n.Entries {
		if to, ok := belongs[e.Name]; ok && !slices.Contains(strings.Fields(to), is) {
			l.Fail(e.Key.Position, "remove it", "%s.%s applies to %s %s, and this is %s", key, e.Key.Text, what, strings.Join(strings.Fields(to), " or "), is)
		}
	}
}

// Program reads a command whose program is a file of the project or is found in PATH.
func (l *State) Program(n *source.Node, key string) []string {
	words := l.Argv(n, key)
	if len(words) == 0 || words[0] == "" {
		return nil
	}
	words = slices.Clone(words)
	inDir := filepath.Join(l.Spec.Dir, words[0])
	switch _, err := os.Stat(inDir); {
	case strings.Contains(words[0], "/"):
		words[0] = l.Under(l.Spec.Dir, words[0])
	case err == nil:
		words[0] = inDir
	}
	return words
}

// ServerURL checks the URL of a node's server. host:port is enough. localhost means the node that publishes the port.
func (l *State) ServerURL(at source.Position, scheme, key, written string) (string, bool) {
	text := strings.TrimSpace(written)
	if !strings.Contains(text, "://") {
		text = scheme + "://" + text
	}
	u, err := url.Parse(text)
	if err != nil || u.Hostname() == "" {
		l.Fail(at, fmt.Sprintf("write %s://NODE:PORT", scheme), "%s: %q is not a URL", key, source.Shorten(written))
		return "", false
	}
	if u.Scheme != scheme {
		l.Fail(at, fmt.Sprintf("write %s://NODE:PORT", scheme), "%s: %q is not a URL of %s", key, source.Shorten(written), scheme)
		return "", false
	}
	if p := u.Port(); p != "" {
		if number, err := strconv.ParseUint(p, 10, 16); err != nil || number == 0 {
			l.Fail(at, "write a port from 1 to 65535", "%s: invalid port %s in %q", key, p, source.Shorten(written))
			return "", false
		}
	} else if scheme == "redis" {
		u.Host = net.JoinHostPort(u.Hostname(), "6379")
	}
	host := u.Hostname()
	addr, err := netip.ParseAddr(host)
	if host == "localhost" || err == nil && addr.IsLoopback() {
		return l.published(at, key, written, u)
	}
	if err == nil { // an address: of a node or of extra_hosts, which only the world can resolve
		return u.String(), true
	}
	if l.resolves(host) {
		l.listens(host, u)
		return u.String(), true
	}
	l.Fail(at, suggest.Remedy(host, l.NodeNames()), "%s: unknown node %q", key, source.Shorten(host))
	return "", false
}

// resolves reports whether a name is that of a node, alone or with the name of a network behind it.
func (l *State) resolves(host string) bool { return len(l.calledBy(host)) > 0 }

// calledBy gives the nodes to which a name resolves.
func (l *State) calledBy(host string) (list []*Node) {
	short := host
	if i := strings.LastIndexByte(host, '.'); i > 0 && l.Network(host[i+1:]) != nil {
		short = host[:i]
	}
	for _, d := range l.Nodes {
		if d.called(host) || d.called(short) {
			list = append(list, d)
		}
	}
	return list
}

// usualPorts are the ports of URLs that name none.
var usualPorts = map[string]int{"http": 80, "redis": 6379, "postgres": 5432, "postgresql": 5432, "mysql": 3306}

// listens notes that the servers of a name are expected to listen on the port of a URL.
func (l *State) listens(host string, u *url.URL) {
	port := usualPorts[u.Scheme]
	if p := u.Port(); p != "" {
		port, _ = strconv.Atoi(p)
	}
	for _, d := range l.calledBy(host) {
		if d.Spec.Role == world.Server && port != 0 && !slices.Contains(d.Spec.Ports, port) {
			d.Spec.Ports = append(d.Spec.Ports, port)
		}
	}
}

func (l *State) published(at source.Position, key, written string, u *url.URL) (string, bool) {
	number := 80
	if p := u.Port(); p != "" {
		number, _ = strconv.Atoi(p)
	}
	for _, d := range l.Nodes {
		for _, p := range d.Ports {
			if i := number - p.Published; i >= 0 && i < p.Count {
				u.Host = net.JoinHostPort(d.Name, strconv.Itoa(p.Target+i))
				l.listens(d.Name, u)
				l.Note(at, key, "%s means %s, which publishes port %d, since localhost is the node itself", written, u.Host, number)
				return u.String(), true
			}
		}
	}
	l.Fail(at, "use the name of a node: "+strings.Join(l.NodeNames(), ", "), "%s: localhost is the node itself, and no node publishes port %d", key, number)
	return "", false
}
