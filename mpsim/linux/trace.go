package linux

import "hindsight/tracefmt/event"

// Tracer is told the effects of the guest's calls besides their results: what the objects
// of the kernel order, and which handlers run. Its methods are called within the calls of
// [Kernel] that cause them. The task passed to a method is the acting one. It need not be
// the one that the machine runs: for example, a write wakes a reader, and the reader's call
// is completed at once.
type Tracer interface {
	// Enter is called when t is about to continue in the handler of a signal, at an
	// address. The registers of t are still those at the time of the signal.
	Enter(t *Task, signal int, handler uint64)
	// Handle returns a number for Publish, Observe and Forget that the run has not used
	// yet.
	Handle() uint64
	// Emit emits an ordered event of t. The machine fills in the place.
	Emit(t *Task, e event.Event)
	// Own reports whether the program itself makes the call that t is in, as opposed to a
	// library for its own purposes.
	Own(t *Task) bool
}

// handle is something to publish and observe. It is assigned its number when it is first
// published.
type handle uint64

// Quiet reports whether the kernel's present accesses to guest memory do not count as
// accesses of the program: those to a futex word, a signal frame, or mappings.
func (k *Kernel) Quiet() bool { return k.quiet }

// traced reports whether order is being recorded.
func (k *Kernel) traced() bool { return k.cfg.Tracer != nil && k.acting != nil }

// own reports whether the acting task's call is the program's own.
func (k *Kernel) own() bool { return k.traced() && k.cfg.Tracer.Own(k.acting) }

// publish publishes what the acting task has done so far.
func (k *Kernel) publish(h *handle) {
	k.promise(h)
	k.keep()
}

// promise is like publish, for a file that takes bytes. [Kernel.keep] follows when the
// bytes have been read.
func (k *Kernel) promise(h *handle) {
	if !k.traced() {
		return
	}
	if *h == 0 {
		*h = handle(k.cfg.Tracer.Handle())
	}
	k.promised = append(k.promised, *h)
}

// keep publishes what was promised.
func (k *Kernel) keep() {
	for _, h := range k.promised {
		k.cfg.Tracer.Emit(k.acting, event.Event{Kind: event.Publish, Obj: uint64(h)})
	}
	k.promised = k.promised[:0]
}

// observe orders the acting task after everything that was published with h.
func (k *Kernel) observe(h handle) {
	if k.traced() && h != 0 {
		k.cfg.Tracer.Emit(k.acting, event.Event{Kind: event.Observe, Obj: uint64(h)})
	}
}

// forget ends a handle that nobody will observe any more.
func (k *Kernel) forget(h *handle) {
	if k.traced() && *h != 0 {
		k.cfg.Tracer.Emit(k.acting, event.Event{Kind: event.Forget, Obj: uint64(*h)})
	}
	*h = 0
}

// pass orders the task after what the acting task has done so far.
func (k *Kernel) pass(to *Task) {
	if !k.traced() || to == k.acting {
		return
	}
	var h handle
	k.publish(&h)
	k.onBehalf(to, func() {
		k.observe(h)
		k.forget(&h)
	})
}

// Own reports whether the program itself created the task, as opposed to the C library.
func (t *Task) Own() bool { return t.own }

// Internal reports whether the C library reserves a signal for itself.
func Internal(signal int) bool { return signal >= firstRT && signal < firstUser }
