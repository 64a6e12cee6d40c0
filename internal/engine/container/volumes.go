package container

import (
	"fmt"
	"net/http"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/bloodhound-dst/bloodhound/internal/engine/container/docker"
	"github.com/bloodhound-dst/bloodhound/internal/fault"
	"github.com/bloodhound-dst/bloodhound/internal/world"
)

// overlay is a folder of the machine whose changes stay in the world: a volume of overlayfs over it.
type overlay struct{ lower, volume string }

// upperName ends the name of the volume that has what was written over folders of the machine. It lies in memory: overlayfs refuses an
// upper folder that lies below the lower one.
const upperName = "-upper"

// Sizes of a volume in memory, where nothing else says them. One that a fault may fill takes all of it.
const (
	defaultBytes = 1 << 30
	fillBytes    = 128 << 20
)

// pageBytes is the unit of tmpfs's nr_blocks (tmpfs(5)). Podman takes the option size for a quota of a disk.
const pageBytes = 4096

// volumes lays out the files of a node besides its image.
func (n *node) volumes() error {
	if n.spec.Image == nil && n.spec.Root != world.NoRoot {
		root := n.spec.Root
		if n.spec.HasMachineFiles() {
			root = "/"
		}
		if err := n.rootMounts(root); err != nil {
			return err
		}
	}
	for i := range n.spec.Volumes {
		if err := n.mount(i, &n.spec.Volumes[i]); err != nil {
			return fmt.Errorf("volume %s: %w", n.spec.Volumes[i].Target, err)
		}
	}
	if len(n.layers) == 0 {
		return nil
	}
	n.held = append(n.held, docker.Mount{Type: "volume", Source: n.name(upperName), Target: upperFolder})
	n.fillers = append(n.fillers, upperFolder)
	return n.inMemory(n.name(upperName))
}

// inMemory makes a volume in memory.
func (n *node) inMemory(name string) error {
	size := n.World.spec.Limits.MemoryBytes
	switch {
	case size == 0 && n.mayFill():
		size = fillBytes
	case size == 0:
		size = defaultBytes
	}
	return n.createVolume(name, map[string]string{"type": "tmpfs", "device": "tmpfs", "o": "nr_blocks=" + strconv.FormatInt((size+pageBytes-1)/pageBytes, 10)})
}

func (n *node) createVolume(name string, options map[string]string) error {
	return n.client.Call(n.ctx, http.MethodPost, "/volumes/create", nil,
		&docker.Volume{Name: name, Driver: "local", DriverOpts: options, Labels: map[string]string{runLabel: n.run}}, nil)
}

// over mounts a folder of the machine so that changes stay in the world.
func (n *node) over(source, target string) error {
	if strings.ContainsAny(source, ":,\\") {
		return fmt.Errorf("the folder %s cannot be the lower layer of an overlay, because its name contains a "+
			"colon, a comma or a backslash; mount it read-only, or choose another folder", source)
	}
	name := n.name("-over" + strconv.Itoa(len(n.layers)))
	n.layers = append(n.layers, overlay{source, name})
	n.mounts = append(n.mounts, docker.Mount{Type: "volume", Source: name, Target: target, VolumeOptions: &docker.VolumeOptions{NoCopy: true}})
	return nil
}

func (n *node) upperFolders() (list []string) {
	for i := range n.layers {
		list = append(list, fmt.Sprintf("%s/u%d", upperFolder, i), fmt.Sprintf("%s/w%d", upperFolder, i))
	}
	return list
}

// layOver makes the volumes of overlays, whose upper folders are there.
func (n *node) layOver() error {
	if len(n.layers) == 0 {
		return nil
	}
	var upper struct{ Mountpoint string }
	if err := n.client.Call(n.ctx, http.MethodGet, "/volumes/"+n.name(upperName), nil, nil, &upper); err != nil {
		return err
	}
	for i, l := range n.layers {
		o := fmt.Sprintf("lowerdir=%s,upperdir=%s/u%d,workdir=%s/w%d", l.lower, upper.Mountpoint, i, upper.Mountpoint, i)
		if err := n.createVolume(l.volume, map[string]string{"type": "overlay", "device": "overlay", "o": o}); err != nil {
			return err
		}
	}
	return nil
}

// Folders of a root that nodes do not have, and those that no program writes to.
var (
	absentFolders = []string{"proc", "sys", "dev", "tmp", "run", "lost+found"}
	fixedFolders  = []string{"bin", "sbin", "lib", "lib32", "lib64", "libx32", "usr", "boot"}
)

// rootMounts mounts the folders of a root.
func (n *node) rootMounts(root string) error {
	entries, err := os.ReadDir(root)
	if err != nil {
		return err
	}
	for _, e := range entries {
		source, target := filepath.Join(root, e.Name()), "/"+e.Name()
		switch {
		case !e.IsDir() || slices.Contains(absentFolders, e.Name()):
		case slices.Contains(fixedFolders, e.Name()):
			n.mounts = append(n.mounts, docker.Mount{Type: "bind", Source: source, Target: target, ReadOnly: true})
		default:
			if err := n.over(source, target); err != nil {
				return err
			}
		}
	}
	if dir := n.World.spec.Dir; root == "/" {
		if _, ok := world.Emptied(dir); ok {
			return n.over(dir, dir)
		}
	}
	return nil
}

// mount mounts a volume of the Spec.
func (n *node) mount(i int, v *world.Volume) error {
	m := docker.Mount{Target: v.Target, ReadOnly: v.ReadOnly}
	switch v.Kind {
	case world.Bind:
		info, err := os.Stat(v.Source)
		if err != nil {
			return err
		}
		if info.IsDir() && !v.ReadOnly {
			return n.over(v.Source, v.Target)
		}
		m.Type, m.Source, m.ReadOnly = "bind", v.Source, true
	case world.Tmpfs:
		m.Type, m.TmpfsOptions = "tmpfs", &docker.TmpfsOptions{SizeBytes: v.SizeBytes, Mode: int64(v.Mode)}
	case world.File:
		file := filepath.Join(n.dir, fmt.Sprintf("%d-file%d", n.id, i))
		mode := os.FileMode(v.Mode)
		if mode == 0 {
			mode = 0o444
		}
		if err := os.WriteFile(file, v.Content, mode); err != nil {
			return err
		}
		if err := os.Chmod(file, mode); err != nil {
			return err
		}
		if os.Getuid() == 0 {
			if err := os.Chown(file, v.UID, v.GID); err != nil {
				return err
			}
		}
		m.Type, m.Source, m.ReadOnly = "bind", file, true
	case world.Named:
		m.Type, m.Source = "volume", n.volume(v)
		if v.NoCopy {
			m.VolumeOptions = &docker.VolumeOptions{NoCopy: true}
		}
		if n.mayFill() && !v.Shared && v.From == "" {
			if err := n.inMemory(m.Source); err != nil {
				return err
			}
			at := docker.Mount{Type: "volume", Source: m.Source, Target: volumeFolder + strconv.Itoa(i), VolumeOptions: &docker.VolumeOptions{NoCopy: true}}
			n.held, n.fillers = append(n.held, at), append(n.fillers, at.Target)
		} else if err := n.createVolume(m.Source, nil); err != nil {
			return err
		}
	default:
		return fmt.Errorf("a volume of the kind %q", v.Kind)
	}
	n.mounts = append(n.mounts, m)
	return nil
}

// volume is the daemon's name of a named volume. A node that begins with the volume of another one has that one's.
func (n *node) volume(v *world.Volume) string {
	name := path.Base(v.Source)
	switch {
	case v.Shared:
		return namePrefix + n.run + "-" + name
	case v.From != "":
		return namePrefix + n.run + "-" + v.From + "-" + name
	}
	return n.name("-" + name)
}

// mayFill reports whether a disk of the node may be full.
func (n *node) mayFill() bool {
	f := &n.World.spec.Faults
	return f.Enabled && n.spec.Role == world.Server && f.Injects(fault.DiskFull)
}
