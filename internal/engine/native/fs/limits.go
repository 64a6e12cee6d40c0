package fs

// Limits and fixed figures. Reaching one is an errno, never growth without bound.
const (
	maxPathBytes = 4095 // PATH_MAX less the terminating NUL: ENAMETOOLONG
	maxNameBytes = 255  // NAME_MAX: ENAMETOOLONG
	maxLinks     = 40   // symbolic links followed in one path (MAXSYMLINKS): ELOOP
	maxSymlink   = 4095 // bytes of a link's target: ENAMETOOLONG
	maxHardlinks = 65000
	maxFileBytes = 1<<44 - 4096 // ext4 with blocks of 4 KiB: EFBIG

	defaultQuotaBytes = 16 << 30 // allocated bytes of a node: ENOSPC
	defaultInodes     = 1 << 20  // of a node, base files that were touched included: ENOSPC

	maxSynths       = 4096 // remembered names of /proc and /sys that are not open
	maxLocks        = 4096 // locks on one inode: ENOLCK
	maxXattrBytes   = 64 << 10
	maxXattrName    = 255
	maxInotify      = 128   // fs.inotify.max_user_instances: EMFILE
	maxWatches      = 65536 // fs.inotify.max_user_watches, of one instance: ENOSPC
	maxQueuedEvents = 16384 // fs.inotify.max_queued_events: IN_Q_OVERFLOW

	pageBytes  = 4096
	blockBytes = 512 // the unit of st_blocks

	rootInode  = InodeID(2)
	firstSynth = InodeID(1) << 40 // numbers of /proc and /sys do not shift those of files
)
