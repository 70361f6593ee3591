// Package stopwatch measures what benchmarks cost: the processor time of this
// process, which does not depend on what else the machine does.
package stopwatch
