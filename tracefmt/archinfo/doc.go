// Package archinfo is what a trace keeps of a modelled memory system and its
// branch predictors: the payloads of arch and arch-summary blocks, both ways.
// It imports nothing of this module but package event, and knows neither the
// model nor the analysis.
//
// # Arch block
//
// One a thread and epoch: the history bits of the thread's loads, stores and
// conditional branches since the thread's arch block before, in the order in
// which it executed them. 1 is a miss or a misprediction.
//
//	payload = 1 form (1), then for loads, stores, branches:
//	          uvarint bits, uvarint ones, uvarint bytes, coded bits
//
// The bits are coded with a binary range coder whose probabilities adapt under
// the last 12 bits of the same stream, so that a loop that misses once a line
// costs nearly nothing. State begins anew with each block. See coder.go.
//
// An epoch's arch blocks stand before its commit block. They may run ahead of
// the epoch's control flow by the rest of a batch; all of them together hold
// the whole run.
//
// # Arch-summary block
//
// One, at the end of a trace that was closed: the configuration, the totals of
// each hart, and the lines that were shared, that cost most first. See
// summary.go.
//
// Decoders take any bytes: they give an error, never panic, and allocate in
// proportion to the payload.
package archinfo
