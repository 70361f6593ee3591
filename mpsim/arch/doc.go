// Package arch models how a multiprocessor's memory system and branch
// predictors would have handled a run: a private L1 data cache for every hart,
// kept coherent by a snooping bus under MESI, and a gshare predictor for every
// hart.
//
// A [Model] is an [event.Observer]. It receives the batches of a run in the true global
// order and does not change the run. For every load, every store and every conditional
// branch it records one history bit (a miss, a misprediction), as in "Whole Execution
// Traces" (MICRO 2004), Table 4. For every cache line that more than one hart touched, it
// counts misses, invalidations and upgrades, distinguishes true-sharing from false-sharing
// misses (Dubois, Skeppstedt, Ricciulli, Ramamurthy, Stenström, "The Detection and
// Elimination of Useless Misses in Multiprocessors", ISCA 1993), and compares, word by
// word, an invalidation-based with an update-based protocol (PPoPP 2003, section 6).
//
// docs/architecture-model.md says what is modelled and what is not.
//
// # Files of this package
//
// config.go, observer.go (batches to accesses and branches), cache.go (sets and
// replacement), coherence.go (MESI, kinds of misses), word.go (the two
// protocols compared), predictor.go, history.go, result.go.
//
// A Model belongs to one goroutine at a time. Its memory grows with the lines
// that the program touches (about 100 bytes for each line and hart that touched
// it), not with the length of the run.
package arch
