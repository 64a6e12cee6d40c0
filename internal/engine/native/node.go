//go:build linux && amd64

package native

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"os"
	"slices"
	"strings"

	"github.com/bloodhound-dst/bloodhound/internal/engine/native/errno"
	"github.com/bloodhound-dst/bloodhound/internal/engine/native/fs"
	"github.com/bloodhound-dst/bloodhound/internal/engine/native/host"
	"github.com/bloodhound-dst/bloodhound/internal/engine/native/kernel"
	"github.com/bloodhound-dst/bloodhound/internal/engine/native/linux"
	"github.com/bloodhound-dst/bloodhound/internal/fault"
	"github.com/bloodhound-dst/bloodhound/internal/image/rootfs"
	"github.com/bloodhound-dst/bloodhound/internal/world"
)

// needed reports whether programs must see the project's folder although it lies below an emptied one, or in a state
// folder.
func (w *World) needed() bool {
	_, ok := world.Emptied(w.spec.Dir)
	return ok || strings.Contains(w.spec.Dir+"/", "/"+fs.StateFolder+"/")
}

var profiles = map[string]fs.Profile{"": fs.Ext4Ordered, "ext4-ordered": fs.Ext4Ordered, "posix-minimal": fs.PosixMinimal}

// losesPower reports whether a power loss may happen: only then do disks keep account of what is not durable.
func (w *World) losesPower() bool {
	return w.spec.Faults.Enabled && fault.LosesPower(&w.spec.Faults)
}

// furnishNode lays out the files of a node. Of a folder .bloodhound, where the command line keeps what changes from
// run to run, nodes see only bin (see fs).
func (w *World) furnishNode(node *kernel.Node, n *world.Node) error {
	c := fs.Config{StartNs: node.OffsetNs, QuotaBytes: w.spec.Limits.MemoryBytes}
	if c.QuotaBytes == 0 {
		c.QuotaBytes = defaultBytes
	}
	lower, err := w.root(n)
	if err != nil {
		return err
	}
	layers := append([]host.Layer{lower}, w.shared.layers...) // the latter at the same places in all nodes
	under := func(l host.Layer) int {
		layers = append(layers, l)
		return len(layers) - 1
	}
	c.Contained = n.Image != nil
	c.ReadOnly, c.ShmBytes = n.ReadOnly, n.Bounds.ShmBytes
	c.Undated = []string{w.spec.Dir, w.options.Driver}
	if lower.Path == "/" && w.needed() {
		c.Volumes = append(c.Volumes, fs.Volume{Target: w.spec.Dir, Layer: under(host.Layer{Path: w.spec.Dir})})
	}
	for _, v := range n.Volumes {
		m := fs.Volume{Target: v.Target, Layer: fs.NoLayer, ReadOnly: v.ReadOnly || v.Kind == world.File, Tmpfs: v.Kind == world.Tmpfs,
			File: v.Kind == world.File, Content: v.Content, Mode: v.Mode, UID: v.UID, GID: v.GID, SizeBytes: v.SizeBytes}
		if v.Kind == world.Bind {
			c.Undated = append(c.Undated, v.Source)
		}
		if number := w.shared.number(&v); number > 0 {
			m.Shared, m.Layer = number, w.shared.layer(number)
		} else if l, ok := w.beginning(&v, lower); ok {
			m.Layer = under(l)
		}
		c.Volumes = append(c.Volumes, m)
	}
	if w.options.Driver != "" {
		self := under(host.Layer{Path: w.options.Driver, Ours: true})
		for _, path := range []string{linux.Self, linux.StopFaults} {
			c.Volumes = append(c.Volumes, fs.Volume{Target: path, Layer: self, ReadOnly: true})
		}
	}
	for _, l := range layers {
		c.Layers = append(c.Layers, l.Path)
	}
	base, err := host.NewBase(layers, w.options.Hidden, w.spec.Dir, w.options.Then, &w.real.Lack)
	if err != nil {
		return err
	}
	k := w.kernel
	w.real.Bases = append(w.real.Bases, base)
	k.Handles.Bases = append(k.Handles.Bases, base)
	env := k.TreeEnv(node)
	if node.FS, err = fs.NewMember(env, c, k.Shared, int(node.ID)); err != nil {
		return &layoutError{err}
	}
	if n.Image != nil && n.WorkingDir != "" {
		// As container engines do, also where the root is read-only. A folder that cannot be made is reported when a program starts there.
		node.FS.MakeFolder(env, n.WorkingDir)
	}
	if w.losesPower() {
		defer func() { node.FS.StartJournal(profiles[w.spec.Faults.DiskProfile]) }()
	}
	files := [][2]string{{"/etc/hosts", k.Net.HostsFile(node.Net)}, {"/etc/resolv.conf", k.Net.ResolvConf(node.Net)},
		{"/etc/hostname", n.Hostname + "\n"}, {"/etc/machine-id", machineID(n.Name)}, {voidstarPath, string(voidstar)}}
	if n.HasMachineFiles() {
		files = append(files, [2]string{"/etc/nsswitch.conf", nameServices})
	}
	return w.serve(node, files)
}

// nameFiles writes the files of a node by which names are resolved.
func (w *World) nameFiles(node *kernel.Node) error {
	journal := node.FS.Journal.On
	node.FS.Journal.On = false
	defer func() { node.FS.Journal.On = journal }()
	return w.serve(node, [][2]string{{"/etc/hosts", w.kernel.Net.HostsFile(node.Net)}, {"/etc/resolv.conf", w.kernel.Net.ResolvConf(node.Net)}})
}

// serve puts files of the engine's own into a node's tree.
func (w *World) serve(node *kernel.Node, files [][2]string) error {
	for _, f := range files {
		e := node.FS.Inject(w.kernel.TreeEnv(node), f[0], []byte(f[1]))
		if e != errno.OK && !(e == errno.EBUSY && f[0] == voidstarPath) { // a volume is in its place
			return fmt.Errorf("%s: %w", f[0], e)
		}
	}
	return nil
}

// nameServices is nsswitch.conf(5) of nodes with the machine's files: the machine's names services that no world has, and most static
// programs would read nothing else of the machine.
const nameServices = "passwd: files\ngroup: files\nshadow: files\nhosts: files dns\nnetworks: files\nprotocols: files\nservices: files\nrpc: files\n"

// inheritVolumes gives a node that starts the volumes that others have filled before it.
func (w *World) inheritVolumes(i int) error {
	n, k := &w.spec.Nodes[i], w.kernel
	for _, v := range n.Volumes {
		if v.From == "" {
			continue
		}
		from := w.nodeID(v.From)
		if from < 0 {
			return fmt.Errorf("volume %s: there is no node %s", v.Source, v.From)
		}
		there := slices.IndexFunc(w.spec.Nodes[from].Volumes, func(o world.Volume) bool { return o.Kind == world.Named && o.Source == v.Source })
		if there < 0 {
			return fmt.Errorf("volume %s: node %s does not have it", v.Source, v.From)
		}
		source, target := k.Nodes[from], k.Nodes[i]
		fromEnv, env := *k.TreeEnv(source), *k.TreeEnv(target)
		empty, e := target.FS.CopyVolume(&env, v.Target, source.FS, &fromEnv, w.spec.Nodes[from].Volumes[there].Target)
		if e != errno.OK {
			return fmt.Errorf("node %s: volume %s of node %s: %w", n.Name, v.Source, v.From, e)
		}
		if empty {
			w.outcome.Warnings = append(w.outcome.Warnings, fmt.Sprintf("%s: the volume %s is empty, though %s completed before", n.Name, v.Source, v.From))
		}
	}
	return nil
}

// root returns the layer under the whole of a node's tree.
func (w *World) root(n *world.Node) (host.Layer, error) {
	switch {
	case n.Image != nil && w.options.Images == nil:
		return host.Layer{}, fmt.Errorf("node %s: there is no image store to take %s from", n.Name, n.Image.Name)
	case n.Image != nil:
		root, err := w.options.Images.Root(context.Background(), n.Image.ID)
		if err != nil {
			return host.Layer{}, fmt.Errorf("node %s: image %s: %w", n.Name, n.Image.Name, err)
		}
		return host.Layer{Path: imageScheme + n.Image.ID, Image: root}, nil
	case n.Root == world.NoRoot && len(n.Command) == 0 && w.needsLibraries(): // for our drivers, which alone run there
		return host.Layer{Path: "/"}, nil
	case n.Root == world.NoRoot:
		return host.Layer{Path: world.NoRoot, Image: nothing}, nil
	case n.HasMachineFiles():
		return host.Layer{Path: "/"}, nil
	}
	return host.Layer{Path: n.Root}, nil
}

// needsLibraries reports whether this program, which drivers and checks are, was built to have libraries of the machine.
func (w *World) needsLibraries() bool {
	f, err := os.Open(w.options.Driver)
	if err != nil {
		return false
	}
	defer f.Close()
	loader, _ := host.Interpreter(int(f.Fd()))
	return loader != ""
}

// nothing is the tree of world.NoRoot. What every node has is mounted over it.
var nothing = &rootfs.Root{Tree: rootfs.NewTree()}

// imageScheme begins the name of a layer that is an image, where others are named by their path.
const imageScheme = "image:"

// layoutError says that a node's tree cannot be laid out as its volumes ask.
type layoutError struct{ error }

func machineID(name string) string {
	sum := sha256.Sum256([]byte(name))
	return hex.EncodeToString(sum[:16]) + "\n"
}

// credentials finds the user that a node's programs run as, and its groups.
func (w *World) credentials(id kernel.NodeID, n *world.Node) (kernel.Cred, error) {
	var cred kernel.Cred
	groups := ""
	if n.User != "" || len(n.Groups) > 0 {
		groups = w.readFile(id, "/etc/group")
	}
	if n.User != "" {
		var err error
		if cred, err = linux.ParseCred(n.User, w.readFile(id, "/etc/passwd"), groups); err != nil {
			return cred, err
		}
	}
	return cred, cred.Join(n.Groups, groups)
}

// readFile reads a small file of a node's tree; a missing one is empty.
func (w *World) readFile(id kernel.NodeID, path string) string {
	node := w.kernel.Nodes[id]
	env := w.kernel.TreeEnv(node)
	p, e := node.FS.Walk(env, node.FS.Root(), path, true)
	if e != errno.OK || p.Inode == 0 {
		return ""
	}
	b := make([]byte, min(node.FS.Size(p.Inode), 1<<20))
	n, _ := node.FS.ReadAt(env, p.Inode, b, 0)
	return string(b[:n])
}
