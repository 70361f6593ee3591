// Package recorder writes traces that package cdr reads: a [Recorder] observes a run and
// compresses what each thread does as in "Compactly Representing Parallel Program
// Executions" (PPoPP 2003), sections 2.1 to 2.4, over the acyclic paths of "Whole Program
// Paths" (PLDI 1999).
//
// # Epochs
//
// When the grammars in memory reach [Options].Budget, the epoch ends: they are written,
// followed by a commit block with the counts of each thread, and new ones begin. An epoch
// can be read alone: it begins with the call stacks of the threads and with absolute
// addresses. The file does not depend on where batches begin and end. A [Scout] observes
// a first run to find out which memory is shared.
//
// # Blocks and paths
//
// Basic blocks and paths are those of the program's static control flow
// ([Options].Program). A block of the simulator is one or more basic blocks in a row. The
// trace records them separately, so that a block count means the same as in the papers.
// Code that is not in the static control flow, or that a fault cut short, is a separate
// block. A cfg.Follower follows the paths.
//
// Runs of a path are counted before Sequitur sees them, as the paper does with
// differences. A loop is then one symbol instead of a tower of rules. Control strings are
// up to a quarter smaller, and recording is faster.
//
// # Call stacks
//
// A path that ends with a call pushes the address after the call. A path that ends with a
// return pops a frame, and so does an event that returns from a hooked function. Some
// returns leave more frames (a long jump, an exception) or none. The recorder follows
// [event.CallStack] and adds a correction as soon as it knows the target, so folding the
// terminals always returns the true stack.
//
// # Playback
//
// Control flow that is recorded as arithmetic program paths has no grammar. A [Playback]
// makes one: it repeats the recorder's steps with the blocks of the flow.
//
// # Goroutines
//
// A Recorder, a Scout and a Playback belong to one goroutine at a time.
package recorder
