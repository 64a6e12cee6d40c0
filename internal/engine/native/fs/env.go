package fs

import "github.com/bloodhound-dst/bloodhound/internal/engine/native/errno"

// Env is what a call may see and do outside the State.
type Env struct {
	NowNs int64 // CLOCK_REALTIME of the node, ns since 1970
	Cred  Cred
	// Root is the directory at which absolute paths start and above which .. does not lead (chroot(2)); 0 is the tree's own.
	Root  InodeID
	Base  Base
	Blobs Blobs
	Synth Synth
	// Programs reports which files are being executed; nil is none.
	Programs Programs
	// Opening fails the opening of a file or a folder as a disk does that cannot read its inode; with a name, the making of a file of this name in
	// a folder, which must be read for it. nil lets all succeed.
	Opening func(id InodeID, name string) errno.Errno
	// NewBlob gives a number that no other blob of the world has.
	NewBlob func() BlobID
}

func (e *Env) opening(in *Inode, name string) errno.Errno {
	if e.Opening == nil {
		return errno.OK
	}
	return e.Opening(in.ID, name)
}

// Cred is the virtual identity under which a call acts: the fsuid and fsgid of its process (credentials(7)).
type Cred struct {
	UID, GID int
	Groups   []int
}

// BlobID names the bytes of one written file.
type BlobID int64

// NoLayer is the layer of inodes that have nothing underneath.
const NoLayer = -1

// Base is the read-only lower layers of a node. A layer is a folder or file of the host, numbered as in
// Config.Layers. Paths are relative to it, without leading or trailing slash, "" being the layer's root. No component
// is a link that would have to be followed; an implementation refuses to follow one.
type Base interface {
	Lstat(layer int, path string) (BaseAttr, errno.Errno)
	// ReadDir lists a folder, without . and .., in any order.
	ReadDir(layer int, path string) ([]string, errno.Errno)
	Readlink(layer int, path string) (string, errno.Errno)
	// ReadAt reads like pread(2); with an empty p it only reports whether the file can be opened.
	ReadAt(layer int, path string, p []byte, off int64) (int, errno.Errno)
}

// BaseAttr is what a lower layer reports about a name.
type BaseAttr struct {
	Mode     uint32 // type and permissions
	UID, GID int
	Size     int64
	MtimeNs  int64
	Rdev     uint64
	// Same is the name in the layer that represents all hard links of the file, and Nlink is how many there are; empty and 0
	// if the layer does not say, or there is one.
	Same  string
	Nlink int
}

// Blobs holds the bytes of written files. A blob is sparse and reads as zeros where nothing was written.
type Blobs interface {
	Create(id BlobID) errno.Errno
	ReadAt(id BlobID, p []byte, off int64) (int, errno.Errno)
	WriteAt(id BlobID, p []byte, off int64) (int, errno.Errno)
	Truncate(id BlobID, size int64) errno.Errno
	// PunchHole makes a range read as zeros; the size stays.
	PunchHole(id BlobID, off, size int64) errno.Errno
	// CopyFromBase fills an empty blob with the first size bytes of a base file.
	CopyFromBase(id BlobID, base Base, layer int, path string, size int64) errno.Errno
	// NextData finds the first byte at or behind an offset that is no part of a hole, -1 if there is none. What
	// lies in no hole may be zeros.
	NextData(id BlobID, off int64) int64
	Free(id BlobID)
}

// Synth serves /proc and /sys. Paths are absolute paths of the node, such as /proc/self/status.
type Synth interface {
	Lookup(path string) (SynthAttr, errno.Errno)
	// ReadDir lists the names in a synthetic directory, without . and .., in any order.
	ReadDir(path string) ([]string, errno.Errno)
}

// Programs knows the running programs of a node.
type Programs interface {
	// Runs reports whether a program runs from an inode: it cannot be opened for writing then.
	Runs(id InodeID) bool
}

// SynthAttr describes one synthetic name.
type SynthAttr struct {
	Mode     uint32 // type and permissions
	UID, GID int
	Target   string // of a link
	// Inode and File are set for links such as /proc/self/fd/3, which lead to an object rather than to a name:
	// the inode, if it has one, and the caller's own number of the open file (Place.File).
	Inode InodeID
	File  int64
}
