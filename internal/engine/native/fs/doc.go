// Package fs is the file system of a world's node: names, inodes, mounts, locks and inotify as plain data, one State
// for each node.
//
// It is pure. State holds no goroutine, channel, function, wall clock, real descriptor or real inode number; inodes
// refer to each other by number, and encoding/gob may copy a State between any two calls, after which the copy goes
// on exactly like the original. Effects (the time, the files underneath, the bytes of written files) go through an
// Env that is passed into each call and never stored.
//
// # Layers
//
// A mount has a lower layer, a folder or a file of the host that is only ever read (Base), and an upper layer, which
// is this State. A directory looks a name up among its own entries first and in its base folder second; what it
// finds there it adopts as an inode of its own. A removed base name leaves an entry with inode 0, a whiteout. A base
// file is copied into a blob (Blobs) before the first change; since all programs that have it open refer to the inode, they see
// the new bytes (unlike with overlayfs). Base folders are read one component at a time and links in them are resolved
// here, so no link leads out of the node's tree.
//
// # What repeats
//
// Inode numbers are given in the order of first touch. Directories are listed in the order of names. A base file
// shows its own modification time in whole seconds, unless Config.Undated names it; everything else of the base shows
// the time at which the node started; reading changes no time (noatime). Directories have a link count of 1, as on btrfs, and so do base files. Allocated
// blocks follow from what was written. Dev, proc and sys are synthetic, /tmp, /run, /var/tmp and /dev/shm start
// empty, and a folder named .bloodhound shows nothing but its bin, and is absent without programs there: other runs write there.
//
// # How a kernel uses it
//
// A path starts at a directory's InodeID, so that a renamed directory that is open or a working directory
// continues to work. Open, and Ref for anything else that holds an inode, keep it alive; Unref lets go. From
// the inode's type Open decides what the kernel must do: FIFOs, sockets, devices and the synthetic files of /proc and /sys are the
// kernel's own, this package only finds them. Calls never wait: a lock that is taken answers EAGAIN.
//
// All changes of names pass through enter and leave, all changes of bytes through resize, writeAt and punch, and all
// changes of attributes through changed (mutate.go): a journal belongs there.
package fs
