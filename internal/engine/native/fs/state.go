package fs

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"
)

// InodeID is the number of an inode, also its st_ino; 0 is none.
type InodeID int64

// State is the file system of one node.
type State struct {
	Config     Config
	Inodes     map[InodeID]*Inode
	LastInode  InodeID
	LastSynth  InodeID
	Synths     map[string]InodeID // inodes of /proc and /sys by path
	Mounts     []Mount
	UsedBytes  int64           // allocated, in whole pages
	MemfdBytes int64           // of these, in files of memfd_create(2)
	Opened     map[string]bool // base files that were opened, by host path
	Instances  map[int64]*Inotify
	LastNotify int64
	Cookie     uint32    // of the last rename, for inotify
	Ready      []int64   // inotify instances that got events since TakeReady
	Gone       []InodeID // inodes of sockets that went since TakeGone
	Journal    Journal
	SyncErrors int                // synchronisations of all inodes that failed
	Life       int                // how often the machine's programs were killed by a fault
	SharedLife int                // Shared.Life when that was so last
	Noticed    []int              // faults whose effects a program has seen since TakeNoticed
	Full       int                // the fault that has filled the disk, 0 for none
	Linked     map[Origin]InodeID // files that have several names in their layer
	// MappedMemory are files of the node's memory that are or were mapped for writing.
	MappedMemory []InodeID
	// SyncsFail says that synchronisations may fail, see MayFailSyncs.
	SyncsFail bool
	// ByBlob are the files on the disk that programs map shared, by their blobs.
	ByBlob map[BlobID]InodeID
	// Member is the node's number among those that share volumes.
	Member int
	// Over are mounts of this node in folders that nodes share, by the folder and the name.
	Over map[InodeID]map[string]InodeID

	common *Shared // nil if nodes share none
}

// Config describes the file system of a node before it starts.
type Config struct {
	// StartNs is CLOCK_REALTIME when the node starts: the time of everything that has no other, ns since 1970.
	StartNs int64
	// Layers are the host's folders and files underneath; Env.Base knows them by their index here. They name the
	// files in Touched.
	Layers []string
	// Undated are folders and files of the host whose times of change come from a checkout or a build, and so differ
	// where their content is the same. Nodes see StartNs in their place.
	Undated []string
	// Root is the layer of /, or NoLayer for an empty tree.
	Root    int
	Volumes []Volume
	// Contained says that the root layer is made for this node alone: what is volatile on a host belongs to it.
	Contained bool
	// QuotaBytes bounds what the node's files allocate; 0 is the default.
	QuotaBytes int64
	// ReadOnly lets no program write to the root's own mount.
	ReadOnly bool
	// ShmBytes is the size of /dev/shm; 0 is no bound of its own.
	ShmBytes int64
	// Inodes bounds the number of inodes; 0 is the default.
	Inodes int
}

// Volume is something mounted into the tree.
type Volume struct {
	Target   string // absolute
	Layer    int    // NoLayer: empty at start
	ReadOnly bool
	Tmpfs    bool // lost at power loss
	// File makes it a file that holds Content. Mode, UID and GID are its own, or those of a Tmpfs's root.
	File     bool
	Content  []byte
	Mode     uint32
	UID, GID int
	// SizeBytes bounds a Tmpfs; 0 does not.
	SizeBytes int64
	// Shared is the number of the volume that other nodes mount too, from 1 on (see Shared); 0 for one of this node alone.
	Shared int
}

// Mount is one mounted tree.
type Mount struct {
	Target   string
	Dev      uint64 // st_dev
	Layer    int
	ReadOnly bool
	Type     MountType
	// SizeBytes bounds what its files may have, UsedBytes is what they have: whole pages. 0 is no bound of its own.
	SizeBytes, UsedBytes int64
	// Shared is the number of the volume, from 1 on, that other nodes mount too. Parent and Name are then where it is mounted here.
	Shared int
	Parent InodeID
	Name   string
}

// MountType says what a mount claims to be in statfs(2).
type MountType uint8

const (
	Disk MountType = iota
	Tmpfs
	Proc
	Sys
	Dev
)

// Inode is one file, directory, link or special file.
type Inode struct {
	ID       InodeID
	Mount    int    // index into State.Mounts; below 0 of a volume that nodes share
	Mode     uint32 // type and permissions
	UID, GID int
	Nlink    int
	Size     int64
	Rdev     uint64
	Target   string // of a symbolic link

	AtimeNs, MtimeNs, CtimeNs, BtimeNs int64

	Layer int    // the layer that has its content or children, NoLayer if none
	Path  string // there

	Blob    BlobID   // content of a regular file that was written, 0 if none
	Extents []Extent // allocated pages of the blob
	Chilled []Extent // pages that lie on the disk and not in the page cache: a power loss has emptied that

	Unsynced *Unsynced // what is not durable of a regular file
	// SyncErrors counts the synchronisations of the inode that failed.
	SyncErrors int
	Lost       *Lost // what a power loss has taken from it and no program has noticed yet

	// Parent and Name are the last known name. For directories it is the only one; a removed directory keeps it.
	Parent    InodeID
	Name      string
	Entries   map[string]InodeID // of a directory: its own names; 0 is a whiteout
	Loaded    bool               // all base names are among the entries
	MountRoot bool
	Tmpfile   bool   // made by O_TMPFILE and not linked yet
	Synth     string // path of a name in /proc or /sys
	Fixed     bool   // the engine's own folder: no name comes to it or goes, nor its own
	Memory    bool   // made by memfd_create(2)
	Seals     int    // F_SEAL_WRITE and the like, of such a file
	Mapped    bool   // was mapped for writing: not all writes are seen here
	Stores    bool   // lies on the disk, and programs may store into a map of it (mapped.go)
	Served    bool   // made by the engine: no fault is injected into it
	Dirty     bool   // was changed since it was synchronised last
	Evicted   int    // State.Life when the page cache dropped what it held of it last
	Life      int    // State.Life, or Shared.Life, when it was written last
	Refs      int    // open files, working directories and other holders
	Held      int    // changes in the journal that may bring it back
	Same      Origin // of a file that has several names in its layer
	Unseen    int    // how many of these names have no entry yet

	Xattrs  []Xattr // in the order of names
	Flocks  []Flock
	Locks   []Lock
	Watches []Watcher
}

// Origin is a file of a layer.
type Origin struct {
	Layer int
	Path  string // the first of its names
}

// Extent is a range of allocated pages [From, To).
type Extent struct{ From, To int64 }

// Xattr is an extended attribute.
type Xattr struct {
	Name  string
	Value []byte
}

func (in *Inode) is(kind uint32) bool { return in.Mode&S_IFMT == kind }
func (in *Inode) isDir() bool         { return in.is(S_IFDIR) }

// New makes the file system of a node that shares nothing.
func New(env *Env, c Config) (*State, error) { return NewMember(env, c, nil, 0) }

// NewMember makes the file system of a node that may mount what nodes share; common may be nil. member is the node's number.
func NewMember(env *Env, c Config, common *Shared, member int) (*State, error) {
	if c.QuotaBytes == 0 {
		c.QuotaBytes = defaultQuotaBytes
	}
	if c.Inodes == 0 {
		c.Inodes = defaultInodes
	}
	s := &State{
		Config: c, Inodes: map[InodeID]*Inode{}, LastInode: rootInode - 1, LastSynth: firstSynth - 1, Synths: map[string]InodeID{},
		Opened: map[string]bool{}, Instances: map[int64]*Inotify{},
	}
	if common != nil {
		s.Join(common, member)
	}
	whole := *env
	whole.NowNs, whole.Cred = c.StartNs, Cred{}
	env = &whole
	if err := s.mountRoot(env); err != nil {
		return nil, err
	}
	if err := s.mountStandard(env); err != nil {
		return nil, err
	}
	volumes := slices.Clone(c.Volumes)
	slices.SortStableFunc(volumes, func(a, b Volume) int { return cmp.Compare(depth(a.Target), depth(b.Target)) })
	for _, v := range volumes {
		if err := s.mountVolume(env, v); err != nil {
			return nil, err
		}
	}
	s.Mounts[0].ReadOnly = c.ReadOnly
	return s, nil
}

func depth(path string) int { return strings.Count(strings.TrimRight(path, "/"), "/") }

// Touched lists the base files that were opened, as paths of the host, sorted.
func (s *State) Touched() []string {
	return slices.Sorted(maps.Keys(s.Opened))
}

// HostPath is where a base file lies on the host, for people and digests.
func (s *State) HostPath(layer int, path string) string {
	root := s.Config.Layers[layer]
	if path == "" {
		return root
	}
	return strings.TrimRight(root, "/") + "/" + path
}

// Root is the node's root directory.
func (s *State) Root() InodeID { return rootInode }

// Get gives an inode for reading, nil if there is none.
func (s *State) Get(id InodeID) *Inode { return s.lookupInode(id) }

// inode gives an inode that must exist: a number that a caller holds a reference to.
func (s *State) inode(id InodeID) *Inode {
	in := s.lookupInode(id)
	if in == nil {
		panic(fmt.Sprintf("fs: no inode %d", id))
	}
	return in
}

// Name gives the path of an inode by its last known name, "" if it is not linked any more.
func (s *State) Name(id InodeID) string {
	in := s.inode(id)
	if in.Synth != "" {
		return in.Synth
	}
	var parts []string
	for in.ID != rootInode {
		if in.Nlink == 0 {
			return ""
		}
		dir, name := in.place(s)
		parts = append(parts, name)
		if in = s.lookupInode(dir); in == nil {
			return ""
		}
	}
	if len(parts) == 0 {
		return "/"
	}
	var b strings.Builder
	for i := len(parts) - 1; i >= 0; i-- {
		b.WriteByte('/')
		b.WriteString(parts[i])
	}
	return b.String()
}

// Below returns the name of a path of the tree as a process sees it whose root directory differs from the tree's
// (chroot(2)); a root of 0 is the tree's. A path that does not lie below that directory stays as it is, and inside is
// false.
func (s *State) Below(root InodeID, name string) (seen string, inside bool) {
	if root == 0 || root == rootInode {
		return name, true
	}
	top := s.Name(root)
	rest, ok := strings.CutPrefix(name, top)
	switch {
	case !ok || top == "":
		return name, false
	case rest == "":
		return "/", true
	case rest[0] != '/': // a neighbour whose name begins alike
		return name, false
	}
	return rest, true
}
