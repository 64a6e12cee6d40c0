// Package load has the state of a configuration that is being loaded, and the questions that all its readers ask: nodes and networks by
// name, replicas, the addresses of servers.
package load

import (
	"encoding/binary"
	"net/netip"
	"slices"
	"strings"

	"github.com/bloodhound-dst/bloodhound/internal/config/source"
	"github.com/bloodhound-dst/bloodhound/internal/image"
	"github.com/bloodhound-dst/bloodhound/internal/image/build"
	"github.com/bloodhound-dst/bloodhound/internal/world"
)

// Dockerfiles builds an image, or finds the one that was built before of the same parts.
type Dockerfiles func(r *build.Request) (*image.Image, error)

// Images finds the image that a node asks for by a name; relative paths in names start at dir. policy is Compose's
// pull_policy, or empty.
type Images func(name, dir, policy string) (*image.Image, error)

// Build is a command that builds programs of the project on this machine, before the first world boots.
type Build struct {
	Node string   `json:"node"` // the first node that asked for it
	Argv []string `json:"command"`
	Dir  string   `json:"dir"`                   // absolute
	Env  []string `json:"environment,omitempty"` // besides the user's own, NAME=value
}

// State is a configuration while it is loaded. It is plain data: each room of the loader adds what it reads.
type State struct {
	*source.Reader
	Spec *world.Spec
	// Images finds the images of nodes; nil: a node that needs one is an error.
	Images Images
	// Dockerfiles builds the images of services with a Dockerfile; nil: they must exist.
	Dockerfiles Dockerfiles
	// Describe asks no Images: a node has its image's name, and no setting of the image.
	Describe bool

	// Mode replaces `faults.mode`, and UsualMode stands for the section `faults` where there is none; empty: neither does.
	Mode, UsualMode string

	// Groups are the nodes with `count`, by the names of the nodes that they stand for.
	Groups map[string]Group
	Nodes  []*Node
	// LeftOut are nodes that no world has, by their profiles or a scale of 0. Others may be built from their images.
	LeftOut []*Node
	// Composed is the tree of the Compose files, nil without any.
	Composed *source.Node
	Networks []*Network
	Builds   []Build
	Places   map[Place]Location
	Building []string        // services whose images are being built, each for the one before it
	Lent     map[string]bool // sources of volumes that other nodes have by volumes_from
	Bridged  bool            // a note explains network_mode: bridge already
}

// Network is a network as it was written.
type Network struct {
	Name  string
	At    source.Position
	Value *source.Node // nil: the file has no such key
	// Implied says that it is Compose's own default one.
	Implied bool
	V4      Family
	V6      Family
	Spec    world.Network
}

// Family holds the IPv4 or the IPv6 half of a network: its subnet, and the addresses that are taken.
type Family struct {
	On     bool
	Given  bool // by the file, so that nodes may ask for addresses
	At     source.Position
	Subnet netip.Prefix
	Pool   netip.Prefix // what addresses are handed out from
	// Taken says of addresses whose they are.
	Taken map[netip.Addr]string
	Next  netip.Addr
}

// Want is a network that a node is to be on.
type Want struct {
	Network string
	Value   *source.Node // its options, or nil
	Aliases []string
	V4, V6  netip.Addr // that it asks for
}

// Text is the value of an option, or nil.
func (w *Want) Text(key string) *source.Node { return w.Value.Get(key) }

// Reserve keeps nodes from the address of the subnet itself and from its broadcast address.
func (f *Family) Reserve() {
	f.Taken[f.Subnet.Addr()] = "the subnet itself"
	if f.Subnet.Addr().Is4() {
		f.Taken[last(f.Subnet)] = "the subnet's broadcast address"
	}
}

// last is the highest address of an IPv4 subnet.
func last(p netip.Prefix) netip.Addr {
	b := p.Addr().As4()
	binary.BigEndian.PutUint32(b[:], binary.BigEndian.Uint32(b[:])|uint32(1<<(32-p.Bits())-1))
	return netip.AddrFrom4(b)
}

// Gateway sets the address of the gateway of a network.
func (f *Family) Gateway(n *Network, a netip.Addr) {
	f.Taken[a] = "the gateway"
	if a.Is4() {
		n.Spec.IPv4, n.Spec.Gateway4 = f.Subnet.String(), a.String()
	} else {
		n.Spec.IPv6, n.Spec.Gateway6 = f.Subnet.String(), a.String()
	}
}

// Group is a node that stands for several, by `count`.
type Group struct {
	Name string
	At   source.Position // its name
}

// Node is a node as it was written.
type Node struct {
	Name  string
	Of    string          // the service that it is a replica of, or the node whose `count` stands for it, or empty
	Index int             // which replica, from 1 on; also of a node of which there is one
	Key   string          // nodes.NAME or services.NAME
	At    source.Position // its name
	Value *source.Node
	Ports []Ports
	Image *image.Image // nil without one
	Nets  []Want       // the networks it is on, in the order of its interfaces
	// Everywhere: it is on all networks there are. offline: it is on none.
	Everywhere, Offline bool
	// Ours: it is no node of the user's, but a client for our drivers or checks.
	Ours bool
	Spec world.Node
}

// Ports are ports of a node that ports of this machine stand for, the first ones and how many.
type Ports struct{ Published, Target, Count int }

// called reports whether a node has a name, on some network at least.
func (d *Node) called(name string) bool {
	same := func(have string) bool { return strings.EqualFold(have, name) }
	return same(d.Name) || same(d.Spec.Hostname) || slices.ContainsFunc(d.Spec.Aliases, same) ||
		slices.ContainsFunc(d.Nets, func(w Want) bool { return slices.ContainsFunc(w.Aliases, same) })
}
