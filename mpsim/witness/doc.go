// Package witness runs the schedules that lead to what an analysis predicts (package
// predict), and reports whether the run shows it.
//
// A prediction is sound with regard to the events of the recorded run: its witness is a
// correct reordering of them. What is not recorded as events may differ in a real run, such
// as the time or the address that an allocator returns. Therefore a predicted race is
// reported only if the simulator followed its witness and the race analysis found the race
// in the recording of that run.
//
// A [Runner] may be used from one goroutine at a time.
package witness
