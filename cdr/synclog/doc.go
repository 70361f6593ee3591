// Package synclog codes S_synch, the total order of synchronisation operations of
// a run ("Compactly Representing Parallel Program Executions", PPoPP 2003), epoch
// by epoch. S_synch of an epoch is one block, whatever the threads:
//
//	payload = uvarint events
//	          uvarint n, then n times: uvarint thread - previous thread, uvarint row, uvarint lag
//	          the string of a model, to the end
//
// The threads and how many events each has are those of the commit block, in
// its order, from 0; threads without events are left out. A lag says that an
// object of that row of that thread is like the one so many events of the row
// earlier. The model predicts each event from those before it; see type model.
//
// A [Recorder] and a [Cursor] belong to one goroutine.
package synclog
