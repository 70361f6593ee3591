package linux

import "strconv"

// Error numbers of Linux, asm-generic. A handler returns them negated.
const (
	EPERM        = 1
	ENOENT       = 2
	ESRCH        = 3
	EINTR        = 4
	EIO          = 5
	ENXIO        = 6
	E2BIG        = 7
	EBADF        = 9
	ECHILD       = 10
	EAGAIN       = 11
	ENOMEM       = 12
	EACCES       = 13
	EFAULT       = 14
	EBUSY        = 16
	EEXIST       = 17
	EXDEV        = 18
	ENODEV       = 19
	ENOTDIR      = 20
	EISDIR       = 21
	EINVAL       = 22
	EMFILE       = 24
	ENOTTY       = 25
	EFBIG        = 27
	ENOSPC       = 28
	ESPIPE       = 29
	EROFS        = 30
	EPIPE        = 32
	ERANGE       = 34
	EDEADLK      = 35
	ENAMETOOLONG = 36
	ENOSYS       = 38
	ENOTEMPTY    = 39
	ELOOP        = 40
	ENOMSG       = 42
	EIDRM        = 43
	EOVERFLOW    = 75
	ENOTSOCK     = 88
	EMSGSIZE     = 90
	EOPNOTSUPP   = 95
	EAFNOSUPPORT = 97
	ETIMEDOUT    = 110

	EDESTADDRREQ    = 89
	ESOCKTNOSUPPORT = 94
	EADDRINUSE      = 98
	EADDRNOTAVAIL   = 99
	ENETUNREACH     = 101
	EISCONN         = 106
	ENOTCONN        = 107
	ECONNREFUSED    = 111
)

func utoa(n uint64) string { return strconv.FormatUint(n, 10) }
