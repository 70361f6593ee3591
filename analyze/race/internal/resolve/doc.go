// Package resolve finds the executions of the first and the last instance of a
// static pair. It walks the runs of one site in one segment from the front, or
// from the back, until one of them touches a place where the two units meet.
// Synch counts locate the segment.
package resolve
