// Package schedule represents schedules as data: which thread ran, for how many
// instructions or up to which place, step by step. The simulator derives the
// schedule of every run (mpsim.Config.Trail) and can follow a given one
// (mpsim.Config.Schedule). The commands confirm and minimize create new ones.
//
// The text form has one line per step, so it can be read, compared and edited:
//
//	hindsight schedule 1
//	# comments and empty lines count for nothing
//	T0 1234 @0x10450          # T0 runs 1234 instructions, then it is at 0x10450
//	T1 to 0x104f2             # T1 runs up to the instruction at 0x104f2
//	T1 to 0x104f2 x3          # up to the third time that it comes there
//	T2 rest                   # T2 runs until it waits or ends
//	T1 events 12 accesses 34  # until it has had 12 events and 34 accesses, since it began
//	clock 5000000             # a sleep ends early: it is 5000000 ns
//
// The place after @ is optional. If it is given, a run that follows the schedule is
// compared with it.
//
// A [Schedule] may be read from several goroutines. It shares nothing with the
// text that it was parsed from.
package schedule
