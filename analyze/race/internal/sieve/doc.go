// Package sieve is the first pass of a race analysis: it finds the bytes on
// which there is a race at all, so that only the accesses to those bytes must
// be counted exactly (FastTrack, Flanagan and Freund, PLDI 2009).
//
// Each worker has its own [Sieve], which is for one goroutine. [Gather]
// collects the results.
package sieve
