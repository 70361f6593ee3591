package std

import (
	"maps"
	"slices"

	"hindsight/tracefmt/event"
)

// late has the accesses that threads executed in segments that have not ended. When their
// memory begins a new life, they also belong to that life (docs/semantics.md): only what
// begins after the end of a segment is separate from it.
type late struct {
	threads map[event.ThreadID]map[uint64][]lateAccess // by granule
	kept    int
}

// lateAccess is an access to bytes of a granule.
type lateAccess struct {
	at, size, pc uint64
	op           Op
}

// maxLate limits the accesses that are stored. If there are more, accesses to memory that
// begins a new life before their segment ends may be missing in that life.
const maxLate = 1 << 22

func (l *late) add(t event.ThreadID, a lateAccess) {
	if l.kept >= maxLate {
		return
	}
	if l.threads == nil {
		l.threads = map[event.ThreadID]map[uint64][]lateAccess{}
	}
	if l.threads[t] == nil {
		l.threads[t] = map[uint64][]lateAccess{}
	}
	l.threads[t][a.at>>3] = append(l.threads[t][a.at>>3], a)
	l.kept++
}

// close ends a thread's segment.
func (l *late) close(t event.ThreadID) {
	for _, list := range l.threads[t] {
		l.kept -= len(list)
	}
	delete(l.threads, t)
}

// renewed calls again for the accesses to memory that begins a new life, thread by
// thread, in order of address.
func (l *late) renewed(addr, size uint64, again func(t event.ThreadID, a *lateAccess) error) error {
	if l.kept == 0 || size == 0 || addr+size-1 < addr {
		return nil
	}
	first, last := addr>>3, (addr+size-1)>>3
	for _, t := range slices.Sorted(maps.Keys(l.threads)) {
		granules := l.threads[t]
		var touched []uint64
		if last-first < uint64(len(granules)) {
			for g := first; g <= last; g++ {
				if granules[g] != nil {
					touched = append(touched, g)
				}
			}
		} else {
			for g := range granules {
				if g >= first && g <= last {
					touched = append(touched, g)
				}
			}
			slices.Sort(touched)
		}
		for _, g := range touched {
			for i := range granules[g] {
				if err := again(t, &granules[g][i]); err != nil {
					return err
				}
			}
		}
	}
	return nil
}
