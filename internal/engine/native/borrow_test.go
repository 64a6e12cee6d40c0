//go:build linux && amd64

package native_test

import (
	"strings"
	"testing"

	"github.com/bloodhound-dst/bloodhound/internal/testkit/needs"
	"github.com/bloodhound-dst/bloodhound/internal/world"
)

// Nodes that have the network of another share its loopback, ports, addresses and names, in whichever order they are listed; others
// reach what they serve at that address.
func TestBorrowedNetworks(t *testing.T) {
	needs.Program(t, "python3")
	serve := func(port, text string) string {
		return strings.NewReplacer("PORT", port, "TEXT", text).Replace(`exec python3 -c '
import socket
s = socket.create_server(("0.0.0.0", PORT))
while True:
    c, _ = s.accept(); c.sendall(b"TEXT"); c.close()'`)
	}
	ask := func(host, port string) string {
		return strings.NewReplacer("HOST", host, "PORT", port).Replace(`python3 -c '
import socket
try: print(socket.create_connection(("HOST", PORT)).recv(9))
except OSError as e: print(e.strerror)'; `)
	}
	s := &world.Spec{Dir: "/", StartUnixNs: 1735689600e9, MaxTimeNs: 9e9, TimeStepNs: 10e6, Cost: world.Cost{CallNs: 1000, ClockReadNs: 50},
		DefaultLink: world.Link{LatencyNs: 500e3}, Networks: []world.Network{{Name: "default", IPv4: "10.77.0.0/24", Gateway4: "10.77.0.1"}}}
	add := func(name, ip, of, script string) {
		n := world.Node{Name: name, Hostname: "app", Role: world.Server, Root: "host", WorkingDir: "/",
			Command: []string{"/bin/sh", "-c", script}, Env: []string{"PATH=/usr/bin:/bin"}, NetworkOf: of, IPv4: ip}
		if ip != "" {
			n.Hostname, n.Attachments = name, []world.Attachment{{Network: "default", Interface: "eth0", IPv4: ip}}
		}
		s.Nodes = append(s.Nodes, n)
	}
	add("side", "", "app", "sleep 1; "+ask("127.0.0.1", "80")+ask("other", "80")+"hostname; grep -c 10.77.0.2 /etc/hosts; "+serve("81", "side"))
	add("app", "10.77.0.2", "", `(sleep 2; `+ask("localhost", "81")+`) & `+serve("80", "app"))
	add("third", "", "side", "sleep 1.5; "+ask("127.0.0.1", "80")+
		`python3 -c 'import socket; socket.create_server(("", 80))' 2>&1 | grep -o "Address already in use"`)
	add("other", "10.77.0.3", "", "(sleep 3; "+ask("app", "80")+ask("app", "81")+") & "+serve("80", "other"))
	got := said(t, s)
	for node, want := range map[string]string{"side": "b'app'\nb'other'\napp\n1\n", "app": "b'side'\n",
		"third": "b'app'\nAddress already in use\n", "other": "b'app'\nb'side'\n"} {
		if got[node] != want {
			t.Errorf("%s printed\n%s\nwant\n%s", node, got[node], want)
		}
	}
}
