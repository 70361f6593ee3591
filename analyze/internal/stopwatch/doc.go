// Package stopwatch measures the cost of benchmarks in processor time of this process,
// which depends little on what else the machine does.
package stopwatch
