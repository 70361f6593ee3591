package format

import (
	"encoding/binary"
	"fmt"

	"hindsight/tracefmt"
	"hindsight/tracefmt/event"
	"hindsight/wpp"
)

// A control block holds the control-flow string of one thread in one epoch.
//
//	payload = stack terms grammar
//	stack   = uvarint frames, then varint differences, outermost first: the
//	          call stack when the epoch began
//	terms   = uvarint n, n bytes of kind (2 bits and up: 0 path, 1 sync, 2 pop,
//	          3 push, 4 access; +8 for a path that is run more than once), then
//	          for each term varint a - a of the previous term of this kind and,
//	          for a repeated path, sync and access, uvarint b (in its own column)
//	grammar = wpp's binary form
const repeated = 8

// EncodeControl encodes a control block: the call stack when the epoch began, the
// terms, and the grammar over their numbers.
func EncodeControl(base []uint64, terms []Term, g *wpp.Grammar) []byte {
	var b []byte
	b = binary.AppendUvarint(b, uint64(len(base)))
	prev := uint64(0)
	for _, f := range base {
		b = binary.AppendVarint(b, int64(f-prev))
		prev = f
	}
	b = binary.AppendUvarint(b, uint64(len(terms)))
	for _, x := range terms {
		k := byte(x.Kind)
		if x.Kind == TermPath && x.B > 1 {
			k += repeated
		}
		b = append(b, k)
	}
	var last [numTermKinds]uint64
	for _, x := range terms {
		b = binary.AppendVarint(b, int64(x.A-last[x.Kind]))
		last[x.Kind] = x.A
	}
	for _, x := range terms {
		switch x.Kind {
		case TermPath:
			if x.B > 1 {
				b = binary.AppendUvarint(b, x.B)
			}
		case TermSync, TermAccess:
			b = binary.AppendUvarint(b, x.B)
		}
	}
	return g.AppendBinary(b)
}

// ControlString is a control string as loaded.
type ControlString struct {
	Base    []uint64
	Terms   []Term
	Grammar *wpp.Grammar
}

// Limits on what a block may hold. A recorder that keeps to its budget writes less.
const (
	MaxRun     = 1 << 40  // repetitions of a path in a row
	MaxTerms   = 1 << 19  // letters of the alphabet
	MaxSymbols = 1 << 21  // of the grammars of a block
	MaxPayload = 16 << 20 // bytes
	MaxEpoch   = 32 << 20 // bytes of all control, data and sync blocks of an epoch
)

func DecodeControl(payload []byte, tab *Tables) (*ControlString, error) {
	d := decode(payload)
	c := &ControlString{}
	n := d.Count(1, "count")
	if n > MaxStack+1 {
		d.Fail("call stack")
		n = 0
	}
	c.Base = make([]uint64, n)
	at := uint64(0)
	for i := range c.Base {
		at += uint64(d.Varint())
		c.Base[i] = at
	}
	n = d.Count(2, "count")
	if n > MaxTerms {
		d.Fail("number of terms")
		n = 0
	}
	c.Terms = make([]Term, n)
	again := make([]bool, n)
	for i := range c.Terms {
		k := d.Byte()
		again[i] = k == repeated+byte(TermPath)
		if again[i] {
			k -= repeated
		}
		c.Terms[i].Kind = termKind(k)
		if c.Terms[i].Kind >= numTermKinds {
			d.Fail("kind of a term")
		}
	}
	if d.Err == nil {
		c.decodeTerms(&d, again, tab)
	}
	if d.Err != nil {
		return nil, fmt.Errorf("control: %w", d.Err)
	}
	g, rest, err := wpp.Decode(d.Rest, wpp.Limits{Terminals: uint64(max(n, 1)), Symbols: MaxSymbols})
	if err != nil {
		return nil, fmt.Errorf("control: %w: %w", tracefmt.ErrMalformed, err)
	}
	if len(rest) != 0 || n == 0 && g.Symbols() != 0 {
		return nil, fmt.Errorf("control: bytes left over: %w", tracefmt.ErrMalformed)
	}
	c.Grammar = g
	return c, nil
}

func (c *ControlString) decodeTerms(d *decoder, again []bool, tab *Tables) {
	var last [numTermKinds]uint64
	for i := range c.Terms {
		x := &c.Terms[i]
		last[x.Kind] += uint64(d.Varint())
		x.A = last[x.Kind]
	}
	for i := range c.Terms {
		x := &c.Terms[i]
		switch x.Kind {
		case TermPath:
			x.B = 1
			if again[i] {
				x.B = d.Max(MaxRun, "number out of range")
			}
			if x.A >= uint64(tab.Paths()) || x.B == 0 {
				d.Fail("path")
			}
		case TermSync:
			x.B = d.Max(uint64(event.NumKinds)*2-1, "number out of range")
		case TermAccess:
			x.B = d.Max(255, "number out of range")
		case TermPop, TermPush:
		}
	}
}

// MaxStack limits the frames of a thread that calls and never returns, such as one in a
// program that switches stacks by hand. At the limit all frames are dropped.
const MaxStack = 1 << 20
