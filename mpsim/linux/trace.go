package linux

import "hindsight/tracefmt/event"

// Tracer is told what the calls of the guest do besides their results: what the objects
// of the kernel order, and which handlers run. Its methods are called within the calls
// of [Kernel] that cause them. The task is the one that acts. It need not be the one
// that the machine runs: a write wakes a reader, whose read is then finished at once.
type Tracer interface {
	// Enter is called when t is about to continue in the handler of a signal, at an
	// address. The registers of t are still those at the time of the signal.
	Enter(t *Task, signal int, handler uint64)
	// Handle returns a number for Publish, Observe and Forget that the run has not
	// used yet.
	Handle() uint64
	// Emit emits an ordered event of t; the machine fills in the place.
	Emit(t *Task, e event.Event)
	// Own reports whether the program itself makes the call that t is in, and not a
	// library for its own purposes.
	Own(t *Task) bool
}

// handle is something to publish and observe. It gets its number when it is first
// published.
type handle uint64

// Quiet says that the kernel's present accesses to the guest's memory are not accesses
// of the program: those to a futex word, a frame for a signal, or mappings.
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

// promise is publish for a file that takes bytes. [Kernel.keep] follows when the bytes
// were read.
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

// observe orders the acting task after all that was published.
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

// pass orders the task to after what the acting task has done so far.
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

// Own reports whether the program itself made the task, and not the C library for it.
func (t *Task) Own() bool { return t.own }

// Internal reports whether the C library keeps a signal for itself.
func Internal(signal int) bool { return signal >= firstRT && signal < firstUser }
