// Package wire reads the small pieces that the stand-alone trace codecs are
// made of (bytes, variable-length numbers, sections of known length) from
// input that is not to be trusted: it counts offsets, bounds every length, and
// allocates no more than has arrived.
//
// It is a leaf that the codec packages below tracefmt share. A [Reader]
// belongs to one goroutine.
package wire
