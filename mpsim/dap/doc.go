// Package dap speaks the Debug Adapter Protocol for a [debug.Debugger], as editors do
// with debuggers.
//
// One client debugs one trace, which its launch request names. The run can be looked at
// forward and back, and is read-only. Threads have the ids of the run plus one. While the
// run goes on or back only pause, threads and disconnect are answered at once; other
// requests wait.
//
// [Serve] may be called once for a connection.
package dap
