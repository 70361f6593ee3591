package wpp

import (
	"errors"
	"fmt"
	"math"
	"strings"

	"hindsight/tracefmt/wire"
)

// ErrTooLong says that the length or weight of a string exceeds [MaxLength].
var ErrTooLong = errors.New("wpp: string too long")

// MaxLength limits lengths and sums of weights: 2^62.
const MaxLength = 1 << 62

// Grammar is an immutable grammar that generates one string. Rules are numbered so that
// children come before parents, in the order in which a depth-first, left-to-right walk
// from the start rule finishes them; the start rule is the last. Equal grammars therefore
// have equal numbers.
//
// Every rule is reachable. Every rule except the start rule has two symbols or more.
type Grammar struct {
	body []Symbol // the bodies of all rules, one after another
	off  []uint32 // the body of r is body[off[r]:off[r+1]]
}

// Rules returns the number of rules, at least 1.
func (g *Grammar) Rules() int { return len(g.off) - 1 }

// Start returns the start rule.
func (g *Grammar) Start() Rule { return Rule(len(g.off) - 2) }

// Symbols returns the number of symbols in all rule bodies: the edges of the grammar seen
// as a graph.
func (g *Grammar) Symbols() int { return len(g.body) }

// Body returns the right-hand side of a rule. The caller must not change it.
func (g *Grammar) Body(r Rule) []Symbol { return g.body[g.off[r]:g.off[r+1]:g.off[r+1]] }

// Size returns the memory that the grammar holds, in bytes, for caches.
func (g *Grammar) Size() uint64 { return 64 + 4*uint64(cap(g.body)+cap(g.off)) }

// Len returns the length of the string, or [ErrTooLong] if it exceeds [MaxLength]. It
// takes time linear in the size of the grammar.
func (g *Grammar) Len() (uint64, error) {
	total := make([]uint64, g.Rules())
	for r := range total {
		n := uint64(0)
		for _, s := range g.Body(Rule(r)) {
			if s.IsRule() {
				n += total[s.Rule()]
			} else {
				n++
			}
			if n > MaxLength {
				return 0, ErrTooLong
			}
		}
		total[r] = n
	}
	return total[len(total)-1], nil
}

// String returns the rules, one on each line, for tests and for people.
func (g *Grammar) String() string {
	var sb strings.Builder
	for r := g.Rules() - 1; r >= 0; r-- {
		fmt.Fprintf(&sb, "R%d →", r)
		for _, s := range g.Body(Rule(r)) {
			sb.WriteByte(' ')
			sb.WriteString(s.String())
		}
		sb.WriteByte('\n')
	}
	return sb.String()
}

// NewGrammar returns a grammar with the given rule bodies, which may be in any order.
// start is the number of the start rule. NewGrammar copies and renumbers the rules. It
// returns an error if a rule does not exist, is part of a cycle, is not reachable from
// the start, or has fewer than two symbols.
func NewGrammar(rules [][]Symbol, start Rule) (*Grammar, error) {
	if int64(start) >= int64(len(rules)) {
		return nil, fmt.Errorf("wpp: start rule %d of %d", start, len(rules))
	}
	var symbols uint64
	for r, body := range rules {
		if len(body) < 2 && Rule(r) != start {
			return nil, fmt.Errorf("wpp: rule %d has %d symbols", r, len(body))
		}
		symbols += uint64(len(body))
		for _, s := range body {
			if s.IsRule() && int64(s.Rule()) >= int64(len(rules)) {
				return nil, fmt.Errorf("wpp: rule %d uses rule %d of %d", r, s.Rule(), len(rules))
			}
		}
	}
	if symbols > math.MaxInt32 {
		return nil, fmt.Errorf("wpp: %d symbols: %w", symbols, wire.ErrTooLarge)
	}
	return postOrder(rules, start, int(symbols))
}

// postOrder renumbers the rules in the order in which a walk finishes them.
func postOrder(rules [][]Symbol, start Rule, symbols int) (*Grammar, error) {
	const (
		unseen = math.MaxUint32
		open   = unseen - 1
	)
	g := &Grammar{body: make([]Symbol, 0, symbols), off: make([]uint32, 1, len(rules)+1)}
	number := make([]uint32, len(rules))
	for i := range number {
		number[i] = unseen
	}
	number[start] = open
	stack := []step32{{rule: uint32(start)}}
	for len(stack) > 0 {
		top := &stack[len(stack)-1]
		body := rules[top.rule]
		if int(top.index) < len(body) {
			s := body[top.index]
			top.index++
			if !s.IsRule() {
				continue
			}
			switch number[s.Rule()] {
			case open:
				return nil, fmt.Errorf("wpp: rule %d contains itself", s.Rule())
			case unseen:
				number[s.Rule()] = open
				stack = append(stack, step32{rule: uint32(s.Rule())})
			}
			continue
		}
		for _, s := range body {
			if s.IsRule() {
				s = RuleSymbol(Rule(number[s.Rule()]))
			}
			g.body = append(g.body, s)
		}
		number[top.rule] = uint32(g.Rules())
		g.off = append(g.off, uint32(len(g.body)))
		stack = stack[:len(stack)-1]
	}
	if g.Rules() != len(rules) {
		return nil, fmt.Errorf("wpp: %d of %d rules are not reachable", len(rules)-g.Rules(), len(rules))
	}
	return g, nil
}

type step32 struct{ rule, index uint32 }

// Grammar returns the grammar of the string so far. The builder can continue.
func (b *Builder) Grammar() *Grammar {
	if b.nodes == nil {
		return b.inlineGrammar()
	}
	g := &Grammar{body: make([]Symbol, 0, b.live), off: make([]uint32, 1, b.rules+2)}
	// number[guard] is the rule's number plus 1 once it is finished.
	number := make([]uint32, len(b.nodes))
	type visit struct{ guard, at uint32 }
	stack := []visit{{startGuard, b.nodes[startGuard].next}}
	for len(stack) > 0 {
		top := &stack[len(stack)-1]
		if top.at != top.guard {
			n := b.nodes[top.at]
			if isUse(n.sym) && number[guardOf(n.sym)] == 0 {
				child := guardOf(n.sym)
				stack = append(stack, visit{child, b.nodes[child].next})
				continue
			}
			top.at = n.next
			continue
		}
		for i := b.nodes[top.guard].next; i != top.guard; i = b.nodes[i].next {
			s := b.nodes[i].sym
			if isUse(s) {
				s = ruleBit | (number[guardOf(s)] - 1)
			}
			g.body = append(g.body, Symbol(s))
		}
		g.off = append(g.off, uint32(len(g.body)))
		number[top.guard] = uint32(g.Rules())
		stack = stack[:len(stack)-1]
	}
	return g
}

// inlineGrammar is Grammar for a string that is still too short for an arena.
func (b *Builder) inlineGrammar() *Grammar {
	kept := b.inline[:b.length]
	if repeats(kept) {
		var full Builder
		full.nodes = make([]node, 0, firstNodes)
		full.start()
		for _, s := range kept {
			full.push(s)
		}
		return full.Grammar()
	}
	g := &Grammar{body: make([]Symbol, len(kept)), off: []uint32{0, uint32(len(kept))}}
	for i, s := range kept {
		g.body[i] = Symbol(s)
	}
	return g
}

// repeats reports whether a pair of adjacent symbols occurs twice in s without
// overlap.
func repeats(s []uint32) bool {
	for i := 0; i+3 < len(s); i++ {
		for j := i + 2; j+1 < len(s); j++ {
			if s[i] == s[j] && s[i+1] == s[j+1] {
				return true
			}
		}
	}
	return false
}
