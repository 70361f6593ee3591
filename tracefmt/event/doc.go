// Package event is the vocabulary that the simulator and the recorders share:
// identifiers of threads, blocks and sites, what a simulated basic block is,
// the table of ordered events (synchronisation and heap), and the batches in
// which one thread's execution is handed to an [Observer].
//
// It is a leaf: it imports nothing of this module. The simulator, which
// produces batches, knows no analysis; the recorders, which consume them, know
// no machine.
//
// # The shape of a run
//
// A run is a sequence of batches. Each batch holds a stretch of ONE thread's
// execution; the machine runs one hart at a time, so the sequence of batches,
// and the events inside them, is the total order of the run. A batch says
// which blocks ran (Blocks), the addresses that the blocks' sites touched
// (Addrs: exactly the sum of len(Sites) over the blocks, in execution order)
// and the ordered events (Events), each placed by the number of blocks of the
// batch that ran before it.
//
// Observers are called from one goroutine at a time and need no locks.
package event
