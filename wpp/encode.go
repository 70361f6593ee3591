package wpp

import "encoding/binary"

// The binary form of a grammar. All numbers are unsigned LEB128, in their shortest form.
//
//	rules      number of rules, including the start rule, at least 1
//	symbols    number of symbols in all bodies
//	length     for each rule but the start, in order of first use: symbols - 2
//	uses       for each rule but the start, in order of numbers: uses - 1
//	code       for each symbol
//
// The codes are in the order of a depth-first, left-to-right walk from the start rule
// that enters a rule at its first use. The first use of a rule therefore needs no number,
// nor do terminals that are numbered by first use:
//
//	0          first use of a rule; its body follows at once
//	1          the terminal after the greatest so far (0 at first)
//	2 + 2t     terminal t
//	3 + 2d     a rule; d other rules were used since its latest use, without
//	           counting rules that will not be used again; the end of a rule's
//	           body counts as its first use
//
// Lengths, uses and codes are in separate columns, mostly one byte each, which helps the
// entropy coder that follows.
const (
	codeNewRule = iota
	codeNewTerminal
	codeTerminal
	codeRule
)

// walk calls visit for each symbol, in the order of the binary form. fresh marks the
// first use of a rule, whose body follows.
func (g *Grammar) walk(visit func(s Symbol, fresh bool, finished uint32)) {
	finished := uint32(0)
	stack := []step32{{rule: uint32(g.Start())}}
	for len(stack) > 0 {
		top := &stack[len(stack)-1]
		at := g.off[top.rule] + top.index
		if at == g.off[top.rule+1] {
			finished++
			stack = stack[:len(stack)-1]
			continue
		}
		top.index++
		s := g.body[at]
		fresh := s.IsRule() && uint32(s.Rule()) >= finished
		visit(s, fresh, finished)
		if fresh {
			stack = append(stack, step32{rule: uint32(s.Rule())})
		}
	}
}

// AppendBinary appends the binary form of the grammar to dst. [Decode] reads
// it back.
func (g *Grammar) AppendBinary(dst []byte) []byte {
	e := encoder{dst: dst}
	e.uvarint(uint64(g.Rules()))
	e.uvarint(uint64(g.Symbols()))
	e.lengths(g)
	e.uses(g)
	e.codes(g)
	return e.dst
}

type encoder struct {
	dst    []byte
	next   Terminal // the terminal that codeNewTerminal stands for
	counts []uint32
	recent recency
}

func (e *encoder) uvarint(v uint64) { e.dst = binary.AppendUvarint(e.dst, v) }

// lengths appends the column of lengths.
func (e *encoder) lengths(g *Grammar) {
	if g.Rules() == 1 {
		return
	}
	g.walk(func(s Symbol, fresh bool, _ uint32) {
		if fresh {
			e.uvarint(uint64(len(g.Body(s.Rule())) - 2))
		}
	})
}

// count sets counts to the uses of each rule but the start rule, and returns their sum.
func (e *encoder) count(g *Grammar) (sum uint64) {
	e.counts = append(e.counts[:0], make([]uint32, g.Rules()-1)...)
	if len(e.counts) == 0 {
		return 0
	}
	for _, s := range g.body {
		if s.IsRule() {
			e.counts[s.Rule()]++
			sum++
		}
	}
	return sum
}

// uses appends the column of uses.
func (e *encoder) uses(g *Grammar) {
	e.count(g)
	for _, n := range e.counts {
		e.uvarint(uint64(n - 1))
	}
}

// codes appends the codes of all symbols.
func (e *encoder) codes(g *Grammar) {
	sum := e.count(g)
	e.recent.reset(e.counts, sum)
	known := uint32(0) // rules that are finished and in recent
	g.walk(func(s Symbol, fresh bool, finished uint32) {
		for ; known < finished; known++ {
			e.recent.used(Rule(known))
		}
		switch {
		case fresh:
			e.uvarint(codeNewRule)
		case s.IsRule():
			e.uvarint(codeRule + 2*uint64(e.recent.distance(s.Rule())))
			e.recent.used(s.Rule())
		case s.Terminal() == e.next:
			e.uvarint(codeNewTerminal)
		default:
			e.uvarint(codeTerminal + 2*uint64(s.Terminal()))
		}
		if !s.IsRule() && s.Terminal() >= e.next {
			e.next = s.Terminal() + 1
		}
	})
}
