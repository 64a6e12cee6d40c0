package net

import "strconv"

// Errno is a Linux error number (x86-64); 0 is success.
type Errno int

// Error numbers that this package answers with: see errno(3).
const (
	OK              Errno = 0
	EPERM           Errno = 1
	ENOENT          Errno = 2
	EBADF           Errno = 9
	EAGAIN          Errno = 11
	ENOMEM          Errno = 12
	EACCES          Errno = 13
	EFAULT          Errno = 14
	ENODEV          Errno = 19
	EINVAL          Errno = 22
	ENFILE          Errno = 23
	ENOTTY          Errno = 25
	EPIPE           Errno = 32
	EDOM            Errno = 33
	EDESTADDRREQ    Errno = 89
	EMSGSIZE        Errno = 90
	EPROTOTYPE      Errno = 91
	ENOPROTOOPT     Errno = 92
	EPROTONOSUPPORT Errno = 93
	ESOCKTNOSUPPORT Errno = 94
	EOPNOTSUPP      Errno = 95
	EAFNOSUPPORT    Errno = 97
	EADDRINUSE      Errno = 98
	EADDRNOTAVAIL   Errno = 99
	ENETUNREACH     Errno = 101
	ECONNABORTED    Errno = 103
	ECONNRESET      Errno = 104
	ENOBUFS         Errno = 105
	EISCONN         Errno = 106
	ENOTCONN        Errno = 107
	ETIMEDOUT       Errno = 110
	ECONNREFUSED    Errno = 111
	EHOSTUNREACH    Errno = 113
	EALREADY        Errno = 114
	EINPROGRESS     Errno = 115
)

var errnoNames = map[Errno]string{
	OK: "OK", EPERM: "EPERM", ENOENT: "ENOENT", EBADF: "EBADF", EAGAIN: "EAGAIN", ENOMEM: "ENOMEM", EACCES: "EACCES",
	EFAULT: "EFAULT", ENODEV: "ENODEV", EINVAL: "EINVAL", ENFILE: "ENFILE", ENOTTY: "ENOTTY", EPIPE: "EPIPE", EDOM: "EDOM",
	EDESTADDRREQ: "EDESTADDRREQ", EMSGSIZE: "EMSGSIZE", EPROTOTYPE: "EPROTOTYPE", ENOPROTOOPT: "ENOPROTOOPT",
	EPROTONOSUPPORT: "EPROTONOSUPPORT", ESOCKTNOSUPPORT: "ESOCKTNOSUPPORT", EOPNOTSUPP: "EOPNOTSUPP",
	EAFNOSUPPORT: "EAFNOSUPPORT", EADDRINUSE: "EADDRINUSE", EADDRNOTAVAIL: "EADDRNOTAVAIL", ENETUNREACH: "ENETUNREACH",
	ECONNABORTED: "ECONNABORTED", ECONNRESET: "ECONNRESET", ENOBUFS: "ENOBUFS", EISCONN: "EISCONN",
	ENOTCONN: "ENOTCONN", ETIMEDOUT: "ETIMEDOUT", ECONNREFUSED: "ECONNREFUSED", EHOSTUNREACH: "EHOSTUNREACH",
	EALREADY: "EALREADY", EINPROGRESS: "EINPROGRESS",
}

// Error gives the name of the number, such as ECONNREFUSED.
func (e Errno) Error() string {
	if n, ok := errnoNames[e]; ok {
		return n
	}
	return "errno " + strconv.Itoa(int(e))
}

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
