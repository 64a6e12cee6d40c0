package guest

import (
	"encoding/binary"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strconv"

	"golang.org/x/sys/unix"

	"github.com/bloodhound-dst/bloodhound/internal/engine/vm/wire"
)

// A node that may lose its power has a disk: a file in memory behind a loop device, with a file system ext4. What has reached the file is
// what is durable.

// image is the file of the node's disk.
func (n *node) image() string { return n.store() + ".disk" }

// emptyImage writes the file of an empty disk.
func emptyImage(path string, size int64) error {
	pages, err := os.ReadFile(wire.DiskFile)
	if err != nil {
		return err
	}
	f, err := os.Create(path)
	if err != nil {
		return err
	}
	defer f.Close()
	const entry = 8 + wire.PageBytes
	for ; len(pages) >= entry; pages = pages[entry:] {
		if _, err := f.WriteAt(pages[8:entry], int64(binary.LittleEndian.Uint64(pages))); err != nil {
			return err
		}
	}
	return f.Truncate(size)
}

// copyImage copies what a disk has durable.
func copyImage(from, to string) error {
	in, err := os.Open(from)
	if err != nil {
		return err
	}
	defer in.Close()
	out, err := os.Create(to)
	if err != nil {
		return err
	}
	defer out.Close()
	size, err := in.Seek(0, io.SeekEnd)
	if err != nil {
		return err
	}
	buffer := make([]byte, 1<<20)
	for at := int64(0); at < size; {
		begin, err := unix.Seek(int(in.Fd()), at, unix.SEEK_DATA)
		if err == unix.ENXIO {
			break
		}
		if err != nil {
			return err
		}
		if at, err = unix.Seek(int(in.Fd()), begin, unix.SEEK_HOLE); err != nil {
			return err
		}
		for begin < at {
			n, err := in.ReadAt(buffer[:min(int64(len(buffer)), at-begin)], begin)
			if n == 0 {
				return err
			}
			if _, err := out.WriteAt(buffer[:n], begin); err != nil {
				return err
			}
			begin += int64(n)
		}
	}
	return out.Truncate(size)
}

// mountDisk mounts the node's disk at its store. The kernel brings the file system into order, as it does after a loss of power.
func (n *node) mountDisk() error {
	control, err := unix.Open("/dev/loop-control", unix.O_RDWR|unix.O_CLOEXEC, 0)
	if err != nil {
		return fmt.Errorf("/dev/loop-control: %w", err)
	}
	defer unix.Close(control)
	number, _, errno := unix.Syscall(unix.SYS_IOCTL, uintptr(control), unix.LOOP_CTL_GET_FREE, 0)
	if errno != 0 {
		return fmt.Errorf("LOOP_CTL_GET_FREE: %w", errno)
	}
	device := "/dev/loop" + strconv.Itoa(int(number))
	loop, err := unix.Open(device, unix.O_RDWR|unix.O_CLOEXEC, 0)
	if err != nil {
		return fmt.Errorf("%s: %w", device, err)
	}
	defer unix.Close(loop)
	file, err := unix.Open(n.image(), unix.O_RDWR|unix.O_CLOEXEC, 0)
	if err != nil {
		return err
	}
	defer unix.Close(file)
	if err := unix.IoctlLoopConfigure(loop, &unix.LoopConfig{Fd: uint32(file), Size: wire.PageBytes}); err != nil {
		return fmt.Errorf("LOOP_CONFIGURE %s: %w", device, err)
	}
	if err := os.MkdirAll(n.store(), 0o755); err != nil {
		return err
	}
	if err := unix.Mount(device, n.store(), "ext4", 0, "noinit_itable"); err != nil {
		return fmt.Errorf("mount -t ext4 %s: %w", device, err)
	}
	return nil
}

// cut takes the power of a node away: its programs end, and what its file system has not written is lost. With journal, what is
// in the running transaction of the journal is written before.
func (a *agent) cut(id int, journal bool) error {
	n := a.nodes[id]
	a.fabric.darken(id, true)
	write(filepath.Join(n.group(), "cgroup.kill"), "1")
	dir, err := unix.Open(n.store(), unix.O_RDONLY|unix.O_DIRECTORY|unix.O_CLOEXEC, 0)
	if err != nil {
		return err
	}
	defer unix.Close(dir)
	const shutdown, flushJournal, flushNothing = 0x8004587d, 1, 2 // EXT4_IOC_SHUTDOWN and its flags (fs/ext4/ext4.h)
	how := uint32(flushNothing)
	if journal {
		how = flushJournal
	}
	if err := unix.IoctlSetPointerInt(dir, shutdown, int(how)); err != nil {
		return fmt.Errorf("EXT4_IOC_SHUTDOWN: %w", err)
	}
	return nil
}

// restore gives a node its power back: it has new namespaces, but for that of its network, and what its disk has durable.
func (a *agent) restore(id int) error {
	old := a.nodes[id]
	unix.Kill(old.init, unix.SIGKILL)
	unix.Wait4(old.init, nil, 0, nil)
	var err error
	old.do(func() { _, err = resetTCP(nil) })
	if err != nil {
		return err
	}
	close(old.calls)
	n, err := again(a, old)
	if err != nil {
		return err
	}
	a.nodes[id] = n
	a.fabric.darken(id, false)
	return nil
}

// fillFile leaves a disk no room by a file that takes all of it, or removes that.
func fillFile(dir string, on bool) error {
	name := filepath.Join(dir, "full")
	if !on {
		return os.Remove(name)
	}
	var st unix.Statfs_t
	if err := unix.Statfs(dir, &st); err != nil {
		return err
	}
	f, err := os.Create(name)
	if err != nil {
		return err
	}
	defer f.Close()
	for left := int64(st.Bfree) * st.Bsize; left > 0; left /= 2 { // the file system needs some blocks for the file itself
		for unix.Fallocate(int(f.Fd()), 0, 0, 1) == nil {
			end, err := f.Seek(0, io.SeekEnd)
			if err != nil {
				return err
			}
			if unix.Fallocate(int(f.Fd()), 0, end, left) != nil {
				break
			}
		}
	}
	return nil
}
