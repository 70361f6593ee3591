package wpp

// An independent Sequitur in its textbook form: rules and symbols are objects, and the
// digram index is a map from a pair to a symbol. It follows the published algorithm step
// by step and shares no code with Builder.

type tbSymbol struct {
	prev, next *tbSymbol
	term       Terminal
	rule       *tbRule // use of a rule, or the rule of a guard
	guard      bool
}

type tbRule struct {
	guard *tbSymbol
	refs  int
}

type tbKey struct {
	t1, t2 Terminal
	r1, r2 *tbRule
}

type textbook struct {
	start *tbRule
	index map[tbKey]*tbSymbol
}

func newTextbook() *textbook {
	return &textbook{start: newTBRule(), index: map[tbKey]*tbSymbol{}}
}

func newTBRule() *tbRule {
	r := &tbRule{}
	r.guard = &tbSymbol{guard: true, rule: r}
	r.guard.next, r.guard.prev = r.guard, r.guard
	return r
}

func (r *tbRule) first() *tbSymbol { return r.guard.next }
func (r *tbRule) last() *tbSymbol  { return r.guard.prev }

func tbSame(a, b *tbSymbol) bool {
	return !a.guard && !b.guard && a.rule == b.rule && a.term == b.term
}

func tbDigram(s *tbSymbol) tbKey { return tbKey{s.term, s.next.term, s.rule, s.next.rule} }

func (b *textbook) clone(s *tbSymbol) *tbSymbol {
	if s.rule != nil {
		s.rule.refs++
	}
	return &tbSymbol{term: s.term, rule: s.rule}
}

func (b *textbook) deleteDigram(s *tbSymbol) {
	if s.guard || s.next.guard {
		return
	}
	if b.index[tbDigram(s)] == s {
		delete(b.index, tbDigram(s))
	}
}

func (b *textbook) join(left, right *tbSymbol) {
	if left.next != nil {
		b.deleteDigram(left)
		if right.prev != nil && right.next != nil && tbSame(right, right.prev) && tbSame(right, right.next) {
			b.index[tbDigram(right)] = right
		}
		if left.prev != nil && left.next != nil && tbSame(left, left.next) && tbSame(left, left.prev) {
			b.index[tbDigram(left.prev)] = left.prev
		}
	}
	left.next, right.prev = right, left
}

func (b *textbook) insertAfter(at, s *tbSymbol) {
	b.join(s, at.next)
	b.join(at, s)
}

func (b *textbook) destroy(s *tbSymbol) {
	b.join(s.prev, s.next)
	b.deleteDigram(s)
	if s.rule != nil {
		s.rule.refs--
	}
}

func (b *textbook) append(t Terminal) {
	s := &tbSymbol{term: t}
	b.insertAfter(b.start.last(), s)
	if s.prev != b.start.guard {
		b.check(s.prev)
	}
}

func (b *textbook) check(s *tbSymbol) bool {
	if s.guard || s.next.guard {
		return false
	}
	m := b.index[tbDigram(s)]
	if m == nil {
		b.index[tbDigram(s)] = s
		return false
	}
	if m.next != s {
		b.match(s, m)
	}
	return true
}

func (b *textbook) match(s, m *tbSymbol) {
	var r *tbRule
	if m.prev.guard && m.next.next.guard {
		r = m.prev.rule
		b.substitute(s, r)
	} else {
		r = newTBRule()
		b.insertAfter(r.last(), b.clone(s))
		b.insertAfter(r.last(), b.clone(s.next))
		b.substitute(m, r)
		b.substitute(s, r)
		b.index[tbDigram(r.first())] = r.first()
	}
	if f := r.first(); f.rule != nil && f.rule.refs == 1 {
		b.expand(f)
	}
}

func (b *textbook) substitute(s *tbSymbol, r *tbRule) {
	q := s.prev
	b.destroy(q.next)
	b.destroy(q.next)
	r.refs++
	b.insertAfter(q, &tbSymbol{rule: r})
	if !b.check(q) {
		b.check(q.next)
	}
}

func (b *textbook) expand(s *tbSymbol) {
	left, right := s.prev, s.next
	first, last := s.rule.first(), s.rule.last()
	b.deleteDigram(s)
	left.next, first.prev = first, left
	last.next, right.prev = right, last
	b.index[tbDigram(last)] = last
}

// rules returns the bodies of the rules in no particular order. The start rule is rule 0.
func (b *textbook) rules() [][]Symbol {
	number := map[*tbRule]Rule{b.start: 0}
	todo := []*tbRule{b.start}
	var out [][]Symbol
	for i := 0; i < len(todo); i++ {
		body := []Symbol{}
		for s := todo[i].first(); !s.guard; s = s.next {
			if s.rule == nil {
				body = append(body, TerminalSymbol(s.term))
				continue
			}
			n, ok := number[s.rule]
			if !ok {
				n = Rule(len(todo))
				number[s.rule] = n
				todo = append(todo, s.rule)
			}
			body = append(body, RuleSymbol(n))
		}
		out = append(out, body)
	}
	return out
}
