// Package sieve is the first pass of a race analysis: it finds the bytes on which
// there is a race at all, so that exact counts need to be made of the accesses to
// those only (FastTrack, Flanagan and Freund, PLDI 2009).
//
// Each worker has a [Sieve] of its own, which is for one goroutine. [Gather]
// collects what they found.
package sieve
