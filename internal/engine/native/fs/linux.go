package fs

// Types and bits of a mode: see inode(7).
const (
	S_IFMT   = 0o170000
	S_IFSOCK = 0o140000
	S_IFLNK  = 0o120000
	S_IFREG  = 0o100000
	S_IFBLK  = 0o060000
	S_IFDIR  = 0o040000
	S_IFCHR  = 0o020000
	S_IFIFO  = 0o010000
	S_ISUID  = 0o4000
	S_ISGID  = 0o2000
	S_ISVTX  = 0o1000

	permBits = 0o7777
)

// Flags of open(2) on x86-64.
const (
	O_RDONLY    = 0
	O_WRONLY    = 1
	O_RDWR      = 2
	O_ACCMODE   = 3
	O_CREAT     = 0o100
	O_EXCL      = 0o200
	O_TRUNC     = 0o1000
	O_DIRECTORY = 0o200000
	O_NOFOLLOW  = 0o400000
	O_NOATIME   = 0o1000000
	O_PATH      = 0o10000000

	oTmpfile = 0o20000000
)

// What access(2) asks for.
const (
	R_OK = 4
	W_OK = 2
	X_OK = 1
)

// Flags of renameat2(2).
const (
	RENAME_NOREPLACE = 1
	RENAME_EXCHANGE  = 2
)

// Modes of fallocate(2).
const (
	FALLOC_FL_KEEP_SIZE  = 0x1
	FALLOC_FL_PUNCH_HOLE = 0x2
	FALLOC_FL_ZERO_RANGE = 0x10
)

// Events and flags of inotify(7).
const (
	IN_ACCESS        = 0x1
	IN_MODIFY        = 0x2
	IN_ATTRIB        = 0x4
	IN_CLOSE_WRITE   = 0x8
	IN_CLOSE_NOWRITE = 0x10
	IN_OPEN          = 0x20
	IN_MOVED_FROM    = 0x40
	IN_MOVED_TO      = 0x80
	IN_CREATE        = 0x100
	IN_DELETE        = 0x200
	IN_DELETE_SELF   = 0x400
	IN_MOVE_SELF     = 0x800
	IN_ALL_EVENTS    = 0xfff
	IN_Q_OVERFLOW    = 0x4000
	IN_IGNORED       = 0x8000
	IN_ONLYDIR       = 0x1000000
	IN_DONT_FOLLOW   = 0x2000000
	IN_EXCL_UNLINK   = 0x4000000
	IN_MASK_CREATE   = 0x10000000
	IN_MASK_ADD      = 0x20000000
	IN_ISDIR         = 0x40000000
	IN_ONESHOT       = 0x80000000
)

// Seals of fcntl(2).
const (
	F_SEAL_SEAL         = 0x1
	F_SEAL_SHRINK       = 0x2
	F_SEAL_GROW         = 0x4
	F_SEAL_WRITE        = 0x8
	F_SEAL_FUTURE_WRITE = 0x10
	F_SEAL_EXEC         = 0x20
)
