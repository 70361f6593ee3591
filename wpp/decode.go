package wpp

import (
	"fmt"

	"hindsight/tracefmt/wire"
)

// Limits are the limits of what [Decode] accepts. In any case it uses less than 64 bytes
// of memory for each byte of input.
type Limits struct {
	// Symbols limits the symbols in all rule bodies; 0 means 2^31-1.
	Symbols uint64
	// Terminals limits the terminals from above, exclusively, because they index a table
	// with that many entries. 0 means MaxTerminal+1.
	Terminals uint64
}

func (l Limits) withDefaults() Limits {
	if l.Symbols == 0 || l.Symbols > 1<<31-1 {
		l.Symbols = 1<<31 - 1
	}
	if l.Terminals == 0 || l.Terminals > uint64(MaxTerminal)+1 {
		l.Terminals = uint64(MaxTerminal) + 1
	}
	return l
}

// Decode reads a grammar that [Grammar.AppendBinary] wrote from the beginning of src and
// returns what follows it. The bytes are not trusted: Decode only accepts grammars whose
// rules are acyclic, reachable and in range, and whose encoding is src again. Errors wrap
// [wire.ErrMalformed], [wire.ErrTruncated] or [wire.ErrTooLarge] and contain the offset.
//
// A small grammar may derive a very long string. Decode accepts that; see [Grammar.Len].
func Decode(src []byte, limits Limits) (g *Grammar, rest []byte, err error) {
	d := decoder{src: src, limits: limits.withDefaults()}
	g, err = d.grammar()
	if err != nil {
		return nil, src, fmt.Errorf("grammar: offset %d: %w", d.at, err)
	}
	return g, src[d.at:], nil
}

type decoder struct {
	src    []byte
	at     int
	limits Limits

	g       *Grammar
	lengths []uint64   // of the rules not entered yet, minus 2
	recent  recency    // of the finished rules
	open    []openRule // rules entered and not finished, outermost first
	pending []Symbol   // their symbols so far
	next    uint64     // the terminal after the greatest one so far
}

type openRule struct {
	from uint32 // where its symbols begin in pending
	left uint64 // remaining symbols
}

// uvarint reads a number in its shortest form.
func (d *decoder) uvarint() (uint64, error) {
	var v uint64
	for shift := uint(0); ; shift += 7 {
		if d.at >= len(d.src) {
			return 0, wire.ErrTruncated
		}
		c := d.src[d.at]
		if shift == 63 && c > 1 {
			return 0, fmt.Errorf("number too large: %w", wire.ErrMalformed)
		}
		d.at++
		v |= uint64(c&0x7f) << shift
		if c < 0x80 {
			if c == 0 && shift > 0 {
				return 0, fmt.Errorf("number not in shortest form: %w", wire.ErrMalformed)
			}
			return v, nil
		}
	}
}

func (d *decoder) grammar() (*Grammar, error) {
	rules, err := d.uvarint()
	if err != nil {
		return nil, err
	}
	symbols, err := d.uvarint()
	if err != nil {
		return nil, err
	}
	if symbols > d.limits.Symbols {
		return nil, fmt.Errorf("%d symbols, at most %d: %w", symbols, d.limits.Symbols, wire.ErrTooLarge)
	}
	// Each rule but the start rule has a length and two symbols or more, and each symbol
	// has a code of at least a byte.
	if rules == 0 || rules-1 > symbols/2 {
		return nil, fmt.Errorf("%d rules with %d symbols: %w", rules, symbols, wire.ErrMalformed)
	}
	if 2*(rules-1)+symbols > uint64(len(d.src)-d.at) {
		return nil, wire.ErrTruncated
	}
	lengths := make([]uint64, rules-1)
	start, err := d.readLengths(lengths, symbols)
	if err != nil {
		return nil, err
	}
	uses := make([]uint32, rules-1)
	if err := d.readUses(uses, symbols); err != nil {
		return nil, err
	}
	g := &Grammar{body: make([]Symbol, 0, symbols), off: make([]uint32, 1, rules+1)}
	return g, d.codes(g, lengths, uses, start)
}

// readLengths reads the lengths of all rules but the start rule. It returns the length of
// the start rule: what the others leave of all symbols.
func (d *decoder) readLengths(lengths []uint64, symbols uint64) (start uint64, err error) {
	start = symbols
	for i := range lengths {
		n, err := d.uvarint()
		if err != nil {
			return 0, err
		}
		if n > start || n+2 > start {
			return 0, fmt.Errorf("rules longer than %d symbols: %w", symbols, wire.ErrMalformed)
		}
		lengths[i] = n
		start -= n + 2
	}
	return start, nil
}

// readUses reads the numbers of uses of all rules but the start rule.
func (d *decoder) readUses(uses []uint32, symbols uint64) error {
	for i := range uses {
		n, err := d.uvarint()
		if err != nil {
			return err
		}
		if n >= symbols {
			return fmt.Errorf("rules used more than %d times: %w", symbols, wire.ErrMalformed)
		}
		symbols -= n + 1
		uses[i] = uint32(n + 1)
	}
	return nil
}

// codes reads the symbols of a grammar into g, which is empty and has room.
func (d *decoder) codes(g *Grammar, lengths []uint64, uses []uint32, start uint64) error {
	d.g, d.lengths = g, lengths
	sum := uint64(0)
	for _, n := range uses {
		sum += uint64(n)
	}
	d.recent.reset(uses, sum)
	d.open = append(d.open[:0], openRule{left: start})
	d.pending = d.pending[:0]
	d.finish()
	for len(d.open) > 0 {
		if err := d.symbol(); err != nil {
			return err
		}
		d.finish()
	}
	if len(d.lengths) > 0 {
		return fmt.Errorf("%d rules are never used: %w", len(d.lengths), wire.ErrMalformed)
	}
	if d.recent.live > 0 {
		return fmt.Errorf("%d rules are used less than announced: %w", d.recent.live, wire.ErrMalformed)
	}
	return nil
}

// symbol reads one code.
func (d *decoder) symbol() error {
	code, err := d.uvarint()
	if err != nil {
		return err
	}
	top := &d.open[len(d.open)-1]
	top.left--
	terminal := d.next
	switch {
	case code == codeNewRule:
		if len(d.lengths) == 0 {
			return fmt.Errorf("more rules than announced: %w", wire.ErrMalformed)
		}
		d.open = append(d.open, openRule{from: uint32(len(d.pending)), left: d.lengths[0] + 2})
		d.lengths = d.lengths[1:]
		return nil
	case code == codeNewTerminal:
	case code&1 == codeRule&1:
		distance := (code - codeRule) / 2
		if distance >= uint64(d.recent.live) {
			return fmt.Errorf("rule %d of %d: %w", distance, d.recent.live, wire.ErrMalformed)
		}
		r := d.recent.at(uint32(distance))
		d.recent.used(r)
		d.pending = append(d.pending, RuleSymbol(r))
		return nil
	default:
		terminal = (code - codeTerminal) / 2
		if terminal == d.next {
			return fmt.Errorf("new terminal %d has a code of its own: %w", terminal, wire.ErrMalformed)
		}
	}
	if terminal >= d.limits.Terminals {
		return fmt.Errorf("terminal %d of %d: %w", terminal, d.limits.Terminals, wire.ErrMalformed)
	}
	d.pending = append(d.pending, TerminalSymbol(Terminal(terminal)))
	d.next = max(d.next, terminal+1)
	return nil
}

// finish closes the rules whose symbols are complete. A rule gets its number
// here; the use that opened it becomes the next symbol of the rule around it.
func (d *decoder) finish() {
	for len(d.open) > 0 {
		top := d.open[len(d.open)-1]
		if top.left > 0 {
			return
		}
		number := Rule(d.g.Rules())
		d.g.body = append(d.g.body, d.pending[top.from:]...)
		d.g.off = append(d.g.off, uint32(len(d.g.body)))
		d.pending = d.pending[:top.from]
		d.open = d.open[:len(d.open)-1]
		if len(d.open) > 0 {
			d.pending = append(d.pending, RuleSymbol(number))
			d.recent.used(number)
		}
	}
}
