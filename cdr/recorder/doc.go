// Package recorder records what the threads of a run do, as a file that package
// cdr reads.
//
// A [Recorder] is an [event.Observer]. It works in epochs: when the grammars in
// memory reach [Options].Budget, they are written, closed by a commit block
// with the counts of each thread, and others begun. An epoch can be read alone:
// it begins with the threads' call stacks and with absolute addresses. Where
// batches begin and end does not show in the file. A [Scout] finds out
// beforehand which memory is shared.
//
// Basic blocks and paths are those of the program's static control flow
// ([Options].Program). What the simulator runs as one block is one or several
// basic blocks, one after the other; in the trace they are apart, so that a
// block count means the same here as in the papers. Code that the static view
// does not know, or that a fault cut short, is a block of its own.
//
// Runs of a path are counted before Sequitur sees them, as the paper does with
// differences: a loop is then one symbol and not a tower of rules, control
// strings come out up to a quarter smaller, and recording is faster.
//
// # Call stacks
//
// A path that ends with a call pushes the address after it, one that ends with
// a return pops, and so does an event that returns from a hooked function. The
// recorder follows [event.CallStack]; where a return really left more frames
// (a long jump, an exception) or none, a correction follows the terminal as soon
// as the target is known or [event.Unwound] tells. Folding the terminals
// therefore always returns the true stack.
//
// # Playing back
//
// Control flow that is recorded as arithmetic program paths has no grammar. A
// [Playback] makes it: it takes the recorder's steps again, from the blocks that
// the flow tells.
//
// A Recorder, a Scout and a Playback belong to one goroutine at a time.
package recorder
