package net

// Address families: see socket(2).
const (
	AF_UNSPEC  = 0
	AF_UNIX    = 1
	AF_INET    = 2
	AF_INET6   = 10
	AF_NETLINK = 16
)

// Socket types: see socket(2).
const (
	SOCK_STREAM    = 1
	SOCK_DGRAM     = 2
	SOCK_RAW       = 3
	SOCK_SEQPACKET = 5
)

// Protocols.
const (
	IPPROTO_ICMP = 1
	IPPROTO_TCP  = 6
	IPPROTO_UDP  = 17

	NETLINK_ROUTE          = 0
	NETLINK_KOBJECT_UEVENT = 15
)

// Message flags: see send(2) and recv(2).
const (
	MSG_OOB      = 0x1
	MSG_PEEK     = 0x2
	MSG_TRUNC    = 0x20
	MSG_DONTWAIT = 0x40
	MSG_EOR      = 0x80
	MSG_ERRQUEUE = 0x2000
)

// Shutdown directions: see shutdown(2).
const (
	SHUT_RD   = 0
	SHUT_WR   = 1
	SHUT_RDWR = 2
)

// Events of poll(2); epoll uses the same bits.
const (
	POLLIN     = 0x1
	POLLPRI    = 0x2
	POLLOUT    = 0x4
	POLLERR    = 0x8
	POLLHUP    = 0x10
	POLLNVAL   = 0x20
	POLLRDNORM = 0x40
	POLLWRNORM = 0x100
	POLLWRBAND = 0x200
	POLLRDHUP  = 0x2000
)

const (
	pollIn  = POLLIN | POLLRDNORM
	pollOut = POLLOUT | POLLWRNORM
)
