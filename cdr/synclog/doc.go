// Package synclog compresses S_synch, the total order of the synchronisation operations
// of a run ("Compactly Representing Parallel Program Executions", PPoPP 2003, section
// 2.1). The operations of all threads in an epoch are one block:
//
//	payload = uvarint events
//	          uvarint n, then n times: uvarint thread - previous thread, uvarint row, uvarint lag
//	          the string of a model, to the end
//
// The threads are those of the commit block that have events, in its order and counted
// from 0; their numbers of events are there too. A lag of n says that an object of that
// row and thread resembles the object n events of the row earlier. The model predicts
// each event from the preceding ones; see type model.
//
// A [Recorder] and a [Cursor] belong to one goroutine at a time.
package synclog
