package coverage

import (
	"cmp"
	"encoding/base64"
	"encoding/binary"
	"errors"
	"slices"

	"hindsight/tracefmt/event"
)

// Pair is two places in the code, given by the addresses of their instructions: what a
// thread did at From was followed by what another did at To, on the same memory or object.
type Pair struct{ From, To uint64 }

// Reversed returns the pair in the other order.
func (p Pair) Reversed() Pair { return Pair{p.To, p.From} }

// Compare orders pairs by address.
func (p Pair) Compare(q Pair) int {
	return cmp.Or(cmp.Compare(p.From, q.From), cmp.Compare(p.To, q.To))
}

const (
	// tableBits is the logarithm of the number of granules whose last access is stored, in
	// a direct-mapped table that forgets on a collision.
	tableBits = 14
	// mostPairs and mostLives bound what is stored for a run.
	mostPairs = 1 << 12
	mostLives = 1 << 10
)

// pairs collects the pairs of a run.
type pairs struct {
	table [1 << tableBits]last
	found map[Pair]struct{}
	lives []life // memory that began a new life, in order
	came  []Arrivals
	now   uint64 // number of the access, from 1; entries older than since belong to another run
	since uint64
}

// last is the last access to a granule or operation on a synchronisation object in it.
type last struct {
	granule uint64
	pc      uint64
	when    uint64
	thread  event.ThreadID
	write   bool
}

// life is memory that was allocated.
type life struct{ low, bytes, when uint64 }

func (p *pairs) reset() {
	p.now++
	p.since = p.now
	if p.found == nil {
		p.found = map[Pair]struct{}{}
	}
	clear(p.found)
	p.lives, p.came = p.lives[:0], nil
}

func (p *pairs) access(t event.ThreadID, s *event.Site, addr uint64) {
	p.touch(t, s.PC, addr, s.Access == event.Write)
}

// touch records an access.
func (p *pairs) touch(t event.ThreadID, pc, addr uint64, write bool) {
	granule := addr >> 3
	l := &p.table[granule*0x9e3779b97f4a7c15>>(64-tableBits)]
	p.now++
	if l.granule == granule && l.thread != t && (write || l.write) && l.when > p.since {
		p.add(l, pc)
	}
	*l = last{granule, pc, p.now, t, write}
}

// add records that an access followed l.
func (p *pairs) add(l *last, pc uint64) {
	if l.pc == pc {
		return // both orders look the same
	}
	pair := Pair{l.pc, pc}
	if _, known := p.found[pair]; known || len(p.found) >= mostPairs {
		return
	}
	for _, f := range p.lives {
		if f.when > l.when && l.granule<<3-f.low < f.bytes {
			return // that was different memory
		}
	}
	p.found[pair] = struct{}{}
}

// event records an operation on a synchronisation object.
func (p *pairs) event(t event.ThreadID, e *event.Event) {
	switch e.Kind {
	case event.MutexLock, event.WriteLock, event.SemWait:
		p.arrive(t, e.Obj)
		p.touch(t, e.PC, e.Obj, true)
	case event.SemPost, event.OnceDone, event.OnceSeen,
		event.CondWait, event.CondSignal, event.CondBroadcast, event.AtomicStore, event.AtomicRMW:
		p.touch(t, e.PC, e.Obj, true)
	case event.ReadLock:
		p.arrive(t, e.Obj)
		p.touch(t, e.PC, e.Obj, false)
	case event.AtomicLoad:
		p.touch(t, e.PC, e.Obj, false)
	case event.Free: // counts as an access to the whole block
		p.touch(t, e.PC, e.Obj, true)
	case event.Alloc, event.Map, event.StackMap, event.Renew:
		p.now++
		if len(p.lives) == mostLives {
			p.lives = append(p.lives[:0], p.lives[mostLives/2:]...)
		}
		p.lives = append(p.lives, life{e.Obj, e.Arg, p.now})
	}
}

// EncodePairs returns pairs, which must be in order of address, as text.
func EncodePairs(pairs []Pair) string {
	var b []byte
	var was Pair
	for _, p := range pairs {
		b = binary.AppendUvarint(b, p.From-was.From)
		b = binary.AppendVarint(b, int64(p.To-was.To))
		was = p
	}
	return base64.RawStdEncoding.EncodeToString(b)
}

// ErrPairs says that a text does not come from [EncodePairs].
var ErrPairs = errors.New("coverage: not a text of pairs")

// DecodePairs is the inverse of [EncodePairs].
func DecodePairs(text string) ([]Pair, error) {
	b, err := base64.RawStdEncoding.DecodeString(text)
	if err != nil {
		return nil, ErrPairs
	}
	var pairs []Pair
	var was Pair
	for len(b) > 0 {
		from, n := binary.Uvarint(b)
		if n <= 0 {
			return nil, ErrPairs
		}
		to, m := binary.Varint(b[n:])
		if m <= 0 {
			return nil, ErrPairs
		}
		was = Pair{was.From + from, was.To + uint64(to)}
		pairs, b = append(pairs, was), b[n+m:]
	}
	return pairs, nil
}

// Pairs returns the pairs of the run, in order of address.
func (o *Observer) Pairs() []Pair {
	all := make([]Pair, 0, len(o.pairs.found))
	for p := range o.pairs.found {
		all = append(all, p)
	}
	slices.SortFunc(all, Pair.Compare)
	return all
}
