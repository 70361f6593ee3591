package wpp

// Marks are sets of marks that a terminal has: two sets of up to 64 marks each. The
// caller defines their meaning.
type Marks [2]uint64

func (m Marks) or(n Marks) Marks { return Marks{m[0] | n[0], m[1] | n[1]} }

// Meets reports whether the sets have a mark in common.
func (m Marks) Meets(n Marks) bool { return m[0]&n[0]|m[1]&n[1] != 0 }

// Finder finds the nearest terminal that has one of some marks, and enters only rules
// that contain one. It is safe for concurrent use if the function passed to [NewFinder]
// is.
type Finder struct {
	g        *Grammar
	terminal func(Terminal) Marks
	rules    []Marks
	groups   []Marks // of findFan symbols each, across rules
}

const (
	findShift = 5
	findFan   = 1 << findShift
)

// NewFinder folds the marks of terminals over the grammar, once for each rule.
func NewFinder(g *Grammar, terminal func(Terminal) Marks) *Finder {
	f := &Finder{g: g, terminal: terminal, rules: make([]Marks, g.Rules()), groups: make([]Marks, (len(g.body)+findFan-1)>>findShift)}
	for r := range f.rules {
		for i, s := range g.Body(Rule(r)) {
			m := f.Of(s)
			f.rules[r] = f.rules[r].or(m)
			at := (g.off[r] + uint32(i)) >> findShift
			f.groups[at] = f.groups[at].or(m)
		}
	}
	return f
}

// Of returns the marks in a symbol's string.
func (f *Finder) Of(s Symbol) Marks {
	if s.IsRule() {
		return f.rules[s.Rule()]
	}
	return f.terminal(s.Terminal())
}

// Back moves the cursor to the last terminal before it that has one of the wanted marks.
// If there is none, it reports false and the cursor stays.
func (f *Finder) Back(c *Cursor, want Marks) bool {
	for up := len(c.path) - 1; up >= 0; up-- {
		top := c.path[up]
		i, ok := f.before(top.Rule, top.Index, want)
		if !ok {
			continue
		}
		c.path = c.path[:up+1]
		c.path[up].Index = i
		for {
			s, _ := c.symbol()
			if !s.IsRule() {
				return true
			}
			r := s.Rule()
			i, _ := f.before(r, uint32(len(f.g.Body(r))), want)
			c.path = append(c.path, Step{r, i})
		}
	}
	return false
}

// before returns the last index before to, in the body of r, of a symbol whose string has
// one of the marks.
func (f *Finder) before(r Rule, to uint32, want Marks) (uint32, bool) {
	low := f.g.off[r]
	for i := low + to; i > low; {
		if i&(findFan-1) == 0 && !f.groups[i>>findShift-1].Meets(want) {
			if i < low+findFan {
				return 0, false
			}
			i -= findFan
			continue
		}
		i--
		if f.Of(f.g.body[i]).Meets(want) {
			return i - low, true
		}
	}
	return 0, false
}
