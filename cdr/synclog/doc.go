// Package synclog compresses S_synch, the total order of the synchronisation
// operations of a run ("Compactly Representing Parallel Program Executions", PPoPP
// 2003, section 2.1). The operations of all threads in an epoch are one block:
//
//	payload = uvarint events
//	          uvarint n, then n times: uvarint thread - previous thread, uvarint row, uvarint lag
//	          the string of a model, to the end
//
// The threads and their numbers of events are those of the commit block, in its order
// and counted from 0, without threads that have no events. A lag says that an object of
// that row and thread resembles the one that many events of the row earlier. The model
// predicts each event from those before it; see type model.
//
// A [Recorder] and a [Cursor] belong to one goroutine at a time.
package synclog
