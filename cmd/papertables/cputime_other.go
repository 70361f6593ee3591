//go:build !unix

package main

import "time"

// cpuTime is unknown on this system, so times are wall times.
func cpuTime() (time.Duration, bool) { return 0, false }
