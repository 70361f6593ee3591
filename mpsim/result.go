package mpsim

import (
	"fmt"
	"strings"

	"hindsight/mpsim/linux"
	"hindsight/mpsim/linux/vfs"
	"hindsight/mpsim/schedule"
	"hindsight/tracefmt/event"
)

// Result is the outcome of a run.
type Result struct {
	event.Outcome
	// Fault is set when one of the guest's own instructions caused the signal that ended
	// the run.
	Fault *Fault
	// Deadlock lists the threads, in order of their ids, if the run ended because none of
	// them could ever run again.
	Deadlock []Waiting
	// Stood lists the threads in the same way if the run was interrupted or reached its
	// limit: where each was, and what it was waiting for.
	Stood []Waiting
	// Unsupported lists the system calls of the guest that are not supported.
	Unsupported []linux.Unsupported
	// Steps is the number of instructions that ran while there was more than one thread,
	// under the policy PCT.
	Steps uint64
	// Written is what the guest wrote to files.
	Written vfs.Written
	// Limit is the limit of memory or threads that ended the run, if one did.
	Limit linux.Limit
	// Refused counts the requests for memory that were refused because of
	// Config.MaxMemory: the guest got ENOMEM.
	Refused uint64
	// Interrupted: the context was cancelled. LimitReached: Config.MaxInsts was reached.
	Interrupted, LimitReached bool
	// Schedule is who ran, if Config.Trail asked for it.
	Schedule *schedule.Schedule
	// Diverged says where the run left Config.Schedule. nil: it followed all of it.
	Diverged *Divergence
	// Hung: the limit that was reached is Config.HangInsts.
	Hung bool
}

// Fault is an access or instruction that failed.
type Fault struct {
	Thread event.ThreadID
	PC     uint64 // of the instruction
	Addr   uint64 // what it accessed; PC when the instruction itself is at fault
	Signal int
	Reason string   // "write to 0x0: not mapped"
	Stack  []uint64 // PC, then the return addresses, innermost first
}

func (f *Fault) String() string {
	return fmt.Sprintf("thread T%d: %s at pc %#x: %s", f.Thread, linux.SignalName(f.Signal), f.PC, f.Reason)
}

// Waiting is a thread, its place, and what it is waiting for.
type Waiting struct {
	Thread event.ThreadID
	For    string   // "" if it runs, else "mutex 0x… held by thread T2", or the system call and its object
	Stack  []uint64 // as of Fault
}

func deadlockMessage(all []Waiting) string {
	var b strings.Builder
	b.WriteString("deadlock:")
	for n, w := range all {
		if n > 0 {
			b.WriteByte(';')
		}
		fmt.Fprintf(&b, " thread T%d waits for %s", w.Thread, w.For)
	}
	return b.String()
}
