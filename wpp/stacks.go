package wpp

import "iter"

// Effect is what a string does to a stack: first it pops, then it pushes. Popping an
// empty stack pops a frame that was pushed before the string began.
type Effect struct {
	Pops, Pushes uint64
}

// Then returns the effect of e followed by f.
func (e Effect) Then(f Effect) Effect {
	if f.Pops <= e.Pushes {
		return Effect{e.Pops, e.Pushes - f.Pops + f.Pushes}
	}
	return Effect{e.Pops + f.Pops - e.Pushes, f.Pushes}
}

// Stacks answers which pushes are still open at a position. With calls that push and
// returns that pop, that is the call stack at any point of the string. It is computed
// from effects that are kept for each rule. A Stacks is safe for concurrent use.
type Stacks struct {
	g        *Grammar
	terminal func(Terminal) Effect
	rules    []Effect

	// For the symbol at index j of a rule body, let the height be pushes minus pops since
	// the beginning of the rule.
	//
	// before[off[r]+r+j] is the effect of the first j symbols. It has one more entry for
	// each rule than the rule has symbols.
	before []Effect
	// low[0][off[r]+j] is the lowest height that symbol j comes down to. The
	// entries of low[k+1] are minima of lowFan entries of low[k], across rules.
	low [][]int64
}

const (
	lowShift = 4
	lowFan   = 1 << lowShift
)

// NewStacks folds the effects of terminals over the grammar, once for each rule. It
// returns [ErrTooLong] if the pops and pushes of the whole string exceed [MaxLength]. The
// methods call terminal too.
func NewStacks(g *Grammar, terminal func(Terminal) Effect) (*Stacks, error) {
	s := &Stacks{
		g: g, terminal: terminal,
		rules:  make([]Effect, 0, g.Rules()),
		before: make([]Effect, 0, g.Symbols()+g.Rules()),
	}
	// A rule's effects and heights are bounded by the pops and pushes in its string.
	if _, err := NewWeights(g, func(t Terminal) uint64 {
		e := terminal(t)
		if e.Pops > MaxLength || e.Pushes > MaxLength {
			return MaxLength + 1
		}
		return e.Pops + e.Pushes
	}); err != nil {
		return nil, err
	}
	low := make([]int64, 0, g.Symbols())
	for r := range g.Rules() {
		var sum Effect
		for _, sym := range g.Body(Rule(r)) {
			s.before = append(s.before, sum)
			e := s.Of(sym)
			low = append(low, height(sum)-int64(e.Pops))
			sum = sum.Then(e)
		}
		s.before = append(s.before, sum)
		s.rules = append(s.rules, sum)
	}
	s.low = append(s.low, low)
	for len(low) > lowFan {
		up := make([]int64, 0, (len(low)+lowFan-1)/lowFan)
		for i, v := range low {
			if i%lowFan == 0 {
				up = append(up, v)
			} else {
				up[len(up)-1] = min(up[len(up)-1], v)
			}
		}
		s.low = append(s.low, up)
		low = up
	}
	return s, nil
}

func height(e Effect) int64 { return int64(e.Pushes) - int64(e.Pops) }

// Rule returns the effect of a rule.
func (s *Stacks) Rule(r Rule) Effect { return s.rules[r] }

// Of returns the effect of a symbol.
func (s *Stacks) Of(sym Symbol) Effect {
	if sym.IsRule() {
		return s.rules[sym.Rule()]
	}
	return s.terminal(sym.Terminal())
}

// Total returns the effect of the whole string.
func (s *Stacks) Total() Effect { return s.rules[s.g.Start()] }

// Before returns the effect of the string before the cursor: Pops frames from before the
// string are gone, and Pushes frames are open.
func (s *Stacks) Before(c *Cursor) Effect {
	var sum Effect
	for _, p := range c.path {
		sum = sum.Then(s.before[s.g.off[p.Rule]+uint32(p.Rule)+p.Index])
	}
	return sum
}

// Enclosing iterates over the pushes before the cursor that are still open there,
// innermost first: a cursor at the terminal that pushed, and the ordinal of the push
// within that terminal, from 0. Each step takes O(depth · log body length). The cursor is
// valid until the next step and must not be moved. c itself does not move.
//
// The terminal at c itself does not count. [Stacks.Before] says how many frames from
// before the beginning of the string have been popped.
func (s *Stacks) Enclosing(c *Cursor) iter.Seq2[*Cursor, uint64] {
	return func(yield func(*Cursor, uint64) bool) {
		at := c.Clone()
		skip := uint64(0)
		for {
			nth, ok := s.open(at, skip)
			if !ok {
				return
			}
			for ; ; nth-- {
				if !yield(at, nth) {
					return
				}
				if nth == 0 {
					break
				}
			}
			t, _ := at.Terminal()
			skip = s.terminal(t).Pops
		}
	}
}

// open moves the cursor back to the terminal that pushed a frame of the stack before the
// cursor: the innermost frame after skipping skip frames. nth is the ordinal of the push
// within the terminal.
func (s *Stacks) open(c *Cursor, skip uint64) (nth uint64, ok bool) {
	// Up: to the rule in which the push is before the path.
	for {
		top := c.path[len(c.path)-1]
		before := s.before[s.g.off[top.Rule]+uint32(top.Rule)+top.Index]
		if before.Pushes > skip {
			break
		}
		skip = skip - before.Pushes + before.Pops
		if len(c.path) == 1 {
			return 0, false
		}
		c.path = c.path[:len(c.path)-1]
	}
	// Down: in each rule, to the last symbol that gets below the height of the frame.
	// That symbol pushed the frame.
	for {
		top := &c.path[len(c.path)-1]
		off := s.g.off[top.Rule]
		before := s.before[off+uint32(top.Rule):]
		level := height(before[top.Index]) - int64(skip)
		j := s.lastBelow(off+top.Index, level)
		top.Index = j - off
		skip = uint64(height(before[top.Index+1]) - level)
		sym := s.g.body[j]
		if !sym.IsRule() {
			return s.terminal(sym.Terminal()).Pushes - 1 - skip, true
		}
		r := sym.Rule()
		c.path = append(c.path, Step{r, s.g.off[r+1] - s.g.off[r]})
	}
}

// lastBelow returns the last index before to at which the lowest height is below level.
// There must be one in the rule of to, so the preceding rules do not matter.
func (s *Stacks) lastBelow(to uint32, level int64) uint32 {
	k := 0
	i := to
	// Up the levels, over whole blocks without such an index.
	for {
		i--
		if s.low[k][i] < level {
			break
		}
		for i&(lowFan-1) == 0 && k+1 < len(s.low) && i > 0 {
			i >>= lowShift
			k++
		}
	}
	// Down again, into the last child with such an index.
	for ; k > 0; k-- {
		children := s.low[k-1]
		i = min(i<<lowShift+lowFan, uint32(len(children))) - 1
		for children[i] >= level {
			i--
		}
	}
	return i
}
