package linux

import (
	"strconv"

	"hindsight/mpsim/linux/vfs"
)

// Error numbers of Linux, asm-generic. A handler returns them negated. Package vfs
// has the numbers of those that the file system returns.
const (
	EPERM        = vfs.EPERM
	ENOENT       = vfs.ENOENT
	ESRCH        = 3
	EINTR        = 4
	EIO          = 5
	ENXIO        = vfs.ENXIO
	E2BIG        = 7
	EBADF        = vfs.EBADF
	ECHILD       = 10
	EAGAIN       = 11
	ENOMEM       = 12
	EACCES       = vfs.EACCES
	EFAULT       = 14
	EBUSY        = 16
	EEXIST       = vfs.EEXIST
	EXDEV        = vfs.EXDEV
	ENODEV       = 19
	ENOTDIR      = vfs.ENOTDIR
	EISDIR       = vfs.EISDIR
	EINVAL       = vfs.EINVAL
	EMFILE       = 24
	ENOTTY       = 25
	EFBIG        = vfs.EFBIG
	ENOSPC       = vfs.ENOSPC
	ESPIPE       = 29
	EROFS        = vfs.EROFS
	EPIPE        = 32
	ERANGE       = 34
	EDEADLK      = 35
	ENAMETOOLONG = vfs.ENAMETOOLONG
	ENOSYS       = 38
	ENOTEMPTY    = vfs.ENOTEMPTY
	ELOOP        = vfs.ELOOP
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
