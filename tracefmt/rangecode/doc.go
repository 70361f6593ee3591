// Package rangecode is a binary arithmetic coder: it codes decisions between two outcomes
// in fractions of a bit, given their probabilities. The caller supplies the
// probabilities.
//
// The coder is the carry-propagating range coder of G. N. N. Martin, "Range encoding: an
// algorithm for removing redundancy from a digitised message" (1979), with an interval of
// 32 bits and a cached byte. The caller divides the interval's width into two parts, and
// the part of the outcome becomes the new interval. The interval is never narrower than
// [MinWidth] when a decision begins.
//
// A [Mixer] codes decisions whose probabilities it learns itself, in contexts that the
// caller chooses.
//
// It is a leaf that codecs share. An [Encoder], a [Decoder] and a [Mixer] belong to one
// goroutine. A decoder never fails: after the end of its input it reads zeros, and
// [Decoder.Overrun] says that it did.
package rangecode
