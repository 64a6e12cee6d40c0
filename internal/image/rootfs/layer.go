// Package rootfs describes the unpacked files of an image: its layers, the tree that they form together, and where file contents lie.
// It needs neither a registry nor a store, so engines can use it alone.
package rootfs

// Kind of a name, as in archives.
type Kind byte

const (
	File     Kind = '0'
	Symlink  Kind = '2'
	Folder   Kind = '5'
	FIFO     Kind = '6'
	Whiteout Kind = 'w' // hides a name of the layers below
	Opaque   Kind = 'o' // hides everything that the layers below have in this folder
)

// Entry is one name of a layer.
type Entry struct {
	Path     string // relative to the root, without leading or trailing slash; the root is ""
	Kind     Kind
	Mode     uint32 // permissions, with the set-id and sticky bits of chmod(2)
	UID, GID int
	Size     int64 // of a File, in bytes
	MtimeNs  int64 // since 1970
	Target   string
	Digest   string            // of a File's content: sha256, hex
	First    string            // the path of the entry that this one is a further hard link of, or empty
	Xattrs   map[string]string // extended attributes
}

// Layer lists the entries of one layer in the order of its archive: a later entry of the same path wins.
type Layer struct {
	Entries []Entry
	// Skipped are device nodes below dev, of which every world has its own.
	Skipped []string
}
