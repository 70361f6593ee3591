//go:build unix

package mpsim

import (
	"os/exec"
	"syscall"
)

func signalOf(exit *exec.ExitError) int {
	if status, ok := exit.Sys().(syscall.WaitStatus); ok {
		return int(status.Signal())
	}
	return 0
}
