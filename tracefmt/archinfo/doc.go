// Package archinfo encodes and decodes what a trace stores about a modelled memory system
// and its branch predictors: the payloads of arch and arch-summary blocks. It imports
// nothing of this module but package event, and knows neither the model nor the analysis.
//
// # Arch block
//
// There is one block per thread and epoch. It has the history bits of the thread's loads,
// stores and conditional branches since its previous arch block, in order of execution. 1
// is a miss or a misprediction.
//
//	payload = 1 form (1), then for loads, stores, branches:
//	          uvarint bits, uvarint ones, uvarint bytes, coded bits
//
// The bits are coded with an adaptive binary range coder in the context of the last 12
// bits of the same stream, so a loop that misses once per cache line takes almost no
// space. The state is reset for each block. See coder.go.
//
// An epoch's arch blocks come before its commit block. They may be ahead of the epoch's
// control flow by the rest of a batch. All of them together cover the whole run.
//
// # Arch-summary block
//
// There is one such block, at the end of a trace that was closed. It has the
// configuration, the totals of each hart, and the shared lines, the most expensive first.
// See summary.go.
//
// Decoders accept any bytes: they return an error, never panic, and allocate in
// proportion to the payload.
package archinfo
