//go:build !unix

package stopwatch

import "time"

var begun = time.Now()

// ProcessorTime returns the wall-clock time since the process began, because the
// processor time is not known on this system.
func ProcessorTime() time.Duration { return time.Since(begun) }
