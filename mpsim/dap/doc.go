// Package dap implements the Debug Adapter Protocol of editors for a [debug.Debugger].
//
// One client debugs one trace, which its launch request names. The run can be examined
// forward and back, and is read-only. Threads have the ids of the run plus one. While the
// run moves, only pause, threads and disconnect are answered at once; other requests wait.
//
// [Serve] may be called once per connection.
package dap
