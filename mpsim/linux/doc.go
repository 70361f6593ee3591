// Package linux is the system call layer of the simulator: what a RISC-V Linux kernel would
// do for one process with several threads. It loads the program, keeps the signal and
// waiting state of the tasks, serves files from a contained virtual file system, and has a
// virtual clock.
//
// # How the machine uses it
//
// [New] loads an image and returns the main [Task] and its first [Context]. The machine has
// one Context per task, at the same address for the task's whole life.
//
//   - On an ecall, it calls [Kernel.Syscall] with Context.PC already after the
//     ecall, and does what the [Outcome] says. In any case the task's next
//     instruction is at Context.PC.
//   - On a fault of the guest, it calls [Kernel.Raise] with Context.PC at the
//     faulting instruction.
//   - Before it lets a task run whose [Task.Pending] is true, it calls
//     [Kernel.Deliver].
//   - It takes the tasks that can run again from [Kernel.Woken]. Their results
//     are already in their Contexts.
//   - It advances the clock ([Kernel.Advance]) as instructions retire, and calls
//     [Kernel.Expire] when [Kernel.NextDeadline] has passed. When no task can
//     run, it moves the clock to the next deadline. If there is none, the guest
//     is deadlocked, and [Task.Wait] says what each task waits for.
//
// A [Tracer] is told what the guest's calls order.
//
// The guest sees nothing of the host: neither its clock, its process ids, its environment,
// nor its files outside [Config].Root. The same calls in the same order return the same
// results.
//
// # What is not supported
//
// Processes (fork, exec, wait), networks beyond the guest's own host, signals that stop a
// process, timers of processor time, writable shared mappings of files of the root
// directory, and futexes that requeue to a priority-inheriting lock. Such calls return
// ENOSYS or the error that Linux returns in such cases, and [Kernel.Unsupported] lists
// them. Priorities are accepted and have no effect.
//
// # Files of this package
//
// The kernel: kernel.go (Kernel, and how a call is dispatched), table.go (the calls by
// number), args.go, errno.go, task.go (Task, Context, Outcome), trace.go (what calls order),
// state.go (the kernel's state as memory), load.go (loading the program), images.go (shared
// objects).
//
// Descriptors and files: file.go (the table of descriptors), paths.go (paths of calls, and
// the files that every guest finds), files.go (calls on paths), chmod.go, memfiles.go,
// descriptors.go (dup, fcntl, poll, select), rw.go and sendfile.go (reading and writing),
// again.go (newer variants of calls), devices.go, proc.go, numbers.go (order through reused
// descriptor numbers). The files themselves are in package vfs.
//
// Pipes and other objects with a descriptor: pipe.go (also eventfd), epoll.go, eventfiles.go
// (signalfd, timerfd). Sockets: socket.go, address.go, connect.go, message.go, batch.go,
// rights.go. Queues, semaphores and shared memory: mqueue.go (POSIX), sysv.go, sysvqueue.go.
//
// Processes and threads: process.go, futex.go, hwprobe.go. Signals: signal.go, sigcalls.go,
// sigframe.go. Time: time.go, posixtimer.go. Memory: memory.go.
//
// A Kernel belongs to one goroutine at a time.
package linux
