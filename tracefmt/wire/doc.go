// Package wire reads the small elements of traces and stand-alone codecs (bytes,
// variable-length numbers, sections of known length) from untrusted input. A [Reader]
// reads from a stream. It counts offsets, limits every length, and allocates no more than
// has arrived. A [Payload] reads from memory.
//
// It is a leaf, shared by the packages that define a format. A Reader or Payload belongs
// to one goroutine.
package wire
