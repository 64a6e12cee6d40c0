package nodes

import (
	"fmt"
	"net/netip"
	"slices"
	"strconv"
	"strings"

	"github.com/bloodhound-dst/bloodhound/internal/config/keys"
	"github.com/bloodhound-dst/bloodhound/internal/config/load"
	"github.com/bloodhound-dst/bloodhound/internal/config/networks"
	"github.com/bloodhound-dst/bloodhound/internal/config/source"
	"github.com/bloodhound-dst/bloodhound/internal/world"
)

// hostOf is the name of the machine whose network a node has: as a rule its own.
func hostOf(l *load.State, d *load.Node) string {
	for range keys.MaxNodes {
		of, shares := strings.CutPrefix(source.ValueOr(d.Value.Get("network_mode"), ""), "service:")
		other := l.Node(of)
		if !shares || other == nil {
			break
		}
		d = other
	}
	return source.ValueOr(d.Value.Get("hostname"), d.Name)
}

// projectName is the name that a user gave the Compose project. That of its folder is not one: a run is the same wherever
// the project lies.
func projectName(l *load.State) string {
	e := l.Composed.Entry("name")
	if e == nil {
		return ""
	}
	if _, given := e.Key.File.Lookup("COMPOSE_PROJECT_NAME"); e.Implied && !given {
		return ""
	}
	return e.Value.Text
}

// names gathers further names of a node.
func names(l *load.State, d *load.Node) {
	key := d.Key
	if d.Of != "" {
		d.Spec.Aliases = append(d.Spec.Aliases, d.Of)
	}
	add := func(name string) {
		if name != d.Name && name != d.Spec.Hostname && !slices.Contains(d.Spec.Aliases, name) {
			d.Spec.Aliases = append(d.Spec.Aliases, name)
		}
	}
	service := l.ServiceOf(d)
	if c := d.Value.Get("container_name"); c != nil && service != d.Name {
		l.Fail(c.Position, "remove it, or set `scale: 1`", "%s.container_name: %s stands for several nodes, which cannot share a name", key, d.Of)
	} else if c != nil {
		name := l.HostName(c, key+".container_name", d.Name)
		for _, o := range l.Nodes {
			if o == d {
				break
			}
			if slices.Contains(o.Spec.Aliases, name) {
				l.Fail(c.Position, "use a unique name", "%s.container_name: node %s has the same name %q", key, o.Name, name)
			}
		}
		add(name)
	} else if project := projectName(l); project != "" && l.Composed.Get("services").Has(service) {
		add(fmt.Sprintf("%s-%s-%d", project, service, d.Index)) // what Compose calls the container
	}
	networks.ReadNetworks(l, d)
	if name := d.Value.Get("domainname"); name != nil {
		d.Spec.DomainName = l.HostName(name, key+".domainname", "")
	}
	search := d.Value.Get("dns_search")
	for _, name := range search.Words() {
		if name == "." { // Compose's word for none
			continue
		}
		if !keys.NodeName.MatchString(name) {
			l.Fail(search.Position, "use letters and digits, and - _ . after the first character", "%s: %q is not a valid domain",
				key+".dns_search", source.Shorten(name))
			continue
		}
		d.Spec.SearchDomains = append(d.Spec.SearchDomains, name)
	}
}

func extraHosts(l *load.State, d *load.Node) {
	key := d.Key + ".extra_hosts"
	hosts := d.Value.Get("extra_hosts")
	add := func(at source.Position, name, ip string) {
		ip = strings.Trim(strings.TrimSpace(ip), "[]")
		if ip == "host-gateway" {
			l.Fail(at, "make the server a node", "%s: a world has no connection to the outside, and so no host-gateway", key)
			return
		}
		addr, err := netip.ParseAddr(ip)
		if err != nil || !keys.NodeName.MatchString(name) {
			l.Fail(at, "write NAME=IP", "%s: %q needs a name and an address", key, source.Shorten(name+"="+ip))
			return
		}
		d.Spec.ExtraHosts = append(d.Spec.ExtraHosts, world.Host{Name: name, IP: addr.String()})
	}
	for _, item := range hosts.List() {
		name, ip, ok := strings.Cut(item.Text, "=")
		if !ok {
			name, ip, _ = strings.Cut(item.Text, ":")
		}
		add(item.Position, strings.TrimSpace(name), ip)
	}
	for _, e := range hosts.EntriesOf() {
		if !e.Value.Bad {
			for _, ip := range e.Value.Words() {
				add(e.Key.Position, e.Name, ip)
			}
		}
	}
}

// ports keeps which port of this machine stands for which port of the node, for targets that name localhost.
func ports(l *load.State, d *load.Node) {
	key := d.Key + ".ports"
	ports := d.Value.Get("ports")
	if ports == nil {
		return
	}
	l.Idle(d.Value.Entry("ports").Key.Position, key,
		"nodes reach each other on all ports, and the host cannot connect to a world; a target with localhost means the node that publishes its port")
	for _, item := range ports.List() {
		published, target := source.ValueOr(item.Get("published"), ""), source.ValueOr(item.Get("target"), "")
		if item.Kind == source.Scalar {
			parts := strings.Split(item.Text, ":")
			target, _, _ = strings.Cut(parts[len(parts)-1], "/")
			published = target
			if len(parts) > 1 {
				published = parts[len(parts)-2]
			}
		}
		p, err1 := portRange(published)
		t, err2 := portRange(target)
		if published == "" {
			p, err1 = t, err2
		}
		if err1 != nil || err2 != nil || p[1]-p[0] != t[1]-t[0] {
			l.Fail(item.Position, `write "8080:80"`, "%s: this needs a published port and a port of the node", key)
			continue
		}
		d.Ports = append(d.Ports, load.Ports{Published: p[0], Target: t[0], Count: t[1] - t[0] + 1})
	}
}

// portRange reads 80 or 80-89.
func portRange(s string) ([2]int, error) {
	from, to, ok := strings.Cut(s, "-")
	if !ok {
		to = from
	}
	a, err := strconv.ParseUint(from, 10, 16)
	if err != nil {
		return [2]int{}, err
	}
	b, err := strconv.ParseUint(to, 10, 16)
	if err == nil && b < a {
		err = strconv.ErrRange
	}
	return [2]int{int(a), int(b)}, err
}
