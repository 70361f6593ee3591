package madeup

import "hindsight/tracefmt/event"

// Choose returns a number below n, at random or as a fuzzer decides.
type Choose func(n int) int

// Bytes chooses by the bytes of b, and returns 0 after its end.
func Bytes(text []byte) Choose {
	return func(n int) int {
		if len(text) == 0 || n <= 1 {
			return 0
		}
		b := text[0]
		text = text[1:]
		return int(b) % n
	}
}

// program is the state of the threads while a program is made up.
type program struct {
	*Run
	choose  Choose
	state   []int // of threads
	waiting []bool
	owner   map[uint64]int // of locks
	posts   int
	parties int
	arrived []int // at the barrier
	leaving []int
	turn    uint64
}

const (
	unborn = iota
	created
	running
	ended
)

// Program makes up a run that makes sense: up to four threads that lock, wait at a
// barrier and on a semaphore, begin and end each other, and access a few variables of
// four and eight bytes. steps limits its length.
func Program(choose Choose, steps int) *Run {
	threads := 2 + choose(3)
	p := &program{Run: New(threads), choose: choose, state: make([]int, threads), waiting: make([]bool, threads), owner: map[uint64]int{}, parties: 2 + choose(threads-1)}
	p.state[0] = running
	semaphores := choose(2) > 0
	for range steps {
		t := choose(threads)
		switch {
		case p.state[t] == created:
			p.Do(t, event.ThreadStart, 0)
			p.state[t] = running
			continue
		case p.state[t] != running:
			t = 0
		}
		if p.waiting[t] {
			p.leave(t)
			continue
		}
		switch n := choose(24); {
		case n < 10:
			p.access(t)
		case n < 17:
			p.lock(t)
		case n == 17 && semaphores:
			p.posts++
			p.Do(t, event.SemPost, 0x500)
		case n == 18 && p.posts > 0:
			p.Do(t, event.SemWait, 0x500)
		case n < 21:
			p.fork(t)
		case n == 21:
			p.enter(t)
		case n == 22 && choose(3) == 0:
			p.end(t)
		}
	}
	return p.Run
}

func (p *program) access(t int) {
	addr, size := 0x1000+uint64(p.choose(3))*8, uint8(8)
	if p.choose(3) == 0 {
		addr, size = addr+uint64(p.choose(2))*4, 4
	}
	p.Access(t, 0x10+uint64(p.choose(4)*4+t*0x100), addr, size, event.Access(p.choose(2)))
}

func (p *program) lock(t int) {
	obj := uint64(0x100 + p.choose(3)*8)
	if o, held := p.owner[obj]; !held {
		p.owner[obj] = t
		p.Do(t, event.MutexLock, obj)
	} else if o == t {
		delete(p.owner, obj)
		p.Do(t, event.MutexUnlock, obj)
	}
}

func (p *program) fork(t int) {
	for u, s := range p.state {
		if s == unborn {
			p.Do(t, event.Create, uint64(u))
			p.state[u] = created
			return
		}
	}
}

// end ends a thread. The main thread first joins the threads that have ended.
func (p *program) end(t int) {
	for u, s := range p.state {
		if s == ended {
			p.Do(t, event.Join, uint64(u))
		}
	}
	if t != 0 && len(p.arrived) == 0 {
		p.Do(t, event.ThreadEnd, 0)
		p.state[t] = ended
	}
}

// enter enters the barrier if enough other threads can.
func (p *program) enter(t int) {
	can := len(p.arrived)
	for u, s := range p.state {
		if s == running && !p.waiting[u] {
			can++
		}
	}
	if can < p.parties {
		return
	}
	p.Event(t, event.Event{Kind: event.BarrierEnter, Obj: 0x600, Arg: p.turn})
	p.waiting[t] = true
	p.arrived = append(p.arrived, t)
	if len(p.arrived) == p.parties {
		p.leaving, p.arrived = append(p.leaving, p.arrived...), nil
		p.turn++
	}
}

// leave leaves the barrier if all threads have arrived.
func (p *program) leave(t int) {
	for i, u := range p.leaving {
		if u == t {
			p.leaving = append(p.leaving[:i], p.leaving[i+1:]...)
			p.waiting[t] = false
			p.Event(t, event.Event{Kind: event.BarrierLeave, Obj: 0x600, Arg: p.generation(t)})
			return
		}
	}
}

// generation returns the generation of the barrier that the thread entered last.
func (p *program) generation(t int) uint64 {
	for i := len(p.events) - 1; ; i-- {
		if e := &p.events[i]; int(e.Thread) == t && e.Kind == event.BarrierEnter {
			return e.Arg
		}
	}
}
