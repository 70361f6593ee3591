package stream

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"
)

// entry is what a compressed form of the paper holds for a value: <T>, or <F, v>.
type entry struct {
	hit bool
	old uint64
}

// machine is figure 5 to the letter: both forms are stacks that are rewritten at each
// step, and the context is a slice.
type machine struct {
	n, bits    int
	u          []uint64 // context, leftmost first
	fr, bl     []entry  // tops are next to the context
	frtb, bltb []uint64
}

func (m *machine) index(u []uint64) uint64 {
	h := uint64(0)
	for k := range u { // the newest symbol has the first multiplier
		h += u[len(u)-1-k] * multipliers[k]
	}
	return h >> (64 - m.bits)
}

func compress(table []uint64, index, v uint64) entry {
	if table[index] == v {
		return entry{hit: true}
	}
	e := entry{old: table[index]}
	table[index] = v
	return e
}

func uncompress(table []uint64, index uint64, e entry) uint64 {
	v := table[index]
	if !e.hit {
		table[index] = e.old
	}
	return v
}

func pop(s *[]entry) entry {
	e := (*s)[len(*s)-1]
	*s = (*s)[:len(*s)-1]
	return e
}

// newMachine returns a machine after the last symbol.
func newMachine(n, bits int, symbols []uint64) *machine {
	m := &machine{
		n: n, bits: bits, u: make([]uint64, n),
		frtb: make([]uint64, 1<<bits), bltb: make([]uint64, 1<<bits),
	}
	for _, s := range symbols {
		out := m.u[0]
		m.u = append(m.u[1:], s)
		m.fr = append(m.fr, compress(m.frtb, m.index(m.u), out))
	}
	return m
}

func (m *machine) forward() uint64 {
	in := uncompress(m.bltb, m.index(m.u), pop(&m.bl))
	out := m.u[0]
	m.u = append(m.u[1:], in)
	m.fr = append(m.fr, compress(m.frtb, m.index(m.u), out))
	return in
}

func (m *machine) backward() uint64 {
	in := uncompress(m.frtb, m.index(m.u), pop(&m.fr))
	out := m.u[m.n-1]
	m.u = append([]uint64{in}, m.u[:m.n-1]...)
	m.bl = append(m.bl, compress(m.bltb, m.index(m.u), out))
	return out
}

func misses(s []entry) (n uint64) {
	for _, e := range s {
		if !e.hit {
			n++
		}
	}
	return n
}

// compare checks the whole state of a cursor against the machine's.
func (m *machine) compare(c *Cursor) error {
	window := slices.Clone(c.ctx.sym[:m.n])
	slices.Reverse(window)
	switch {
	case !slices.Equal(window, m.u):
		return fmt.Errorf("context %v, want %v", window, m.u)
	case !slices.Equal(c.frTab, m.frtb):
		return fmt.Errorf("FRTB differs")
	case !slices.Equal(c.blTab, m.bltb):
		return fmt.Errorf("BLTB differs")
	case c.pos != uint64(len(m.fr)) || c.s.n-c.pos != uint64(len(m.bl)):
		return fmt.Errorf("position %d of %d, want %d and %d behind", c.pos, c.s.n, len(m.fr), len(m.bl))
	case c.frMiss != misses(m.fr) || c.blMiss != misses(m.bl):
		return fmt.Errorf("%d and %d misses, want %d and %d", c.frMiss, c.blMiss, misses(m.fr), misses(m.bl))
	case c.line != m.index(m.u):
		return fmt.Errorf("line %d, want %d", c.line, m.index(m.u))
	}
	return nil
}

// compareForms checks the codes that the stream shares among cursors against
// the stacks at this position, entry by entry.
func (m *machine) compareForms(s *Stream) error {
	two, miss := s.two, uint64(0)
	for i, e := range m.fr {
		got := entry{hit: two.fr.at(uint64(i))}
		if !got.hit {
			got.old = two.frOld.at(miss)
			miss++
		}
		if got != e {
			return fmt.Errorf("FR of %d is %v, want %v", i, got, e)
		}
	}
	miss = 0
	for k, e := range m.bl {
		i := s.n - 1 - uint64(k)
		got := entry{hit: two.bl.at(i)}
		if !got.hit {
			got.old = two.blOld.at(miss)
			miss++
		}
		if got != e {
			return fmt.Errorf("BL of %d is %v, want %v", i, got, e)
		}
	}
	return nil
}

func symbolsOf(m Method, values []uint64) []uint64 {
	if !m.strides() {
		return values
	}
	out, last := make([]uint64, len(values)), uint64(0)
	for i, v := range values {
		d := int64(v - last)
		if out[i] = uint64(d) * 2; d < 0 {
			out[i] = ^(uint64(d) * 2)
		}
		last = v
	}
	return out
}

// TestSameStatesInBothDirections is figure 6: however a position is reached, tables,
// context and compressed forms are the same there, and equal those of the machine of
// figure 5.
func TestSameStatesInBothDirections(t *testing.T) {
	for _, sm := range samples(700) {
		for m := FCM1; m < numMethods; m++ {
			t.Run(fmt.Sprintf("%s/%v", sm.name, m), func(t *testing.T) {
				s := NewWith(m, sm.values)
				sameStates(t, s, newMachine(m.order(), int(s.bits), symbolsOf(m, sm.values)))
			})
		}
	}
}

func sameStates(t *testing.T, s *Stream, ref *machine) {
	c := s.Cursor()
	for range s.n {
		ref.backward()
	}
	empty := make([]uint64, len(ref.frtb))
	if !slices.Equal(ref.frtb, empty) || slices.ContainsFunc(ref.u, func(v uint64) bool { return v != 0 }) {
		t.Fatal("the machine's tables are not empty again at the beginning")
	}
	check := func(how string) {
		t.Helper()
		if err := ref.compare(c); err != nil {
			t.Fatalf("%s, at %d: %v", how, c.pos, err)
		}
		if c.pos%50 == 0 {
			if err := ref.compareForms(s); err != nil {
				t.Fatalf("%s, at %d: %v", how, c.pos, err)
			}
		}
	}
	check("start")
	for range s.n {
		c.Next()
		ref.forward()
		check("forward")
	}
	for range s.n {
		c.Prev()
		ref.backward()
		check("backward")
	}
	r := rand.New(rand.NewPCG(7, 8))
	for range 30 {
		to := r.Uint64N(s.n + 1)
		if r.IntN(3) == 0 { // from a checkpoint, or by stepping, which must be the same
			if err := c.Seek(to); err != nil {
				t.Fatal(err)
			}
		}
		for c.pos < to {
			c.Next()
		}
		for c.pos > to {
			c.Prev()
		}
		for uint64(len(ref.fr)) < to {
			ref.forward()
		}
		for uint64(len(ref.fr)) > to {
			ref.backward()
		}
		check("walk")
	}
}

// TestCheckpointsAreStates compares the state in a checkpoint with the states reached by
// stepping there from either end. The stream is regular in the middle, where checkpoints
// share tables.
func TestCheckpointsAreStates(t *testing.T) {
	const every = checkpointLines << 10
	r := rand.New(rand.NewPCG(9, 10))
	values := make([]uint64, 7*every+500)
	for i := range values {
		if values[i] = 5; i < 2*every || i > 5*every {
			values[i] = r.Uint64N(40) * r.Uint64N(3)
		}
	}
	s := NewWith(FCM1, values)
	left, right := s.Cursor(), s.Cursor()
	if err := right.Seek(s.Len()); err != nil {
		t.Fatal(err)
	}
	same := func(k *check, c *Cursor) bool {
		return slices.Equal(c.frTab, k.frTab) && slices.Equal(c.blTab, k.blTab) && c.ctx.sym == k.sym &&
			c.frMiss == k.frMiss && c.blMiss == k.blMiss && c.last == k.last && c.pos == k.pos
	}
	checks, shared := s.two.checks, 0
	for i := range checks {
		for left.pos < checks[i].pos {
			left.Next()
		}
		if !same(&checks[i], left) {
			t.Errorf("checkpoint %d: the state reached from the left differs", i)
		}
		if i > 0 && &checks[i].frTab[0] == &checks[i-1].frTab[0] && &checks[i].blTab[0] == &checks[i-1].blTab[0] {
			shared++
		}
	}
	for i := len(checks) - 1; i >= 0; i-- {
		for right.pos > checks[i].pos {
			right.Prev()
		}
		if !same(&checks[i], right) {
			t.Errorf("checkpoint %d: the state reached from the right differs", i)
		}
	}
	if len(checks) != 9 || shared == 0 {
		t.Errorf("%d checkpoints, %d share tables", len(checks), shared)
	}
}

// plainLast encodes with its own table, a slice of the symbols that missed last, the
// youngest first.
func plainLast(n int, symbols []uint64) (codes, missed []uint64) {
	var table []uint64
	for _, s := range symbols {
		k := slices.Index(table, s)
		codes = append(codes, uint64(k+1))
		if k < 0 {
			missed = append(missed, s)
			table = slices.Insert(table, 0, s)
			table = table[:min(len(table), n)]
		}
	}
	return codes, missed
}

// plainContext returns the one-directional FCM of section 4.
func plainContext(n, bits int, symbols []uint64) (codes, missed []uint64) {
	m := machine{n: n, bits: bits}
	table := make([]uint64, 1<<bits)
	padded := append(make([]uint64, n), symbols...)
	for i, s := range symbols {
		index := m.index(padded[i : i+n])
		if table[index] == s {
			codes = append(codes, 1)
			continue
		}
		codes, missed = append(codes, 0), append(missed, s)
		table[index] = s
	}
	return codes, missed
}

func TestCodesAgainstPlainPredictors(t *testing.T) {
	for _, sm := range samples(3000) {
		for m := Last1; m < numMethods; m++ {
			s := NewWith(m, sm.values)
			var codes, missed []uint64
			if n := m.order(); n > 0 {
				codes, missed = plainContext(n, int(s.bits), symbolsOf(m, sm.values))
			} else {
				n := map[Method]int{Last1: 1, LastStride1: 1, Last3: 3, LastStride3: 3, Last15: 15, LastStride15: 15}[m]
				codes, missed = plainLast(n, symbolsOf(m, sm.values))
			}
			if got := all(&s.codes); !slices.Equal(got, codes) {
				t.Errorf("%s, %v: codes differ", sm.name, m)
			}
			if got := all(&s.missed); !slices.Equal(got, missed) {
				t.Errorf("%s, %v: missed symbols differ", sm.name, m)
			}
		}
	}
}

func all(p *packed) (out []uint64) {
	for i := range p.n {
		out = append(out, p.at(i))
	}
	return out
}

func TestPacked(t *testing.T) {
	r := rand.New(rand.NewPCG(11, 12))
	for width := range uint(65) {
		values := make([]uint64, r.IntN(200))
		base := r.Uint64() >> width
		for i := range values {
			values[i] = r.Uint64() &^ (^uint64(0) << width)
			if width < 64 {
				values[i] += base >> 1
			}
		}
		p := pack(values)
		if !slices.Equal(all(&p), append([]uint64(nil), values...)) {
			t.Fatalf("width %d: pack", width)
		}
		b := p.appendBits(nil)
		q := fromBits(b, p.n, p.base, p.width)
		if uint64(len(b)) != byteLen(p.n, p.width) || !slices.Equal(all(&q), all(&p)) {
			t.Fatalf("width %d: bits", width)
		}
	}
}

// TestNearestCheckpoint checks that no checkpoint is fewer steps away.
func TestNearestCheckpoint(t *testing.T) {
	for _, n := range []int{0, 1, 255, 256, 257, 1000} {
		b := bidirectional{every: 256}
		for pos := 0; pos < n; pos += 256 {
			b.checks = append(b.checks, check{pos: uint64(pos)})
		}
		b.checks = append(b.checks, check{pos: uint64(n)})
		for pos := range uint64(n + 1) {
			got := distance(b.nearest(pos).pos, pos)
			for _, k := range b.checks {
				if d := distance(k.pos, pos); d < got {
					t.Fatalf("%d values: %d steps to %d, but there is a checkpoint %d away", n, got, pos, d)
				}
			}
		}
	}
}
