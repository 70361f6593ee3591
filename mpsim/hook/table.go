package hook

import (
	"fmt"

	"hindsight/tracefmt/event"
)

// Results of the C library that mean "obtained".
const (
	success   = 0
	ownerDied = 130 // EOWNERDEAD: a robust mutex was obtained from a dead thread
)

func obtained(result uint64) bool { return int32(result) == success || int32(result) == ownerDied }

// mmapFailed is MAP_FAILED.
const mmapFailed = ^uint64(0)

// Table contains all hooked functions. Their index in it is their number.
var Table = []Func{
	// Mutual exclusion.
	mutexLock(0, "pthread_mutex_lock", "__pthread_mutex_lock", "___pthread_mutex_lock",
		"pthread_mutex_trylock", "__pthread_mutex_trylock", "___pthread_mutex_trylock", "mtx_lock", "mtx_trylock"),
	mutexLock(1, "pthread_mutex_timedlock", "__pthread_mutex_timedlock", "mtx_timedlock"),
	mutexLock(2, "pthread_mutex_clocklock", "__pthread_mutex_clocklock"),
	acquire("spin lock", event.MutexLock, 0, "pthread_spin_lock", "__pthread_spin_lock",
		"pthread_spin_trylock", "__pthread_spin_trylock"),
	{Object: 1, Names: []string{"pthread_mutex_unlock", "__pthread_mutex_unlock", "___pthread_mutex_unlock", "mtx_unlock"},
		Begin: func(s *State, c *Call) { s.unlockMutex(c, c.Arg(0)) }},
	{Object: 1, Names: []string{"pthread_spin_unlock", "__pthread_spin_unlock"},
		Begin: func(s *State, c *Call) { s.unlock(c, event.MutexUnlock, c.Arg(0)) }},
	acquire("rwlock (to write)", event.WriteLock, 0, "pthread_rwlock_wrlock", "__pthread_rwlock_wrlock", "___pthread_rwlock_wrlock",
		"pthread_rwlock_trywrlock", "___pthread_rwlock_trywrlock"),
	acquire("rwlock (to write)", event.WriteLock, 1, "pthread_rwlock_timedwrlock"),
	acquire("rwlock (to write)", event.WriteLock, 2, "pthread_rwlock_clockwrlock"),
	readLock(0, "pthread_rwlock_rdlock", "__pthread_rwlock_rdlock", "___pthread_rwlock_rdlock",
		"pthread_rwlock_tryrdlock", "___pthread_rwlock_tryrdlock"),
	readLock(1, "pthread_rwlock_timedrdlock"),
	readLock(2, "pthread_rwlock_clockrdlock"),
	{Object: 1, Names: []string{"pthread_rwlock_unlock", "__pthread_rwlock_unlock", "___pthread_rwlock_unlock"}, Begin: rwUnlock},
	initialise(event.MutexLock, mutexBytes, 4, "pthread_mutex_init", "__pthread_mutex_init", "___pthread_mutex_init"),
	initialise(event.MutexLock, mutexBytes, 0, "mtx_init"),
	initialise(event.MutexLock, spinBytes, 0, "pthread_spin_init", "__pthread_spin_init"),
	initialise(event.WriteLock, rwlockBytes, 8, "pthread_rwlock_init", "__pthread_rwlock_init", "___pthread_rwlock_init"),
	destroy(mutexBytes, "pthread_mutex_destroy", "__pthread_mutex_destroy", "___pthread_mutex_destroy", "mtx_destroy"),
	destroy(rwlockBytes, "pthread_rwlock_destroy", "__pthread_rwlock_destroy", "___pthread_rwlock_destroy"),
	destroy(spinBytes, "pthread_spin_destroy", "__pthread_spin_destroy"),
	destroy(conditionBytes, "pthread_cond_destroy", "__pthread_cond_destroy", "___pthread_cond_destroy", "cnd_destroy"),
	destroy(semaphoreBytes, "sem_destroy", "__new_sem_destroy"),

	// One-time initialisation is ordered by the atomic accesses of these functions.
	{ForCaller: true, Watch: true, Names: onces},

	// Streams. POSIX promises that flockfile excludes other threads. The locks that each
	// call of stdio takes are the library's own, except those of streams that have a buffer
	// or functions of the program.
	acquire("stream", event.MutexLock, 0, "ftrylockfile", "_IO_ftrylockfile", "__ftrylockfile"),
	{Object: 1, Names: []string{"flockfile", "_IO_flockfile", "__flockfile"},
		End:   func(s *State, c *Call, _ uint64) { s.lock(c, event.MutexLock, c.Arg(0)) },
		Waits: func(s *State, c *Call) string { return s.waitsForLock("stream", c.Arg(0)) }},
	{Object: 1, Names: []string{"funlockfile", "_IO_funlockfile", "__funlockfile"},
		Begin: func(s *State, c *Call) { s.unlock(c, event.MutexUnlock, c.Arg(0)) }},
	{Args: 2, Watch: true, Names: []string{"setvbuf", "_IO_setvbuf", "setbuf", "_IO_setbuf", "setbuffer", "_IO_setbuffer"},
		Begin: func(s *State, c *Call) {
			if c.Arg(1) != 0 {
				s.shareStream(c, c.Arg(0))
			}
		}},
	{Watch: true, Names: []string{"fopencookie", "_IO_fopencookie", "fmemopen", "__fmemopen", "open_memstream", "__open_memstream", "open_wmemstream", "__open_wmemstream"},
		End: func(s *State, c *Call, result uint64) { s.shareStream(c, result) }},
	// Functions that do not lock leave that to their caller.
	unlockedStream(0, "getc_unlocked", "__getc_unlocked", "fgetc_unlocked", "getwc_unlocked", "__getwc_unlocked", "fgetwc_unlocked",
		"clearerr_unlocked", "fflush_unlocked", "__fflush_unlocked"),
	unlockedStream(1, "putc_unlocked", "__putc_unlocked", "fputc_unlocked", "putwc_unlocked", "fputwc_unlocked",
		"fputs_unlocked", "__fputs_unlocked", "fputws_unlocked"),
	unlockedStream(2, "fgets_unlocked", "__fgets_unlocked", "fgetws_unlocked"),
	unlockedStream(3, "fread_unlocked", "__fread_unlocked", "fwrite_unlocked"),

	// Functions whose result is shared by all callers (C, 7.27.3; POSIX, 2.9.1).
	sharedResult(56, "localtime", "gmtime"),
	sharedResult(26, "asctime", "ctime"),
	sharedResult(7, "l64a"),
	sharedResult(18, "ecvt", "fcvt"),
	sharedResult(48, "getpwnam", "getpwuid", "getpwent"),
	sharedState(8, "strtok"),
	sharedState(16, "drand48", "lrand48", "mrand48", "srand48", "seed48", "lcong48"),
	sharedState(8, "hsearch", "hcreate", "hdestroy"),
	{Watch: true, Args: 1, Names: []string{"tmpnam"},
		Begin: func(_ *State, c *Call) { c.Note = c.Arg(0) },
		End: func(s *State, c *Call, result uint64) {
			if c.Note == 0 {
				s.writesShared(c, result, 20)
			}
		}},
	sharedResult(32, "getgrnam", "getgrgid", "getgrent", "gethostbyname", "gethostbyaddr"),

	// Barriers.
	{Object: 1, Args: 3, Names: []string{"pthread_barrier_init", "__pthread_barrier_init", "___pthread_barrier_init"},
		End: func(s *State, c *Call, result uint64) {
			if int32(result) == success {
				s.barriers[c.Arg(0)] = &barrier{count: c.Arg(2) & 0xffffffff}
				c.reads(c.Arg(1), 4)
				c.Emit(event.Init, c.Arg(0), uint64(event.BarrierEnter))
				c.writes(c.Arg(0), barrierBytes)
			}
		}},
	{Object: 1, Names: []string{"pthread_barrier_wait", "__pthread_barrier_wait", "___pthread_barrier_wait"},
		Begin: func(s *State, c *Call) {
			b := s.barrierAt(c, c.Arg(0))
			c.Note = b.entered / max(b.count, 1)
			b.entered++
			c.Emit(event.BarrierEnter, c.Arg(0), c.Note)
		},
		End: func(_ *State, c *Call, _ uint64) { c.Emit(event.BarrierLeave, c.Arg(0), c.Note) },
		Waits: func(s *State, c *Call) string {
			b := s.barrierAt(c, c.Arg(0))
			return fmt.Sprintf("barrier 0x%x (%d of %d threads there)", c.Arg(0), b.entered%max(b.count, 1), b.count)
		}},
	{Object: 1, Names: []string{"pthread_barrier_destroy", "__pthread_barrier_destroy"},
		End: func(s *State, c *Call, result uint64) {
			if int32(result) == success {
				delete(s.barriers, c.Arg(0))
				c.Emit(event.Destroy, c.Arg(0), 0)
				c.writes(c.Arg(0), barrierBytes)
			}
		}},

	// Condition variables: the mutex is released and obtained again.
	conditionWait(0, "pthread_cond_wait", "__pthread_cond_wait", "___pthread_cond_wait", "cnd_wait"),
	conditionWait(2, "pthread_cond_timedwait", "__pthread_cond_timedwait", "___pthread_cond_timedwait", "cnd_timedwait"),
	conditionWait(3, "pthread_cond_clockwait", "__pthread_cond_clockwait", "___pthread_cond_clockwait"),
	emitBegin(event.CondSignal, "pthread_cond_signal", "__pthread_cond_signal", "___pthread_cond_signal", "cnd_signal"),
	emitBegin(event.CondBroadcast, "pthread_cond_broadcast", "__pthread_cond_broadcast", "___pthread_cond_broadcast", "cnd_broadcast"),
	initialise(event.CondWait, conditionBytes, 4, "pthread_cond_init", "__pthread_cond_init", "___pthread_cond_init"),
	initialise(event.CondWait, conditionBytes, 0, "cnd_init"),

	// Semaphores.
	semaphoreWait(0, "sem_wait", "__new_sem_wait", "sem_trywait", "__new_sem_trywait"),
	semaphoreWait(1, "sem_timedwait", "___sem_timedwait"),
	semaphoreWait(2, "sem_clockwait", "___sem_clockwait"),
	{Object: 1, Names: []string{"sem_post", "__new_sem_post"}, Begin: postBegin, End: postEnd},
	initialise(event.SemWait, semaphoreBytes, 0, "sem_init", "__new_sem_init"),

	// pthread_once uses its own atomics. So does an initialisation that ends with an
	// exception or cancellation: the next one is ordered after it (C++,
	// [thread.once.callonce]), although glibc resets the control with a plain store.
	{Names: []string{"clear_once_control"},
		Begin: func(_ *State, c *Call) { c.EmitAtomic(event.AtomicStore, event.Release, c.Arg(0), 4) }},

	// Threads. The machine emits Create when the thread is created.
	{Args: 4, Names: []string{"pthread_create", "__pthread_create", "__pthread_create_2_1", "thrd_create"}},
	join(pointerBytes, "pthread_join", "__pthread_join", "___pthread_join", "pthread_tryjoin_np", "pthread_timedjoin_np", "pthread_clockjoin_np"),
	join(4, "thrd_join"),
	{Names: []string{"__libc_setup_tls"}, End: func(s *State, c *Call, _ uint64) { s.mainThread(c) }},
	{Names: []string{"pthread_detach", "__pthread_detach", "thrd_detach"},
		Begin: func(s *State, c *Call) {
			if child, known := s.thread(c.Arg(0)); known {
				c.Emit(event.Detach, uint64(child), 0)
			}
		}},

	// The heap.
	{Allocates: true, Replaceable: true, Names: []string{"malloc", "__libc_malloc", "__malloc", "valloc", "__libc_valloc", "pvalloc", "__libc_pvalloc"},
		End: func(s *State, c *Call, result uint64) { s.alloc(c, result, c.Arg(0)) }},
	{Allocates: true, Replaceable: true, Args: 2, Names: []string{"calloc", "__libc_calloc", "__calloc"},
		End: func(s *State, c *Call, result uint64) { s.alloc(c, result, c.Arg(0)*c.Arg(1)) }},
	{Allocates: true, Replaceable: true, Args: 2, Names: []string{"memalign", "__libc_memalign", "aligned_alloc", "__memalign"},
		End: func(s *State, c *Call, result uint64) { s.alloc(c, result, c.Arg(1)) }},
	{Allocates: true, Replaceable: true, Args: 3, Names: []string{"posix_memalign", "__posix_memalign"},
		End: func(s *State, c *Call, result uint64) {
			if addr, ok := c.Load(c.Arg(0), 8); ok && int32(result) == success {
				c.writes(c.Arg(0), pointerBytes)
				s.alloc(c, addr, c.Arg(2))
			}
		}},
	{Allocates: true, Replaceable: true, Args: 2, Names: []string{"realloc", "__libc_realloc", "__realloc"},
		Begin: reallocBegin,
		End:   func(s *State, c *Call, result uint64) { reallocEnd(s, c, result, c.Arg(1)) }},
	{Allocates: true, Replaceable: true, Args: 3, Names: []string{"reallocarray", "__libc_reallocarray"},
		Begin: reallocBegin,
		End:   func(s *State, c *Call, result uint64) { reallocEnd(s, c, result, c.Arg(1)*c.Arg(2)) }},
	{Replaceable: true, Names: []string{"free", "__libc_free", "__free", "cfree"},
		Begin: func(s *State, c *Call) { s.free(c, c.Arg(0)) }},
	// C++: operator new is called by the program itself, malloc inside it by the library.
	{Allocates: true, Replaceable: true, Names: []string{"_Znwm", "_Znam", "_ZnwmRKSt9nothrow_t", "_ZnamRKSt9nothrow_t",
		"_ZnwmSt11align_val_t", "_ZnamSt11align_val_t",
		"_ZnwmSt11align_val_tRKSt9nothrow_t", "_ZnamSt11align_val_tRKSt9nothrow_t"},
		End: func(s *State, c *Call, result uint64) { s.alloc(c, result, c.Arg(0)) }},
	{Replaceable: true, Names: []string{"_ZdlPv", "_ZdaPv", "_ZdlPvm", "_ZdaPvm",
		"_ZdlPvRKSt9nothrow_t", "_ZdaPvRKSt9nothrow_t",
		"_ZdlPvSt11align_val_t", "_ZdaPvSt11align_val_t", "_ZdlPvmSt11align_val_t", "_ZdaPvmSt11align_val_t",
		"_ZdlPvSt11align_val_tRKSt9nothrow_t", "_ZdaPvSt11align_val_tRKSt9nothrow_t"},
		Begin: func(s *State, c *Call) { s.free(c, c.Arg(0)) }},
	// libstdc++'s reference counts, which a mutex guards if libstdc++ was built without
	// atomics for them. They order each release of a reference before the last one, and
	// nothing else. There are two events, because the second thread must acquire what is
	// released, and its call may return first.
	{Args: 2, Names: []string{"_ZN9__gnu_cxx18__exchange_and_addEPVii"}, Begin: countBegin,
		End: func(_ *State, c *Call, result uint64) {
			if change := int32(c.Arg(1)); change < 0 && int32(result)+change == 0 {
				c.EmitAtomic(event.AtomicLoad, event.Acquire, c.Arg(0), 4)
			}
		}},
	{Args: 2, Names: []string{"_ZN9__gnu_cxx12__atomic_addEPVii"}, Begin: countBegin},
	// The allocator's own housekeeping, which reads memory that was once allocated.
	{Names: []string{"__libc_thread_freeres", "__malloc_arena_thread_freeres", "__libc_freeres",
		"malloc_trim", "__malloc_trim", "malloc_stats", "mallinfo", "mallinfo2", "malloc_info"}},
	{Names: []string{"malloc_usable_size", "__malloc_usable_size"}, End: usable},
	// setuid and similar calls reach all threads through a signal. Its handler reads what
	// is on the caller's stack.
	{Names: []string{"__nptl_setxid", "__nptl_setxid_sighandler"}},
	{Allocates: true, Args: 6, Names: []string{"mmap", "mmap64", "__mmap", "__mmap64"},
		End: func(s *State, c *Call, result uint64) {
			if result != mmapFailed {
				s.mapped(c, result, c.Arg(1))
			}
		}},
	{Allocates: true, Args: 4, Names: []string{"mremap", "__mremap"},
		End: func(s *State, c *Call, result uint64) {
			if result == mmapFailed {
				return
			}
			old, was, size := c.Arg(0), c.Arg(1), c.Arg(2)
			if result == old {
				old, was = old+min(was, size), was-min(was, size) // the returned part
				result, size = result+c.Arg(1), size-min(size, c.Arg(1))
			}
			if was > 0 {
				c.Emit(event.Unmap, old, was)
			}
			if size > 0 {
				s.mapped(c, result, size)
			}
		}},
	{Allocates: true, Names: []string{"sbrk", "__sbrk"},
		End: func(s *State, c *Call, result uint64) {
			if size := c.Arg(0); result != mmapFailed && int64(size) > 0 {
				s.mapped(c, result, size)
			}
		}},
	asksThreadLocal,
	{Args: 2, Names: []string{"munmap", "__munmap"},
		Begin: func(_ *State, c *Call) { c.Emit(event.Unmap, c.Arg(0), c.Arg(1)) }},
}

// countBegin changes a reference count.
func countBegin(_ *State, c *Call) {
	var mode event.Mode
	if int32(c.Arg(1)) < 0 {
		mode = event.Release
	}
	c.EmitAtomic(event.AtomicRMW, mode, c.Arg(0), 4)
}

// unlockedStream hooks functions that change a stream without its lock. arg is the number
// of the argument with the stream. What they do inside is internal to the library; the fact
// that they are called concerns the program.
func unlockedStream(arg int, names ...string) Func {
	return Func{Args: arg + 1, Watch: true, Names: names,
		Begin: func(_ *State, c *Call) { c.writes(c.Arg(arg), pointerBytes) }}
}

// sharedResult hooks functions of the C library that return the address of size bytes of
// static memory, the same for all threads. Each call writes there. If this memory has a
// symbol, the accesses inside the functions are recorded anyway.
func sharedResult(size uint64, names ...string) Func {
	return Func{Watch: true, Names: names, End: func(s *State, c *Call, result uint64) { s.writesShared(c, result, size) }}
}

// sharedState hooks functions of the C library that keep size bytes of state that all
// callers share and must guard (C, 7.24.5.8; POSIX, 2.9.1). In an executable with symbols,
// the accesses to it are recorded as usual.
func sharedState(size uint64, names ...string) Func {
	return Func{Watch: true, Names: names, Begin: func(s *State, c *Call) {
		if s.whose == nil {
			return
		}
		if addr, ok := s.whose.img.StateOf(c.Func()); ok {
			s.writesShared(c, addr, size)
		}
	}}
}

// writesShared records a write to what all callers of a function share, unless the accesses
// to it are recorded anyway.
func (s *State) writesShared(c *Call, addr, size uint64) {
	if s.whose != nil && !s.whose.img.UserObject(addr) {
		c.writes(addr, size)
	}
}

// mapped emits the event of a mapping or an extension of the heap.
func (s *State) mapped(c *Call, addr, size uint64) {
	s.noteBlock(c, addr, size)
	c.EmitAs(c.mode, event.Map, addr, size)
}

// acquire hooks functions that obtain an exclusive lock if they succeed. deadline is the
// number of the argument that points to the time until which they wait, or 0.
func acquire(what string, kind event.Kind, deadline int, names ...string) Func {
	return Func{
		Names: names, Object: 1,
		Begin: func(_ *State, c *Call) { c.readsDeadline(deadline) },
		End: func(s *State, c *Call, result uint64) {
			if obtained(result) {
				s.lock(c, kind, c.Arg(0))
			}
		},
		Waits: func(s *State, c *Call) string { return s.waitsForLock(what, c.Arg(0)) },
	}
}

// mutexLock is acquire for mutexes, which may be recursive.
func mutexLock(deadline int, names ...string) Func {
	f := acquire("mutex", event.MutexLock, deadline, names...)
	f.End = func(s *State, c *Call, result uint64) {
		if obtained(result) {
			s.lockMutex(c, c.Arg(0))
		}
	}
	return f
}

// readLock is acquire for functions that share a rwlock.
func readLock(deadline int, names ...string) Func {
	f := acquire("rwlock (to read)", event.ReadLock, deadline, names...)
	f.End = func(s *State, c *Call, result uint64) {
		if obtained(result) {
			s.readers[holding{c.Arg(0), c.ID()}]++
			c.Emit(event.ReadLock, c.Arg(0), 0)
		}
	}
	return f
}

// semaphoreWait is acquire for functions that wait on a semaphore.
func semaphoreWait(deadline int, names ...string) Func {
	f := acquire("semaphore", event.SemWait, deadline, names...)
	f.End = func(_ *State, c *Call, result uint64) {
		if int32(result) == success {
			c.Emit(event.SemWait, c.Arg(0), 0)
		}
	}
	return f
}

// conditionWait hooks functions that wait on a condition variable.
func conditionWait(deadline int, names ...string) Func {
	return Func{
		Args: 2, Object: 2, Names: names,
		Begin: func(s *State, c *Call) {
			if deadline == 0 {
				conditionBegin(s, c, 0)
			} else {
				conditionBegin(s, c, c.Arg(deadline))
			}
		},
		End:     func(s *State, c *Call, _ uint64) { conditionEnd(s, c) },
		Abandon: conditionEnd,
		Waits: func(_ *State, c *Call) string {
			return fmt.Sprintf("condition variable 0x%x", c.Arg(0))
		},
	}
}

// join hooks functions that wait for a thread and store its result, of the given number of
// bytes, where the second argument points.
func join(bytes uint64, names ...string) Func {
	return Func{
		Args: 2, Copies: true, Names: names,
		End: func(s *State, c *Call, result uint64) {
			if int32(result) != success {
				return
			}
			if child, known := s.thread(c.Arg(0)); known {
				delete(s.handles, c.Arg(0))
				c.Emit(event.Join, uint64(child), 0)
			}
			c.writes(c.Arg(1), bytes)
		},
		Waits: func(s *State, c *Call) string {
			if child, known := s.thread(c.Arg(0)); known {
				return fmt.Sprintf("the end of thread T%d", child)
			}
			return fmt.Sprintf("the end of the thread with handle 0x%x", c.Arg(0))
		},
	}
}

// emitBegin hooks functions for which only the first argument matters.
func emitBegin(kind event.Kind, names ...string) Func {
	return Func{Names: names, Object: 1, Begin: func(_ *State, c *Call) { c.Emit(kind, c.Arg(0), 0) }}
}

// initialise hooks functions that initialise an object of the given number of bytes from
// the attributes to which the second argument points.
func initialise(lockedBy event.Kind, bytes, attributes uint64, names ...string) Func {
	return Func{Names: names, Object: 1, End: func(_ *State, c *Call, result uint64) {
		if int32(result) != success {
			return
		}
		if attributes != 0 {
			c.reads(c.Arg(1), attributes)
		}
		c.Emit(event.Init, c.Arg(0), uint64(lockedBy))
		c.writes(c.Arg(0), bytes)
	}}
}

// destroy hooks functions that destroy an object.
func destroy(bytes uint64, names ...string) Func {
	return Func{Names: names, Object: 1, End: func(s *State, c *Call, result uint64) {
		if int32(result) != success {
			return // in use, so nothing happened
		}
		delete(s.owner, c.Arg(0))
		c.Emit(event.Destroy, c.Arg(0), 0)
		if !c.Exiting() { // detached threads may use static objects until the end
			c.writes(c.Arg(0), bytes)
		}
	}}
}

func rwUnlock(s *State, c *Call) {
	shared := holding{c.Arg(0), c.ID()}
	if n := s.readers[shared]; n > 0 {
		if n == 1 {
			delete(s.readers, shared)
		} else {
			s.readers[shared] = n - 1
		}
		c.Emit(event.ReadUnlock, c.Arg(0), 0)
		return
	}
	s.unlock(c, event.WriteUnlock, c.Arg(0))
}

// usable makes the rest of a block, beyond what was requested, the program's, which may use
// it after it has asked for the usable size.
func usable(s *State, c *Call, result uint64) {
	block := c.Arg(0)
	size, known := s.blocks[block]
	if !known || result <= size {
		return
	}
	s.blocks[block] = result
	const granule = 8
	if from := (block + size + granule - 1) &^ (granule - 1); from < block+result {
		c.Emit(event.Renew, from, block+result-from)
	}
}

// reallocBegin frees the old block before the allocator may reuse it for another thread.
// reallocEnd records where the block is then.
func reallocBegin(s *State, c *Call) {
	c.Note = s.blocks[c.Arg(0)]
	c.Carries(c.Arg(0), c.Note)
	s.free(c, c.Arg(0))
}

func reallocEnd(s *State, c *Call, result, size uint64) {
	if result == 0 && size != 0 { // failed: the old block stays allocated
		s.alloc(c, c.Arg(0), c.Note)
		return
	}
	s.alloc(c, result, size)
}
