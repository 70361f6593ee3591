package madeup

import (
	"math/rand/v2"

	"hindsight/tracefmt/event"
)

// Sections makes up a run of threads that take turns. Each accesses a few variables
// before, in and after critical sections of up to mutexes mutexes, alone or nested.
// Happens-before orders most accesses, and the order of the sections is random. Each
// access is a separate instruction.
func Sections(rnd *rand.Rand, mutexes int) *Run {
	threads := 2 + rnd.IntN(2)
	m := New(threads)
	pc := uint64(0x10)
	some := func(t int) {
		for range rnd.IntN(2) {
			m.Access(t, pc, 0x1000+8*uint64(rnd.IntN(3)), 8, event.Access(rnd.IntN(2)))
			pc += 4
		}
	}
	for turn := range 2 + rnd.IntN(3) {
		t := (turn + rnd.IntN(2)) % threads
		some(t)
		locks := rnd.Perm(mutexes)[:1+rnd.IntN(4)/2%mutexes]
		for _, l := range locks {
			m.Do(t, event.MutexLock, 0x100+8*uint64(l))
			some(t)
		}
		for i := range locks {
			m.Do(t, event.MutexUnlock, 0x100+8*uint64(locks[len(locks)-1-i]))
			some(t)
		}
	}
	return m
}
