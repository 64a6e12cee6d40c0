package vm

import (
	"context"
	"errors"
	"fmt"
	"hash/fnv"
	"net/netip"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/bloodhound-dst/bloodhound/internal/engine"
	"github.com/bloodhound-dst/bloodhound/internal/engine/director"
	"github.com/bloodhound-dst/bloodhound/internal/engine/vm/wire"
	"github.com/bloodhound-dst/bloodhound/internal/tape"
	"github.com/bloodhound-dst/bloodhound/internal/world"
)

// Engine is the engine vm.
type Engine struct {
	once sync.Once
	plan plan // of all virtual machines of this process
	// files lists the files of this machine from which each virtual machine is made, except this program, whose version
	// a run records.
	files []string
	err   error
}

// shared is the one Engine of this process: its worlds have the same first files.
var shared = &Engine{}

// New gives the engine vm.
func New() *Engine { return shared }

// defaultBytes is the guest's memory, unless simulation.limits.world_memory_bytes says otherwise. The machine gives what is used.
const (
	defaultBytes = 1 << 30
	leastBytes   = 256 << 20
)

func (*Engine) bytes(spec *world.Spec) int64 {
	if b := spec.Limits.WorldBytes; b > 0 {
		return max(b, leastBytes) >> 20 << 20
	}
	return defaultBytes
}

// prepare finds what virtual machines are made of.
func (e *Engine) prepare(self string) (plan, error) {
	e.once.Do(func() {
		e.err = func() error {
			if folder := os.Getenv(RootVariable); folder != "" {
				if info, err := os.Stat(folder); err != nil || !info.IsDir() {
					return fmt.Errorf("the nodes' files: %s is not a folder; give one with --base-image", folder)
				}
			}
			var err error
			if e.plan.qemu, err = findQEMU(); err != nil {
				return err
			}
			k, err := findKernel()
			if err != nil {
				return err
			}
			list, err := k.load()
			if err != nil {
				return err
			}
			if !isKernel(k.file) {
				return fmt.Errorf("the kernel: %s is not a Linux kernel for x86-64; give a file vmlinuz-VERSION "+
					"with --kernel, or download one with `bloodhound image pull-kernel`", k.file)
			}
			e.plan.kernel, e.plan.append = k.file, commandLine
			e.files = []string{e.plan.qemu, k.file}
			if first := os.Getenv(InitrdVariable); first != "" {
				e.files = append(e.files, first)
			}
			for _, m := range list {
				e.files = append(e.files, m.file)
			}
			if e.plan.initrd, err = memory("initrd"); err != nil {
				return err
			}
			var disk []byte
			if mke2fs, ok := findMke2fs(); ok {
				if disk, err = emptyDisk(mke2fs); err != nil {
					return err
				}
			}
			return lackOf(writeInitrd(e.plan.initrd, self, list, disk))
		}()
	})
	return e.plan, e.err
}

// world makes a World without a virtual machine.
func (e *Engine) world(spec *world.Spec, t tape.Tape, o engine.Options) (*World, error) {
	spec, warnings := capabilities.Supported(spec)
	w := &World{spec: spec, options: o, engine: e, started: time.Now(), tape: tape.NewSource(t)}
	w.tape.Watch(o.Draws)
	w.tape.Clock(func() int64 { return w.NowNs })
	setting, err := director.Prepare(spec)
	if err != nil {
		return nil, err
	}
	if p := setting.Faults(); len(p.Watches()) > 0 || p.Asks(world.AfterReply, world.InRecovery, world.InTransfer, world.InOperation) {
		return nil, errors.New("the engine vm cannot inject faults at actions of programs; use --engine native")
	}
	w.Nodes = make([]nodeState, len(spec.Nodes))
	w.Links = map[[2]int]wire.Link{}
	w.Out.Warnings = warnings
	w.director = setting.New(w.tape, w.actuator(), &w.Out)
	return w, nil
}

// Boot boots the virtual machine of a world, and makes its nodes. No program of theirs has run.
func (e *Engine) Boot(spec *world.Spec, t tape.Tape, o engine.Options) (engine.World, error) {
	w, err := e.world(spec, t, o)
	if err != nil {
		return nil, err
	}
	if err := w.boot(); err != nil {
		w.Close()
		return nil, err
	}
	return w, nil
}

func (w *World) boot() error {
	p, err := w.engine.prepare(w.options.Driver)
	if err != nil {
		return err
	}
	for _, name := range w.engine.files {
		w.note(name)
	}
	p.bytes, p.async = w.engine.bytes(w.spec), inRealTime()
	if p.ram, err = blank(p.bytes); err != nil {
		return err
	}
	if w.recording != nil {
		p.log, p.drive = w.recording.plan.log, w.recording.plan.drive
		w.recording.plan = p
	}
	m, err := start(p)
	if err != nil {
		p.ram.Close()
		return err
	}
	w.machine = m
	if err := m.mon.send("cont", nil); err != nil {
		return err
	}
	kind, request, err := w.next()
	if err != nil {
		return err
	}
	if kind != wire.Turn {
		return fmt.Errorf("the virtual machine's first request has the wrong kind, %d", kind)
	}
	if _, err := w.turn(request); err != nil {
		return err
	}
	w.NowNs = 0
	setup, err := w.setup()
	if err != nil {
		return err
	}
	w.reseed()
	w.Seeded = false
	seed := w.Acts
	w.Acts = nil
	r, err := w.actuator().call(wire.Act{Kind: wire.DoSetup, Setup: setup})
	if err == nil && r.Error != "" {
		err = fmt.Errorf("cannot create the nodes in the virtual machine: %s", r.Error)
	}
	w.Acts = append(seed, w.Acts...)
	return err
}

// setup tells the agent what to prepare.
func (w *World) setup() (*wire.Setup, error) {
	s := &wire.Setup{StartUnixNs: w.spec.StartUnixNs}
	if losesPower(w.spec) {
		s.DiskBytes = diskBytes
	}
	for i := range w.spec.Nodes {
		n, err := w.node(i)
		if err != nil {
			return nil, fmt.Errorf("node %s: %w", w.spec.Nodes[i].Name, err)
		}
		s.Nodes = append(s.Nodes, *n)
	}
	for i := range w.spec.Nodes {
		for k := range w.spec.Nodes {
			if i != k {
				l := w.plain(i, k)
				w.Links[[2]int{i, k}] = l
				s.Links = append(s.Links, l)
			}
		}
	}
	return s, nil
}

// plant adds a tree, unless there is one like it.
func (w *World) plant(t tree) int {
	if i := slices.IndexFunc(w.trees, func(o *tree) bool {
		return o.root == t.root && o.machine == t.machine && o.image == t.image && o.empty == t.empty
	}); i >= 0 {
		return i
	}
	t.startNs, t.hidden, t.then = w.spec.StartUnixNs, w.options.Hidden, w.options.Then.LookupAt(w.spec.Dir)
	t.undated = append(t.undated, w.spec.Dir, w.options.Driver)
	w.trees = append(w.trees, &t)
	return len(w.trees) - 1
}

// root is the tree that lies underneath all of a node.
func (w *World) root(n *world.Node) (tree, error) {
	machine := os.Getenv(RootVariable)
	if machine == "" {
		machine = "/"
	}
	switch {
	case n.Image != nil && w.options.Images == nil:
		return tree{}, fmt.Errorf("there is no image store to take %s from", n.Image.Name)
	case n.Image != nil:
		root, err := w.options.Images.Root(context.Background(), n.Image.ID)
		return tree{image: root}, err
	case n.HasMachineFiles() || n.Root == world.NoRoot && len(n.Command) == 0: // our own drivers may need libraries
		return tree{root: machine, machine: true}, nil
	case n.Root == world.NoRoot:
		return tree{empty: true}, nil
	}
	return tree{root: n.Root}, nil
}

func (w *World) node(i int) (*wire.Node, error) {
	n := &w.spec.Nodes[i]
	root, err := w.root(n)
	if err != nil {
		return nil, err
	}
	out := &wire.Node{Name: n.Name, Hostname: n.Hostname, Domain: n.DomainName, Tree: w.plant(root), ReadOnly: n.ReadOnly,
		Dir: n.WorkingDir, NetOf: i, Memory: n.Bounds.MemoryBytes, Tasks: n.Bounds.Tasks,
		CPUPPM: n.Bounds.CPUPPM, ShmBytes: n.Bounds.ShmBytes}
	for range w.spec.Nodes { // that one may have borrowed it itself
		if name := w.spec.Nodes[out.NetOf].NetworkOf; name != "" {
			if out.NetOf = w.actuator().nodeID(name); out.NetOf < 0 {
				return nil, fmt.Errorf("it shares the network of %s, which does not exist", name)
			}
		}
	}
	if root.machine {
		if _, ok := world.Emptied(w.spec.Dir); ok || strings.Contains(w.spec.Dir+"/", "/"+stateFolder+"/") {
			out.Volumes = append(out.Volumes, wire.Volume{Target: w.spec.Dir, Tree: w.plant(tree{root: w.spec.Dir})})
		}
	}
	for k := range n.Volumes {
		v, err := w.volume(n, &n.Volumes[k])
		if err != nil {
			return nil, fmt.Errorf("volume %s: %w", n.Volumes[k].Target, err)
		}
		out.Volumes = append(out.Volumes, *v)
	}
	if out.NICs, err = w.interfaces(n); err != nil {
		return nil, err
	}
	for _, s := range n.Sysctls {
		out.Sysctls = append(out.Sysctls, wire.File{Path: strings.ReplaceAll(s.Name, ".", "/"), Text: []byte(s.Value)})
	}
	files := [][2]string{{"/etc/hosts", w.hosts(i)}, {"/etc/host.conf", "multi on\n"}, {"/etc/resolv.conf", ""},
		{"/etc/hostname", n.Hostname + "\n"}, {"/etc/machine-id", machineID(n.Name)}}
	if n.HasMachineFiles() {
		files = append(files, [2]string{"/etc/nsswitch.conf", nameServices})
	}
	for _, f := range files {
		out.Files = append(out.Files, wire.File{Path: f[0], Text: []byte(f[1])})
	}
	return out, nil
}

// nameServices is nsswitch.conf(5) of nodes with the machine's files: the machine's names services that no world has.
const nameServices = "passwd: files\ngroup: files\nshadow: files\nhosts: files dns\nnetworks: files\nprotocols: files\nservices: files\nrpc: files\n"

func machineID(name string) string {
	h := fnv.New128a()
	h.Write([]byte(name))
	return fmt.Sprintf("%x\n", h.Sum(nil))
}

func (w *World) volume(n *world.Node, v *world.Volume) (*wire.Volume, error) {
	out := &wire.Volume{Target: filepath.Clean(v.Target), Tree: -1, ReadOnly: v.ReadOnly, Mode: v.Mode, UID: v.UID, GID: v.GID, SizeBytes: v.SizeBytes}
	lent := v.From != "" || slices.ContainsFunc(w.spec.Nodes, func(o world.Node) bool {
		return slices.ContainsFunc(o.Volumes, func(x world.Volume) bool { return x.From == n.Name && x.Source == v.Source })
	})
	if v.Shared || lent && v.Kind == world.Named {
		h := fnv.New64a()
		fmt.Fprintf(h, "%s %s", v.Kind, v.Source)
		out.Shared = fmt.Sprintf("%x", h.Sum(nil))
	}
	switch v.Kind {
	case world.File:
		mode := v.Mode
		if mode == 0 {
			mode = 0o444
		}
		out.File = &wire.File{Text: v.Content, Mode: mode, UID: v.UID, GID: v.GID}
	case world.Tmpfs:
		out.Tmpfs = true
		if out.Mode == 0 {
			out.Mode = 0o1777
		}
	case world.Bind:
		info, err := os.Stat(v.Source)
		if err != nil {
			return nil, err
		}
		t := tree{root: v.Source, undated: []string{v.Source}}
		out.Single = !info.IsDir()
		out.Tree = w.plant(t)
	default:
		out.FromImage = n.Image != nil && !v.NoCopy
	}
	return out, nil
}

// prefix is an address with the length of its network's prefix.
func prefix(addr, subnet string, otherwise int) string {
	if addr == "" {
		return ""
	}
	if a, _, ok := strings.Cut(addr, "/"); ok {
		addr = a
	}
	bits := otherwise
	if p, err := netip.ParsePrefix(subnet); err == nil {
		bits = p.Bits()
	}
	return fmt.Sprintf("%s/%d", addr, bits)
}

func (w *World) interfaces(n *world.Node) (list []wire.NIC, err error) {
	if len(w.spec.Networks) == 0 {
		return []wire.NIC{{Name: "eth0", IPv4: prefix(n.IPv4, "", 16), IPv6: prefix(n.IPv6, "", 64)}}, nil
	}
	for _, a := range n.Attachments {
		i := slices.IndexFunc(w.spec.Networks, func(x world.Network) bool { return x.Name == a.Network })
		if i < 0 {
			return nil, fmt.Errorf("there is no network %s", a.Network)
		}
		net := &w.spec.Networks[i]
		list = append(list, wire.NIC{Name: a.Interface, IPv4: prefix(a.IPv4, net.IPv4, 16), IPv6: prefix(a.IPv6, net.IPv6, 64), Net: i})
	}
	return list, nil
}

// hosts is /etc/hosts of a node: all names that it can reach.
func (w *World) hosts(i int) string {
	var b strings.Builder
	b.WriteString("127.0.0.1\tlocalhost\n::1\tlocalhost ip6-localhost ip6-loopback\n")
	self := &w.spec.Nodes[i]
	for _, h := range self.ExtraHosts {
		fmt.Fprintf(&b, "%s\t%s\n", h.IP, h.Name)
	}
	line := func(addr string, names []string) {
		if addr, _, _ = strings.Cut(addr, "/"); addr != "" && len(names) > 0 {
			fmt.Fprintf(&b, "%s\t%s\n", addr, strings.Join(names, " "))
		}
	}
	names := func(n *world.Node, more []string) (list []string) {
		for _, name := range slices.Concat([]string{n.Hostname, n.Name}, n.Aliases, more) {
			if name != "" && !slices.Contains(list, name) {
				list = append(list, name)
			}
		}
		return list
	}
	for k := range w.spec.Nodes {
		n := &w.spec.Nodes[k]
		at := n
		for range w.spec.Nodes { // it may have the network of another
			if o := w.actuator().nodeID(at.NetworkOf); at.NetworkOf != "" && o >= 0 {
				at = &w.spec.Nodes[o]
			}
		}
		if len(w.spec.Networks) == 0 {
			line(at.IPv4, names(n, nil))
			line(at.IPv6, names(n, nil))
			continue
		}
		for _, a := range at.Attachments {
			if !slices.ContainsFunc(self.Attachments, func(o world.Attachment) bool { return o.Network == a.Network }) {
				continue
			}
			all := a.Aliases
			if !a.Unnamed {
				all = names(n, a.Aliases)
			}
			line(a.IPv4, all)
			line(a.IPv6, all)
		}
	}
	return b.String()
}
