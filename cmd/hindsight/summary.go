package main

import (
	"fmt"
	"io"

	"hindsight/mpsim/linux"
	"hindsight/mpsim/session"
	"hindsight/tracefmt/numtext"
)

// summary is the line that a run ends with.
func summary(r *session.Summary, file string) string {
	mips := float64(r.Insts) / 1e6 / max(r.Elapsed.Seconds(), 1e-9)
	threads := "threads"
	if r.Threads == 1 {
		threads = "thread"
	}
	line := fmt.Sprintf("%s instructions, %d %s", numtext.Grouped(r.Insts), r.Threads, threads)
	if file != "" {
		line += fmt.Sprintf(", %s in %s", numtext.Bytes(r.Size), file)
	}
	return line + fmt.Sprintf(", %.1f MIPS", mips)
}

// maxThreads is how many threads of a run that was ended are told of.
const maxThreads = 16

// trouble tells, a line each, what went wrong with the guest, with places.
func trouble(w io.Writer, r *session.Summary) {
	stack := func(pcs []uint64) {
		for i, pc := range pcs {
			if i > 0 {
				pc-- // a return address: the call stands before it
			}
			for _, f := range r.Image.Frames(pc) {
				fmt.Fprintf(w, "    #%d %s\n", i, f.Short())
			}
			if i == maxFrames {
				fmt.Fprintf(w, "    … %d more\n", len(pcs)-i-1)
				return
			}
		}
	}
	switch {
	case len(r.Deadlock) > 0:
		fmt.Fprintln(w, "hindsight: deadlock: every thread waits")
		for _, d := range r.Deadlock {
			fmt.Fprintf(w, "  thread T%d waits for %s\n", d.Thread, d.For)
			stack(d.Stack)
		}
	case r.Limit != linux.NoLimit:
		flag := "--max-memory"
		if r.Limit == linux.ThreadLimit {
			flag = "--max-threads"
		}
		fmt.Fprintf(w, "hindsight: %s (%s)\n", r.Message, flag)
		if r.Fault != nil {
			stack(r.Fault.Stack)
		}
	case r.Hung:
		fmt.Fprintf(w, "hindsight: %s (--hang-limit)\n", r.Message)
	case r.LimitReached:
		fmt.Fprintf(w, "hindsight: %s (--max-instructions)\n", r.Message)
	case r.Fault != nil:
		fmt.Fprintf(w, "hindsight: %v\n", r.Fault)
		stack(r.Fault.Stack)
	case r.Message != "":
		fmt.Fprintf(w, "hindsight: %s\n", r.Message)
	}
	if len(r.Stood) > 0 {
		fmt.Fprintln(w, "hindsight: where the threads stood:")
	}
	for i, at := range r.Stood {
		if i == maxThreads {
			fmt.Fprintf(w, "  … %d more\n", len(r.Stood)-i)
			break
		}
		if at.For == "" {
			fmt.Fprintf(w, "  thread T%d runs\n", at.Thread)
		} else {
			fmt.Fprintf(w, "  thread T%d waits for %s\n", at.Thread, at.For)
		}
		stack(at.Stack)
	}
	if r.Refused > 0 {
		fmt.Fprintf(w, "hindsight: the guest was refused memory %s (--max-memory)\n", numtext.Plural(r.Refused, "time"))
	}
	for _, u := range r.Unsupported {
		fmt.Fprintf(w, "hindsight: system call %s is not supported (%d calls got ENOSYS)\n", u.Name, u.Count)
	}
}

// maxFrames bounds a printed call stack.
const maxFrames = 24
