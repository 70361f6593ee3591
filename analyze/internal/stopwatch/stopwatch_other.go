//go:build !unix

package stopwatch

import "time"

var begun = time.Now()

// ProcessorTime is the time on the clock since the process began: that of the
// processor is not known here.
func ProcessorTime() time.Duration { return time.Since(begun) }
