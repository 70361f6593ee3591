// Package wire reads the small pieces that traces and the stand-alone codecs
// are made of (bytes, variable-length numbers, sections of known length) from
// input that is not to be trusted: a [Reader] from a stream, where it counts
// offsets, bounds every length and allocates no more than has arrived; a
// [Payload] from memory.
//
// It is a leaf that the packages with a format share. A Reader or Payload
// belongs to one goroutine.
package wire
