package view

import (
	"archive/tar"
	"fmt"
	"io"
	"io/fs"
	"path"
	"strings"
	"time"

	"github.com/bloodhound-dst/bloodhound/internal/engine"
)

// NodeChange is a name that a node's programs have made, changed or removed.
type NodeChange struct {
	Node string `json:"node"`
	engine.FileChange
}

// Changes lists those of all nodes.
func Changes(x engine.Inspection) (list []NodeChange, err error) {
	nodes, err := x.Nodes()
	if err != nil {
		return nil, err
	}
	for _, n := range nodes {
		tree, err := x.Tree(n.Name)
		if err != nil {
			return nil, err
		}
		changes, err := tree.Changes()
		if err != nil {
			return nil, err
		}
		for _, c := range changes {
			list = append(list, NodeChange{n.Name, c})
		}
	}
	return list, nil
}

// WriteChanges prints a line for each name.
func WriteChanges(w io.Writer, list []NodeChange) error {
	if len(list) == 0 {
		return none(w, "no program has changed a file")
	}
	t := table(w, "NODE", "CHANGE", "MODE", "OWNER", "SIZE", "CHANGED AT", "PATH")
	for _, c := range list {
		if c.Change == "removed" {
			t.row(c.Node, c.Change, "-", "-", "-", "-", c.Path)
			continue
		}
		t.row(c.Node, c.Change, c.Rights, owner(&c.File), c.Size, wall(c.MtimeNs), name(&c.File))
	}
	return t.Flush()
}

// List describes a folder's names, or the one name that is no folder.
func List(x engine.Inspection, at NodePath) ([]engine.File, error) {
	tree, err := x.Tree(at.Node)
	if err != nil {
		return nil, err
	}
	f, err := tree.Stat(at.Path)
	if err != nil {
		return nil, err
	}
	list, err := tree.List(at.Path)
	if err != nil && !f.Mode.IsDir() {
		return []engine.File{f}, nil
	}
	return list, err
}

// WriteList prints a line for each name, as ls -l does.
func WriteList(w io.Writer, list []engine.File) error {
	if len(list) == 0 {
		return none(w, "the folder is empty")
	}
	t := table(w, "MODE", "OWNER", "SIZE", "CHANGED AT", "PATH")
	for i := range list {
		f := &list[i]
		t.row(f.Rights, owner(f), f.Size, wall(f.MtimeNs), name(f))
	}
	return t.Flush()
}

func owner(f *engine.File) string { return fmt.Sprintf("%d:%d", f.UID, f.GID) }

func name(f *engine.File) string {
	if f.Target != "" {
		return f.Path + " -> " + f.Target
	}
	return f.Path
}

// wall is a time of a node's real-time clock.
func wall(ns int64) string { return time.Unix(0, ns).UTC().Format("2006-01-02 15:04:05.000000") }

// Cat copies a file of a node.
func Cat(w io.Writer, x engine.Inspection, at NodePath) error {
	tree, err := x.Tree(at.Node)
	if err != nil {
		return err
	}
	r, err := tree.Open(at.Path)
	if err != nil {
		return err
	}
	_, err = io.Copy(w, r)
	return err
}

// Tar archives a folder or a file of a node; without a path, what its programs have made or changed. It reports how many names were left
// out: sockets and devices, and without a path those that were removed.
func Tar(w io.Writer, x engine.Inspection, at NodePath) (left int, err error) {
	tree, err := x.Tree(at.Node)
	if err != nil {
		return 0, err
	}
	a := &archive{tree: tree, out: tar.NewWriter(w)}
	if at.Path == "" {
		changes, err := tree.Changes()
		if err != nil {
			return 0, err
		}
		for _, c := range changes {
			if c.Change == "removed" {
				a.left++
			} else if err := a.add(c.File); err != nil {
				return 0, err
			}
		}
	} else {
		f, err := tree.Stat(at.Path)
		if err != nil {
			return 0, err
		}
		if err := a.below(f, 0); err != nil {
			return 0, err
		}
	}
	return a.left, a.out.Close()
}

type archive struct {
	tree engine.Tree
	out  *tar.Writer
	left int
}

// maxDepth bounds how deep folders lie in each other.
const maxDepth = 1000

// below adds a name and all below it.
func (a *archive) below(f engine.File, depth int) error {
	if err := a.add(f); err != nil || !f.Mode.IsDir() {
		return err
	}
	if depth == maxDepth {
		return fmt.Errorf("%s: folders lie more than %d deep", f.Path, maxDepth)
	}
	if f.Path == "/proc" || f.Path == "/sys" {
		return nil // the engine makes them for each reader
	}
	list, err := a.tree.List(f.Path)
	if err != nil {
		return err
	}
	for _, f := range list {
		if err := a.below(f, depth+1); err != nil {
			return err
		}
	}
	return nil
}

func (a *archive) add(f engine.File) error {
	name := strings.TrimPrefix(path.Clean(f.Path), "/")
	if name == "" {
		return nil
	}
	h, err := tar.FileInfoHeader(described{&f}, f.Target)
	if err != nil || f.Mode&(fs.ModeSocket|fs.ModeDevice) != 0 {
		a.left++
		return nil
	}
	h.Name, h.Uid, h.Gid, h.Format = name, f.UID, f.GID, tar.FormatPAX
	if f.Mode.IsDir() {
		h.Name += "/"
	}
	if err := a.out.WriteHeader(h); err != nil {
		return fmt.Errorf("%s: %w", f.Path, err)
	}
	if !f.Mode.IsRegular() {
		return nil
	}
	r, err := a.tree.Open(f.Path)
	if err == nil {
		_, err = io.Copy(a.out, r)
	}
	if err != nil {
		return fmt.Errorf("%s: %w", f.Path, err)
	}
	return nil
}

// described is a File as archives want it.
type described struct{ *engine.File }

func (d described) Name() string       { return path.Base(d.Path) }
func (d described) Size() int64        { return d.File.Size }
func (d described) Mode() fs.FileMode  { return d.File.Mode }
func (d described) ModTime() time.Time { return time.Unix(0, d.MtimeNs) }
func (d described) IsDir() bool        { return d.File.Mode.IsDir() }
func (d described) Sys() any           { return nil }
