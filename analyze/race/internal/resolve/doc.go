// Package resolve finds the executions that the first and the last instance of a
// static pair are. The runs of one site in one segment are walked from the front,
// or from the back, until one of them touches a place where the two units meet;
// the segment is reached by synch counts.
package resolve
