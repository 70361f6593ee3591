//go:build !unix

package mpsim

import "os/exec"

// signalOf returns 0: no process ends by a signal.
func signalOf(*exec.ExitError) int { return 0 }
