// Package machinefault provides a machine that fails: a disk, a clock and memory; package sdk decides when. Programs
// use the disk and the clock by the interfaces of package machine.
package machinefault

import (
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"

	"github.com/bloodhound-dst/bloodhound/sdk"
	"github.com/bloodhound-dst/bloodhound/sdk/machine"
)

// DiskFaults sets the rates of each kind of call, and what a loss of power destroys. Late and Twice are invalid. Calls
// fail with EIO.
//
// If a Sync fails without effect, a later successful Sync does not make the earlier writes durable, as in Linux since
// 4.13, which marks their pages as clean.
type DiskFaults struct {
	Open, Read, Write, Sync, Rename, Remove sdk.Rates
	// ShortWrite is the probability that only half of a write is written, with the error EIO. Full is the probability
	// that nothing is written, with the error ENOSPC.
	ShortWrite, Full float64
	// CapacityBytes bounds the total size of all files; 0 means unlimited. A write beyond it fails with ENOSPC.
	CapacityBytes int64
	// PowerLoss is the probability that the power fails before a write, a sync, a rename or a removal. All calls then
	// fail until Restart.
	PowerLoss float64
	// When the power fails, each write since the last sync of its file is lost with the probability Lost, and half of
	// it with the probability Torn. The last change of names since any sync is lost with the probability Forgotten; if
	// it is, the one before it is lost with the same probability, and so on, because names are journaled in order.
	Lost, Torn, Forgotten float64
}

// ErrPower is the error of calls on a Disk without power, and on files that were opened before the power failed.
var ErrPower = errors.New("the machine has lost its power")

// Disk gives access to the files below a folder of this machine, with faults (machine.Files). Nothing else may change
// them.
type Disk struct {
	root                                    string
	open, read, write, sync, rename, remove *sdk.Point
	short, full, power, lost, torn, forget  *sdk.Fault
	capacity                                int64
	keepsWrites, keepsNames                 bool // what is not durable may be lost

	mu     sync.Mutex
	down   bool
	opened map[*file]bool
	nodes  map[string]*node // files that were opened to be written, by path
	names  []change         // changes of names that are not durable, in order
	grave  string           // a folder for files whose names were removed or given to others, until that is durable
	buried int
}

// node is the bytes of a file, whatever its name: the changes since the first one that is not durable, in order.
type node struct{ writes []written }

// written is a change of a file's bytes, with what was there before.
type written struct {
	at        int64
	data, was []byte
	size      int64 // before
	cut       bool  // a truncation to the size at
	never     bool  // no sync makes it durable any more
	durable   bool
}

// change is a change of names: how it is taken back, and what is done when it is durable.
type change struct{ undo, keep func() error }

// NewDisk makes a Disk of an existing folder. Its calls fail at the rates f, as source decides. name names the disk in
// the ledger. NewDisk panics if a rate is invalid.
func NewDisk(folder, name string, f DiskFaults, source sdk.Source) *Disk {
	at := func(operation string, r sdk.Rates) *sdk.Point {
		if r.Late != 0 || r.Twice != 0 {
			panic(fmt.Sprintf("machinefault: %s of %s cannot be late or twice", operation, name))
		}
		return sdk.NewPoint(source, name, operation, r)
	}
	fault := func(kind string, rate float64) *sdk.Fault { return sdk.NewFault(source, name+"_"+kind, rate) }
	if f.CapacityBytes < 0 {
		panic(fmt.Sprintf("machinefault: the capacity of %s is negative", name))
	}
	return &Disk{
		root: filepath.Clean(folder), capacity: f.CapacityBytes, keepsWrites: f.Lost > 0 || f.Torn > 0,
		keepsNames: f.Forgotten > 0, nodes: map[string]*node{}, opened: map[*file]bool{},
		open: at("open", f.Open), read: at("read", f.Read), write: at("write", f.Write), sync: at("sync", f.Sync),
		rename: at("rename", f.Rename), remove: at("remove", f.Remove),
		short: fault("short_write", f.ShortWrite), full: fault("full", f.Full), power: fault("power_loss", f.PowerLoss),
		lost: fault("lost", f.Lost), torn: fault("torn", f.Torn), forget: fault("forgotten", f.Forgotten),
	}
}

func (d *Disk) path(name string) string { return filepath.Join(d.root, filepath.FromSlash(name)) }

// call makes a call at a point. A change may meet a loss of power.
func (d *Disk) call(p *sdk.Point, op, path string, changes bool, do func() error) error {
	call, _, err := d.beginCall(p, changes)
	defer d.mu.Unlock()
	if err == nil && call.Way != sdk.Before {
		if err := do(); err != nil || call.Way != sdk.After {
			return err
		}
	}
	if err == nil {
		err = call.Error(syscall.EIO)
	}
	return &fs.PathError{Op: op, Path: path, Err: err}
}

// beginCall decides what happens to a call, and locks the disk. It returns an error if the disk has no power.
func (d *Disk) beginCall(p *sdk.Point, changes bool, faults ...*sdk.Fault) (call sdk.Call, happened *sdk.Fault, err error) {
	if d.Down() {
		d.mu.Lock()
		return call, nil, ErrPower
	}
	call = p.Call() // which may wait: not under the lock
	for _, f := range faults {
		if f.Happens(call.Way != sdk.Fine || happened != nil) {
			happened = f
		}
	}
	out := changes && d.power.Happens(call.Way != sdk.Fine || happened != nil)
	d.mu.Lock()
	if d.down = d.down || out; !d.down {
		return call, happened, nil
	}
	if out {
		return call, nil, d.power.Error(ErrPower)
	}
	return call, nil, ErrPower
}

// Down reports whether the disk is without power.
func (d *Disk) Down() bool {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.down
}

// Restart cuts the power if it is still on, and turns it back on. Unsynced changes may be lost, and open files are
// closed.
func (d *Disk) Restart() error {
	d.mu.Lock()
	defer d.mu.Unlock()
	for f := range d.opened {
		f.under.Close()
	}
	last := len(d.names)
	for last > 0 && d.forget.Happens(false) {
		last--
		if err := d.names[last].undo(); err != nil {
			return err
		}
	}
	err := settle(d.names[:last])
	for _, path := range slices.Sorted(maps.Keys(d.nodes)) {
		if list := d.nodes[path].writes; len(list) > 0 {
			err = errors.Join(err, d.lose(path, list))
		}
	}
	d.opened, d.nodes, d.names, d.down = map[*file]bool{}, map[string]*node{}, nil, false
	return err
}

// sync makes durable what a sync can.
func (n *node) sync() {
	first := slices.IndexFunc(n.writes, func(w written) bool { return w.never })
	if first < 0 {
		first = len(n.writes)
	}
	n.writes = slices.Clone(n.writes[first:])
	for i := range n.writes {
		n.writes[i].durable = !n.writes[i].never
	}
}

// lose takes all writes of a file back, and makes those again that are not lost.
func (d *Disk) lose(path string, list []written) error {
	f, err := os.OpenFile(path, os.O_RDWR, 0)
	if err != nil {
		return err
	}
	defer f.Close()
	for _, w := range slices.Backward(list) {
		if _, err := f.WriteAt(w.was, w.at); err != nil {
			return err
		}
		if err := f.Truncate(w.size); err != nil {
			return err
		}
	}
	for _, w := range list {
		lost := d.lost.Happens(w.durable)
		torn := d.torn.Happens(lost || w.cut || w.durable)
		switch {
		case lost:
		case w.cut:
			err = f.Truncate(w.at)
		case torn:
			_, err = f.WriteAt(w.data[:len(w.data)/2], w.at)
		default:
			_, err = f.WriteAt(w.data, w.at)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// settle does what is done when changes of names are durable.
func settle(list []change) error {
	var errs []error
	for _, c := range list {
		errs = append(errs, c.keep())
	}
	return errors.Join(errs...)
}

// commit makes all changes of names durable, as the journal of a file system does at each sync.
func (d *Disk) commit() error {
	list := d.names
	d.names = nil
	return settle(list)
}

func nothing() error { return nil }

// bury takes a file or an empty folder from its name.
func (d *Disk) bury(path string) (change, error) {
	info, err := os.Lstat(path)
	if err != nil {
		return change{}, err
	}
	if info.IsDir() {
		return change{func() error { return os.Mkdir(path, info.Mode()) }, nothing}, os.Remove(path)
	}
	if d.grave == "" {
		if d.grave, err = os.MkdirTemp(filepath.Dir(d.root), ".removed-"); err != nil {
			return change{}, err
		}
	}
	d.buried++
	at, n := filepath.Join(d.grave, strconv.Itoa(d.buried)), d.nodes[path]
	delete(d.nodes, path)
	undo := func() error {
		if n != nil {
			d.nodes[path] = n
		}
		return os.Rename(at, path)
	}
	return change{undo, func() error { return os.Remove(at) }}, os.Rename(path, at)
}

// Close deletes the copies that the disk keeps of removed files.
func (d *Disk) Close() error {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.grave == "" {
		return nil
	}
	return os.RemoveAll(d.grave)
}

// move gives a file, or all below a folder, another name.
func (d *Disk) move(from, to string) error {
	if err := os.Rename(from, to); err != nil || from == to {
		return err
	}
	delete(d.nodes, to)
	for _, path := range slices.Sorted(maps.Keys(d.nodes)) {
		if rest, below := strings.CutPrefix(path, from); below && (rest == "" || rest[0] == filepath.Separator) {
			d.nodes[to+rest] = d.nodes[path]
			delete(d.nodes, path)
		}
	}
	return nil
}

// Rename renames a file atomically (machine.Files).
func (d *Disk) Rename(from, to string) error {
	return d.call(d.rename, "rename", from, true, func() error {
		from, to := d.path(from), d.path(to)
		if !d.keepsNames {
			return d.move(from, to)
		}
		old := change{nothing, nothing}
		if info, err := os.Lstat(from); err != nil {
			return err
		} else if there, err := os.Lstat(to); err == nil {
			if os.SameFile(info, there) {
				return nil
			}
			if there.IsDir() != info.IsDir() {
				return os.Rename(from, to) // whose error says so
			}
			if old, err = d.bury(to); err != nil {
				return err
			}
		}
		if err := d.move(from, to); err != nil {
			return errors.Join(err, old.undo())
		}
		d.names = append(d.names, change{
			undo: func() error {
				if err := d.move(to, from); err != nil {
					return err
				}
				return old.undo()
			},
			keep: old.keep,
		})
		return nil
	})
}

// Remove removes a file or an empty folder (machine.Files).
func (d *Disk) Remove(name string) error {
	return d.call(d.remove, "remove", name, true, func() error {
		path := d.path(name)
		if !d.keepsNames {
			delete(d.nodes, path)
			return os.Remove(path)
		}
		c, err := d.bury(path)
		if err == nil {
			d.names = append(d.names, c)
		}
		return err
	})
}

// MkdirAll makes a folder and its parents, which are durable at once (machine.Files).
func (d *Disk) MkdirAll(name string, perm fs.FileMode) error {
	return d.call(d.open, "mkdir", name, false, func() error { return os.MkdirAll(d.path(name), perm) })
}

// ReadDir lists a folder (machine.Files).
func (d *Disk) ReadDir(name string) (list []fs.DirEntry, err error) {
	err = d.call(d.read, "readdir", name, false, func() (err error) {
		list, err = os.ReadDir(d.path(name))
		return err
	})
	return list, err
}

// Stat describes a file (machine.Files).
func (d *Disk) Stat(name string) (info fs.FileInfo, err error) {
	err = d.call(d.read, "stat", name, false, func() (err error) {
		info, err = os.Stat(d.path(name))
		return err
	})
	return info, err
}

// SyncDir makes all changes of names durable (machine.Files).
func (d *Disk) SyncDir(name string) error {
	return d.call(d.sync, "sync", name, true, func() error {
		if _, err := os.Stat(d.path(name)); err != nil {
			return err
		}
		return d.commit()
	})
}

// used is the size of all files.
func (d *Disk) used() (sum int64, err error) {
	err = filepath.WalkDir(d.root, func(_ string, e fs.DirEntry, err error) error {
		if err != nil || e.IsDir() {
			return err
		}
		info, err := e.Info()
		if err == nil {
			sum += info.Size()
		}
		return err
	})
	return sum, err
}

// OpenFile opens a file (machine.Files).
func (d *Disk) OpenFile(name string, flag int, perm fs.FileMode) (machine.File, error) {
	var opened *file
	err := d.call(d.open, "open", name, false, func() error {
		path := d.path(name)
		_, missing := os.Lstat(path)
		how := flag &^ (os.O_APPEND | os.O_TRUNC) // which are done here
		writes := flag&(os.O_WRONLY|os.O_RDWR) != 0
		if writes {
			how = how&^os.O_WRONLY | os.O_RDWR // what was there before is read
		}
		under, err := os.OpenFile(path, how, perm)
		if err != nil {
			return err
		}
		f := &file{under: under, disk: d, name: name, flag: flag}
		if writes && d.nodes[path] == nil {
			d.nodes[path] = &node{}
		}
		f.node = d.nodes[path]
		d.opened[f] = true
		opened = f
		if missing != nil && d.keepsNames {
			d.names = append(d.names, change{func() error {
				delete(d.nodes, path)
				return os.Remove(path)
			}, nothing})
		}
		if writes && flag&os.O_TRUNC != 0 {
			return f.cut(0)
		}
		return nil
	})
	if err != nil {
		if opened != nil {
			opened.Close()
		}
		return nil, err
	}
	return opened, nil
}
