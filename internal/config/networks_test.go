package config

import (
	"fmt"
	"path/filepath"
	"strings"
	"testing"

	"github.com/bloodhound-dst/bloodhound/internal/world"
)

// shown are the interfaces of all nodes, one node a line.
func shown(r *Result) string {
	var b strings.Builder
	for _, n := range r.Spec.Nodes {
		fmt.Fprintf(&b, "%s %s:", n.Name, n.IPv4)
		for _, a := range n.Attachments {
			fmt.Fprintf(&b, " %s=%s", a.Interface, a.Network)
			for _, part := range append([]string{a.IPv4, a.IPv6, a.MAC}, a.Aliases...) {
				if part != "" {
					b.WriteString("," + part)
				}
			}
		}
		b.WriteString("\n")
	}
	return b.String()
}

// A stack with a front and a back, addresses of its own, and a workload, whose node reaches the whole stack.
func TestNetworks(t *testing.T) {
	dir := project(t, `bloodhound.yaml
compose: compose.yaml
workload: {driver: http, config: {target: "http://web.front:80"}}
links:
  - {between: [proxy, app], latency: 2ms}
  - {between: [proxy, loner], latency: 2ms}
`, `compose.yaml
name: Shop
services:
  proxy:
    command: x
    container_name: the-proxy
    mac_address: 02-42-AC-1C-00-05
    networks:
      front: {aliases: [web, proxy], priority: 10, gw_priority: 5}
      back: {ipv4_address: 172.28.0.2, interface_name: eth0}
      admin: null
    links: [db:store, app]
  app: {command: x, networks: [front, back], links: ["db:store"]}
  db:
    command: x
    networks: {data: {ipv6_address: "fd28::99"}, back: }
    links: ["loner:alone"]
  loner: {command: x, network_mode: none}
  legacy: {command: x, network_mode: bridge}
  agent: {command: x, network_mode: host, domainname: example.org, dns_search: [a.example, .]}
  plain: {command: x}
networks:
  front: {driver: bridge}
  back:
    ipam: {config: [{subnet: 172.28.0.0/16, ip_range: 172.28.0.0/29, aux_addresses: {printer: 172.28.0.3}}]}
  data: {internal: true, enable_ipv6: true, name: vault, ipam: {config: [{subnet: 10.77.0.0/23}, {subnet: "fd28::/120", gateway: "fd28::2"}]}}
  admin: {external: true, enable_ipv4: false, enable_ipv6: true}
  unused: {internal: true}
`)
	r := loaded(t, Options{Path: dir})
	const want = `proxy 10.77.3.2: eth1=front,10.77.3.2,02:42:ac:1c:00:05,web eth2=admin,fd77::2 eth0=back,172.28.0.2
app 172.28.0.4: eth0=back,172.28.0.4 eth1=front,10.77.3.3
db 172.28.0.5: eth0=back,172.28.0.5 eth1=data,10.77.0.2,fd28::99
loner :
legacy 10.77.4.2: eth0=bridge,10.77.4.2
agent 10.77.2.2: eth0=default,10.77.2.2 eth1=front,10.77.3.4 eth2=back,172.28.0.6 eth3=data,10.77.0.3,fd28::1 eth4=admin,fd77::3 eth5=bridge,10.77.4.3
plain 10.77.2.3: eth0=default,10.77.2.3
load 10.77.2.4: eth0=default,10.77.2.4 eth1=front,10.77.3.5 eth2=back,172.28.0.7 eth3=data,10.77.0.4,fd28::3 eth4=admin,fd77::4 eth5=bridge,10.77.4.4
`
	if got := shown(r); got != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
	var nets []string
	for _, n := range r.Spec.Networks {
		nets = append(nets, strings.TrimSpace(fmt.Sprintln(n.Name, n.FullName, n.IPv4, n.Gateway4, n.IPv6, n.Gateway6, n.Internal)))
	}
	if got, want := strings.Join(nets, "\n"), `default shop_default 10.77.2.0/24 10.77.2.1   false
front shop_front 10.77.3.0/24 10.77.3.1   false
back shop_back 172.28.0.0/16 172.28.0.1   false
data vault 10.77.0.0/23 10.77.0.1 fd28::/120 fd28::2 true
admin admin   fd77::/64 fd77::1 false
bridge bridge 10.77.4.0/24 10.77.4.1   false`; got != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
	if n := node1(t, r, "app"); len(n.ExtraHosts) != 1 || n.ExtraHosts[0] != (world.Host{Name: "store", IP: "172.28.0.5"}) {
		t.Errorf("links of app: %v", n.ExtraHosts)
	}
	if n := node1(t, r, "agent"); n.DomainName != "example.org" || len(n.SearchDomains) != 1 {
		t.Errorf("agent: %+v", n)
	}
	if n := node1(t, r, "proxy"); n.Attachments[0].GatewayPriority != 5 || len(n.Aliases) != 1 {
		t.Errorf("proxy: %+v", n)
	}
	if noted(r, "links[0]") {
		t.Error("a link between nodes that share a network is said to have no effect")
	}
	for _, part := range []string{"db and loner share no network", "networks.unused: accepted, no effect here",
		"networks.admin.external: accepted", "the node joins every network", "names resolve on it",
		"links[1]: accepted, no effect here: proxy and loner share no network"} {
		if !noted(r, part) {
			t.Errorf("nothing says %q: %v", part, r.Notes)
		}
	}
}

// Where nothing asks for more, all nodes share one network, in the form that old failures have.
func TestOneNetwork(t *testing.T) {
	for _, networks := range []string{"", "networks: {default: {}}", "networks: {default: null}",
		"networks: {default: {driver: bridge, labels: {a: b}, ipam: {}, name: shop_default}}",
		"networks: {other: {internal: true}}"} {
		for _, on := range []string{"", ", networks: [default]", ", networks: {default: null}",
			", networks: {default: {priority: 3, driver_opts: {a: b}, x-own: 1}}", ", networks: {}"} {
			dir := project(t, "compose.yaml\nservices: {a: {command: x"+on+"}, b: {command: x}}\n"+networks+"\n")
			r := loaded(t, Options{Path: dir + "/compose.yaml", Env: noEnv})
			if got, want := shown(r), "a 10.77.0.10:\nb 10.77.0.11:\n"; got != want || r.Spec.Networks != nil {
				t.Errorf("%q, %q: got\n%s\nwant\n%s", networks, on, got, want)
			}
		}
	}
	for _, special := range []string{"networks: {default: {internal: true}}", "networks: {default: {name: mine}}",
		"networks: {default: {external: true}}", "networks: {default: {enable_ipv6: true}}",
		"networks: {default: {ipam: {config: [{subnet: 10.9.0.0/16}]}}}"} {
		r := loaded(t, Options{Path: project(t, "compose.yaml\nservices: {a: {command: x}}\n"+special+"\n") + "/compose.yaml", Env: noEnv})
		if len(r.Spec.Networks) != 1 || len(r.Spec.Nodes[0].Attachments) != 1 {
			t.Errorf("%s: %+v", special, r.Spec.Networks)
		}
	}
}

// A later file adds to the networks of an earlier one.
func TestNetworksOfSeveralFiles(t *testing.T) {
	dir := project(t, `bloodhound.yaml
compose: [a.yaml, b.yaml]
networks: {back: {internal: true}, extra: {}}
nodes:
  web: {networks: {extra: {}}}
  user: {role: client, command: x}
`, `a.yaml
services: {web: {command: x, networks: {back: {aliases: [site]}}}}
networks: {back: {ipam: {config: [{subnet: 10.5.0.0/24}]}}}
`, `b.yaml
services: {db: {command: x, networks: [back]}}
networks: {back: null}
`)
	r := loaded(t, Options{Path: dir})
	const want = `web 10.5.0.2: eth0=back,10.5.0.2,site eth1=extra,10.77.0.2
db 10.5.0.3: eth0=back,10.5.0.3
user 10.5.0.4: eth0=back,10.5.0.4 eth1=extra,10.77.0.3
`
	if got := shown(r); got != want || !r.Spec.Networks[0].Internal {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
}

// A link to a service of several nodes is a name for all of them.
func TestLinksToReplicas(t *testing.T) {
	for networks, want := range map[string]string{"": "kv:10.77.0.11 kv:10.77.0.12", ", networks: [back]": "kv:10.77.0.3 kv:10.77.0.4"} {
		dir := project(t, "compose.yaml\nservices: {a: {command: x, links: [\"store:kv\"]"+networks+
			"}, store: {command: x, scale: 2"+networks+"}}\nnetworks: {back: {}}\n")
		var got []string
		for _, h := range node1(t, loaded(t, Options{Path: dir + "/compose.yaml", Env: noEnv}), "a").ExtraHosts {
			got = append(got, h.Name+":"+h.IP)
		}
		if strings.Join(got, " ") != want {
			t.Errorf("%q: %v, want %s", networks, got, want)
		}
	}
}

// A network that asks for no subnet gets one beside those of others, however large they are.
func TestSubnetsBesideLargeOnes(t *testing.T) {
	file := func() string {
		return project(t, "compose.yaml\nservices: {a: {command: x, networks: [big, small, six]}}\nnetworks:\n  small:\n  six: "+
			"{enable_ipv6: true, ipam: {config: [{subnet: \"fd77::/16\"}]}}\n"+
			"  big: {enable_ipv6: true, ipam: {config: [{subnet: 10.0.0.0/8}]}}\n") + "/compose.yaml"
	}
	r := loaded(t, Options{Path: file()})
	if got, want := shown(r), "a 10.0.0.2: eth0=big,10.0.0.2,fd78::2 eth1=six,172.16.1.2,fd77::2 eth2=small,172.16.0.2\n"; got != want {
		t.Errorf("got %s, want %s", got, want)
	}
	_, err := Load(Options{Path: project(t,
		"compose.yaml\nservices: {a: {command: x, networks: [big, b, c, small]}}\nnetworks: {small: {}, big: {ipam: {config: [{subnet: 10.0.0.0/8}]}}, "+
			"b: {ipam: {config: [{subnet: 172.0.0.0/8}]}}, c: {ipam: {config: [{subnet: 192.0.0.0/8}]}}}\n") + "/compose.yaml", Env: noEnv})
	if err == nil || !strings.Contains(err.Error(), "networks.small: no subnet is free") {
		t.Errorf("got %v", err)
	}
}

// A service may have the network of another, whose hostname it has then; one that cannot be shared is reported.
func TestNetworkOfAService(t *testing.T) {
	load := func(text string) (*Result, error) {
		dir := project(t, "compose.yaml\nservices:\n"+text+"\n")
		return Load(Options{ComposeFiles: []string{filepath.Join(dir, "compose.yaml")}, Images: anyImage})
	}
	r, err := load("  a: {image: x, network_mode: 'service:b'}\n  b: {image: x, hostname: boss}\n  z: {image: x, network_mode: 'service:a'}")
	if err != nil {
		t.Fatal(err)
	}
	for name, of := range map[string]string{"a": "b", "b": "", "z": "a"} {
		if n := node1(t, r, name); n.NetworkOf != of || n.Hostname != "boss" || (n.IPv4 == "") != (of != "") {
			t.Errorf("%s: network of %q, hostname %q, address %q", name, n.NetworkOf, n.Hostname, n.IPv4)
		}
	}
	for want, text := range map[string]string{
		`"db" is a Docker container`: "  a: {image: x, network_mode: 'container:db'}",
		`"b" stands for 2 nodes`:     "  a: {image: x, network_mode: 'service:b'}\n  b: {image: x, scale: 2}",
		"nodes depend on each": "  a: {image: x, network_mode: 'service:b', depends_on: [b]}\n  b: {image: x, " +
			"network_mode: 'service:a', depends_on: [a]}",
		`nobody`:                      "  a: {image: x, network_mode: 'service:nobody'}",
		"network_mode and networ":     "  a: {image: x, network_mode: 'service:b', networks: [default]}\n  b: {image: x}",
		"a.hostname cannot be set":    "  a: {image: x, network_mode: 'service:b', hostname: own}\n  b: {image: x}",
		"a.extra_hosts cannot be set": "  a: {image: x, network_mode: 'service:b', extra_hosts: ['k:10.0.0.1']}\n  b: {image: x}",
		"a.links cannot be set":       "  a: {image: x, network_mode: 'service:b', links: ['c:k']}\n  b: {image: x}\n  c: {image: x}",
		"a.mac_address cannot be set": "  a: {image: x, network_mode: 'service:b', mac_address: '02:42:ac:11:00:02'}\n  b: {image: x}",
	} {
		if _, err := load(text); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v, want %q", err, want)
		}
	}
}
