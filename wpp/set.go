package wpp

import (
	"fmt"

	"hindsight/tracefmt/wire"
)

// The binary form of a set of grammars: many small ones, as the address
// streams of the load and store instructions of one thread are, most of them a
// rule of a few symbols. Columns go across the set.
//
//	grammars   their number
//	symbols    for each grammar: symbols<<1, +1 when it has rules besides the
//	           start
//	rules      for each grammar that has: rules - 2
//	length     as in the form of a grammar, grammar after grammar
//	uses       likewise
//	code       likewise; the greatest terminal so far is that of the whole set
//
// All numbers are unsigned LEB128 in their shortest form.

// AppendSet appends the binary form of a list of grammars to dst. [DecodeSet]
// reads it back. It is smallest when terminals are numbered by first use, see
// [Relabel].
func AppendSet(dst []byte, grammars []*Grammar) []byte {
	e := encoder{dst: dst}
	e.uvarint(uint64(len(grammars)))
	for _, g := range grammars {
		head := uint64(g.Symbols()) << 1
		if g.Rules() > 1 {
			head |= 1
		}
		e.uvarint(head)
	}
	for _, g := range grammars {
		if g.Rules() > 1 {
			e.uvarint(uint64(g.Rules() - 2))
		}
	}
	for _, g := range grammars {
		e.lengths(g)
	}
	for _, g := range grammars {
		e.uses(g)
	}
	for _, g := range grammars {
		e.codes(g)
	}
	return e.dst
}

// DecodeSet reads what [AppendSet] wrote from the beginning of src and gives
// what follows it. It trusts the bytes no more than [Decode] does and gives
// the same errors; the limit of symbols is that of all grammars together.
// Memory is less than 128 bytes a byte of input.
func DecodeSet(src []byte, limits Limits) (grammars []*Grammar, rest []byte, err error) {
	d := decoder{src: src, limits: limits.withDefaults()}
	grammars, err = d.set()
	if err != nil {
		return nil, src, fmt.Errorf("offset %d: %w", d.at, err)
	}
	return grammars, src[d.at:], nil
}

// setHead is what the first columns say of a grammar.
type setHead struct {
	symbols, start uint64
	rules          uint64 // besides the start
}

func (d *decoder) set() ([]*Grammar, error) {
	heads, symbols, rules, err := d.setHeads()
	if err != nil {
		return nil, err
	}
	if 2*rules+symbols > uint64(len(d.src)-d.at) {
		return nil, wire.ErrTruncated
	}
	lengths := make([]uint64, rules)
	for at, i := uint64(0), 0; i < len(heads); i++ {
		h := &heads[i]
		if h.start, err = d.readLengths(lengths[at:at+h.rules], h.symbols); err != nil {
			return nil, err
		}
		at += h.rules
	}
	uses := make([]uint32, rules)
	for at, i := uint64(0), 0; i < len(heads); i++ {
		h := heads[i]
		if err := d.readUses(uses[at:at+h.rules], h.symbols); err != nil {
			return nil, err
		}
		at += h.rules
	}
	// The grammars share three allocations.
	storage := make([]Grammar, len(heads))
	body := make([]Symbol, symbols)
	off := make([]uint32, rules+2*uint64(len(heads)))
	out := make([]*Grammar, len(heads))
	for i, h := range heads {
		g := &storage[i]
		g.body, body = body[0:0:h.symbols], body[h.symbols:]
		g.off, off = off[0:1:h.rules+2], off[h.rules+2:]
		if err := d.codes(g, lengths[:h.rules], uses[:h.rules], h.start); err != nil {
			return nil, err
		}
		lengths, uses = lengths[h.rules:], uses[h.rules:]
		out[i] = g
	}
	return out, nil
}

// setHeads reads the first two columns, and gives the sums of symbols and of
// rules besides the starts.
func (d *decoder) setHeads() (heads []setHead, symbols, rules uint64, err error) {
	n, err := d.uvarint()
	if err != nil {
		return nil, 0, 0, err
	}
	if n > uint64(len(d.src)-d.at) {
		return nil, 0, 0, wire.ErrTruncated
	}
	heads = make([]setHead, n)
	for i := range heads {
		head, err := d.uvarint()
		if err != nil {
			return nil, 0, 0, err
		}
		if head>>1 > d.limits.Symbols-symbols {
			return nil, 0, 0, fmt.Errorf("more than %d symbols: %w", d.limits.Symbols, wire.ErrTooLarge)
		}
		symbols += head >> 1
		heads[i] = setHead{symbols: head >> 1, rules: head & 1}
	}
	for i := range heads {
		h := &heads[i]
		if h.rules == 0 {
			continue
		}
		more, err := d.uvarint()
		if err != nil {
			return nil, 0, 0, err
		}
		h.rules = more + 1
		if more >= h.symbols || h.rules > h.symbols/2 {
			return nil, 0, 0, fmt.Errorf("%d rules with %d symbols: %w", h.rules, h.symbols, wire.ErrMalformed)
		}
		rules += h.rules
	}
	return heads, symbols, rules, nil
}

// Relabel gives copies of the grammars with terminals numbered densely from 0
// in the order in which the strings, one grammar after the other, first use
// them, which makes the binary form smallest. order says which terminal each
// new number was. The terminals must be dense too: the table that it needs has
// an entry for each number up to the greatest.
func Relabel(grammars []*Grammar) (relabelled []*Grammar, order []Terminal) {
	greatest := Terminal(0)
	for _, g := range grammars {
		for _, s := range g.body {
			if !s.IsRule() {
				greatest = max(greatest, s.Terminal())
			}
		}
	}
	label := make([]uint32, uint64(greatest)+1) // plus 1; 0: none yet
	relabelled = make([]*Grammar, len(grammars))
	for i, g := range grammars {
		// The first uses in the string come in the order of the walk.
		g.walk(func(s Symbol, _ bool, _ uint32) {
			if !s.IsRule() && label[s.Terminal()] == 0 {
				order = append(order, s.Terminal())
				label[s.Terminal()] = uint32(len(order))
			}
		})
		h := &Grammar{body: make([]Symbol, len(g.body)), off: g.off}
		for j, s := range g.body {
			if !s.IsRule() {
				s = TerminalSymbol(Terminal(label[s.Terminal()] - 1))
			}
			h.body[j] = s
		}
		relabelled[i] = h
	}
	return relabelled, order
}
