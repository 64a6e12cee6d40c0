// Package errno has the error numbers of Linux on x86-64 that the native engine's files and sockets answer with. They are the
// world's, not this machine's, so that what decides about them builds and runs anywhere.
package errno

import "strconv"

// Errno is an error number of Linux; 0 is success.
type Errno int

// Error numbers: see errno(3).
const (
	OK              Errno = 0
	EPERM           Errno = 1
	ENOENT          Errno = 2
	EIO             Errno = 5
	ENXIO           Errno = 6
	E2BIG           Errno = 7
	EBADF           Errno = 9
	EAGAIN          Errno = 11
	ENOMEM          Errno = 12
	EACCES          Errno = 13
	EFAULT          Errno = 14
	EBUSY           Errno = 16
	EEXIST          Errno = 17
	EXDEV           Errno = 18
	ENODEV          Errno = 19
	ENOTDIR         Errno = 20
	EISDIR          Errno = 21
	EINVAL          Errno = 22
	ENFILE          Errno = 23
	EMFILE          Errno = 24
	ENOTTY          Errno = 25
	ETXTBSY         Errno = 26
	EFBIG           Errno = 27
	ENOSPC          Errno = 28
	ESPIPE          Errno = 29
	EROFS           Errno = 30
	EMLINK          Errno = 31
	EPIPE           Errno = 32
	EDOM            Errno = 33
	ERANGE          Errno = 34
	ENAMETOOLONG    Errno = 36
	ENOLCK          Errno = 37
	ENOTEMPTY       Errno = 39
	ELOOP           Errno = 40
	ENODATA         Errno = 61
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

var names = map[Errno]string{
	OK:              "OK",
	EPERM:           "EPERM",
	ENOENT:          "ENOENT",
	EIO:             "EIO",
	ENXIO:           "ENXIO",
	E2BIG:           "E2BIG",
	EBADF:           "EBADF",
	EAGAIN:          "EAGAIN",
	ENOMEM:          "ENOMEM",
	EACCES:          "EACCES",
	EFAULT:          "EFAULT",
	EBUSY:           "EBUSY",
	EEXIST:          "EEXIST",
	EXDEV:           "EXDEV",
	ENODEV:          "ENODEV",
	ENOTDIR:         "ENOTDIR",
	EISDIR:          "EISDIR",
	EINVAL:          "EINVAL",
	ENFILE:          "ENFILE",
	EMFILE:          "EMFILE",
	ENOTTY:          "ENOTTY",
	ETXTBSY:         "ETXTBSY",
	EFBIG:           "EFBIG",
	ENOSPC:          "ENOSPC",
	ESPIPE:          "ESPIPE",
	EROFS:           "EROFS",
	EMLINK:          "EMLINK",
	EPIPE:           "EPIPE",
	EDOM:            "EDOM",
	ERANGE:          "ERANGE",
	ENAMETOOLONG:    "ENAMETOOLONG",
	ENOLCK:          "ENOLCK",
	ENOTEMPTY:       "ENOTEMPTY",
	ELOOP:           "ELOOP",
	ENODATA:         "ENODATA",
	EDESTADDRREQ:    "EDESTADDRREQ",
	EMSGSIZE:        "EMSGSIZE",
	EPROTOTYPE:      "EPROTOTYPE",
	ENOPROTOOPT:     "ENOPROTOOPT",
	EPROTONOSUPPORT: "EPROTONOSUPPORT",
	ESOCKTNOSUPPORT: "ESOCKTNOSUPPORT",
	EOPNOTSUPP:      "EOPNOTSUPP",
	EAFNOSUPPORT:    "EAFNOSUPPORT",
	EADDRINUSE:      "EADDRINUSE",
	EADDRNOTAVAIL:   "EADDRNOTAVAIL",
	ENETUNREACH:     "ENETUNREACH",
	ECONNABORTED:    "ECONNABORTED",
	ECONNRESET:      "ECONNRESET",
	ENOBUFS:         "ENOBUFS",
	EISCONN:         "EISCONN",
	ENOTCONN:        "ENOTCONN",
	ETIMEDOUT:       "ETIMEDOUT",
	ECONNREFUSED:    "ECONNREFUSED",
	EHOSTUNREACH:    "EHOSTUNREACH",
	EALREADY:        "EALREADY",
	EINPROGRESS:     "EINPROGRESS",
}

// Error gives the name of the number, such as ENOENT.
func (e Errno) Error() string {
	if name, ok := names[e]; ok {
		return name
	}
	return "errno " + strconv.Itoa(int(e))
}
