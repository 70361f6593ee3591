package stream

// checkpointLines is the number of values between two checkpoints of a context method
// for each line of a table: two tables of 8 bytes per line, stored that often, take one
// byte per value in memory if the stream is irregular. If no prediction failed since
// the previous checkpoint, the tables are shared with it. Checkpoints are not in the
// binary form.
const checkpointLines = 16

// bidirectional is both compressed forms of section 4 for a context method: the
// right-context codes (FR) and the left-context codes (BL) of all values. At position i
// the paper's stream is FR up to the context, the context, and BL from i on. Neither
// form depends on the position of the traversal (figure 6), so both are stored
// completely and never change, and cursors share them.
type bidirectional struct {
	fr, bl       flags  // of the step between positions i and i+1: whether the table was right
	frOld, blOld packed // table lines that misses replaced

	every  uint64
	checks []check // at each multiple of every, and at the end
}

// check is the state at a position.
type check struct {
	pos, last    uint64
	frMiss       uint64 // FR misses before pos
	blMiss       uint64 // BL misses from pos on
	sym          [3]uint64
	frTab, blTab []uint64
}

// newBidirectional compresses the whole stream forward, as in section 4, and walks back
// to the beginning.
func newBidirectional(s *Stream) *bidirectional {
	b := &bidirectional{fr: newFlags(s.n), bl: newFlags(s.n), every: checkpointLines << s.bits}
	end, frOld := b.compress(s)
	b.frOld = pack(frOld)
	b.blOld = pack(b.rewind(s, end, frOld))
	return b
}

// compress compresses the values into FR. It returns the state at the end, with BL
// empty.
func (b *bidirectional) compress(s *Stream) (end check, old []uint64) {
	ctx := newContext(s.method.order(), s.bits)
	tab := make([]uint64, 1<<s.bits)
	last, i := uint64(0), uint64(0)
	for sym := range s.symbols() {
		if i%b.every == 0 {
			b.keep(check{pos: i, last: last, frMiss: uint64(len(old)), sym: ctx.sym}, tab)
		}
		if s.method.strides() {
			last += unzigzag(sym)
		}
		out := ctx.push(sym)
		if line := &tab[ctx.hash()]; *line == out {
			b.fr.set(i)
		} else {
			old = append(old, *line)
			*line = out
		}
		i++
	}
	end = check{
		pos: i, last: last, frMiss: uint64(len(old)), sym: ctx.sym,
		frTab: tab, blTab: make([]uint64, 1<<s.bits),
	}
	b.keep(check{pos: i, last: last, frMiss: end.frMiss, sym: ctx.sym, blTab: clone(end.blTab)}, tab)
	return end, old
}

// keep adds a checkpoint with the current FRTB, which has not changed since the previous
// one if nothing missed.
func (b *bidirectional) keep(k check, frTab []uint64) {
	if n := len(b.checks); n > 0 && b.checks[n-1].frMiss == k.frMiss {
		k.frTab = b.checks[n-1].frTab
	} else {
		k.frTab = clone(frTab)
	}
	b.checks = append(b.checks, k)
}

// rewind steps back from the end, as in figure 5, and writes BL.
func (b *bidirectional) rewind(s *Stream, at check, frOld []uint64) (old []uint64) {
	ctx := newContext(s.method.order(), s.bits)
	ctx.sym = at.sym
	next := len(b.checks) - 2
	for i := s.n; i > 0; i-- {
		line := &at.frTab[ctx.hash()]
		in := *line
		if !b.fr.at(i - 1) {
			at.frMiss--
			*line = frOld[at.frMiss]
		}
		sym := ctx.pull(in)
		if line := &at.blTab[ctx.hash()]; *line == sym {
			b.bl.set(i - 1)
		} else {
			old = append(old, *line)
			*line = sym
		}
		if next >= 0 && b.checks[next].pos == i-1 {
			k, after := &b.checks[next], &b.checks[next+1]
			k.blMiss = uint64(len(old))
			k.blTab = after.blTab
			if k.blMiss != after.blMiss {
				k.blTab = clone(at.blTab)
			}
			next--
		}
	}
	return old
}

func clone(t []uint64) []uint64 { return append([]uint64(nil), t...) }

// nearest returns the checkpoint that is the fewest steps from pos.
func (b *bidirectional) nearest(pos uint64) *check {
	low := pos / b.every // the last but one is the last multiple, or is at the end too
	low = min(low, uint64(len(b.checks)-1))
	best := &b.checks[low]
	if low+1 < uint64(len(b.checks)) {
		if after := &b.checks[low+1]; distance(after.pos, pos) < distance(best.pos, pos) {
			best = after
		}
	}
	return best
}

func distance(a, b uint64) uint64 { return max(a, b) - min(a, b) }

func (b *bidirectional) bytes() uint64 {
	n := 8*uint64(len(b.fr)+len(b.bl)) + b.frOld.bytes() + b.blOld.bytes()
	for i := range b.checks {
		k := &b.checks[i]
		n += 8*7 + 2*24
		if i == 0 || k.frMiss != b.checks[i-1].frMiss {
			n += 8 * uint64(len(k.frTab))
		}
		if i == 0 || k.blMiss != b.checks[i-1].blMiss {
			n += 8 * uint64(len(k.blTab))
		}
	}
	return n
}

// rankEvery is the number of values between two checkpoints of a last-n method.
const rankEvery = 1024

// ranks are the checkpoints of a last-n method: its whole state is a place in the list
// of misses and, if symbols are strides, the previous value.
type ranks struct {
	at []rank
}

type rank struct{ misses, last uint64 }

func newRanks(s *Stream) *ranks {
	r := &ranks{at: make([]rank, 0, s.n/rankEvery+1)}
	var at rank
	i := uint64(0)
	for sym := range s.symbols() {
		if i%rankEvery == 0 {
			r.at = append(r.at, at)
		}
		if s.codes.at(i) == 0 {
			at.misses++
		}
		if s.method.strides() {
			at.last += unzigzag(sym)
		}
		i++
	}
	if i%rankEvery == 0 {
		r.at = append(r.at, at)
	}
	return r
}
