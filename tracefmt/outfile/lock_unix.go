//go:build darwin || dragonfly || freebsd || linux || netbsd || openbsd

package outfile

import (
	"errors"
	"syscall"
)

// lock locks an open file for this process until it is closed, either shared or
// exclusively. ok is false if another process has the lock. On a file system without
// locks it always succeeds.
func lock(fd uintptr, shared bool) (ok bool) {
	how := syscall.LOCK_EX
	if shared {
		how = syscall.LOCK_SH
	}
	for {
		err := syscall.Flock(int(fd), how|syscall.LOCK_NB)
		if errors.Is(err, syscall.EINTR) {
			continue
		}
		return !errors.Is(err, syscall.EWOULDBLOCK)
	}
}
