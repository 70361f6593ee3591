// Package export writes a run in the formats of other programs: the timeline of Perfetto,
// a profile for pprof and flame graphs, and RAPID's STD text. The packages below it
// implement the formats; this one fills them from an [analyze.Trace].
//
// The functions read the trace and may be called by several goroutines at once. They
// write to w until the first error and do not close it.
package export
