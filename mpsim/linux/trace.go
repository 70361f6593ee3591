package linux

import "hindsight/tracefmt/event"

// Tracer hears what the calls of the guest do beside their results: what the
// objects of the kernel put in order, and which handlers run. The methods are
// called in the middle of the calls of [Kernel] that bring them about; the task
// is the one that acts, which need not be the one that the machine runs: a
// write wakes a reader, whose read is then finished at once.
type Tracer interface {
	// Enter tells that t is about to continue in the handler of a signal, which is at
	// an address. Its registers are still as the signal found them.
	Enter(t *Task, signal int, handler uint64)
	// Handle returns a number for Publish, Observe and Forget that the run has not
	// used yet.
	Handle() uint64
	// Emit tells an ordered event of t; the machine fills in the place.
	Emit(t *Task, e event.Event)
	// Own reports whether the program itself makes the call that t is in, and no
	// library on its own account.
	Own(t *Task) bool
}

// handle is something to publish and observe; it gets its number when it is
// published first.
type handle uint64

// Quiet says that what the kernel does to the guest's memory at the moment is no
// access of the program's: to a futex word, a frame for a signal, or mappings.
func (k *Kernel) Quiet() bool { return k.quiet }

// traced reports whether somebody hears of order now.
func (k *Kernel) traced() bool { return k.cfg.Tracer != nil && k.acting != nil }

// own reports whether the acting task's call is the program's own.
func (k *Kernel) own() bool { return k.traced() && k.cfg.Tracer.Own(k.acting) }

// publish makes what the acting task did until now there to be taken.
func (k *Kernel) publish(h *handle) {
	k.promise(h)
	k.keep()
}

// promise is publish for a file that takes bytes: [Kernel.keep] follows when it
// was told that the bytes were read.
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

// pass orders task to after what the acting task did until now.
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
