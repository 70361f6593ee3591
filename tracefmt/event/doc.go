// Package event is the vocabulary that the simulator and the recorders share: identifiers
// of threads, blocks and sites, the description of a simulated basic block, the table of
// ordered events (synchronisation and heap), and the batches in which an [Observer]
// receives the execution of a thread.
//
// It is a leaf: it imports nothing of this module. The simulator, which produces batches,
// does not know about analysis. The recorders, which consume them, do not know about the
// machine.
//
// # The shape of a run
//
// A run is a sequence of batches. Each batch is a part of the execution of ONE thread.
// The machine runs one hart at a time, so the sequence of batches, with the events inside
// them, is the total order of the run. A batch contains the blocks that ran (Blocks), the
// addresses that the sites of these blocks accessed (Addrs: exactly the sum of len(Sites)
// over the blocks, in execution order) and the ordered events (Events). The position of
// an event is the number of blocks of the batch that ran before it.
//
// Observers are called from one goroutine at a time and need no locks.
package event
