package cdr

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
//	          for each term varint a - a of the term before of this kind and,
//	          for a repeated path, sync and access, uvarint b (column of its own)
//	grammar = wpp's binary form
const repeated = 8

func encodeControl(t *threadRec) []byte {
	var b []byte
	b = binary.AppendUvarint(b, uint64(len(t.base)))
	prev := uint64(0)
	for _, f := range t.base {
		b = binary.AppendVarint(b, int64(f-prev))
		prev = f
	}
	b = binary.AppendUvarint(b, uint64(len(t.terms)))
	for _, x := range t.terms {
		k := byte(x.kind)
		if x.kind == termPath && x.b > 1 {
			k += repeated
		}
		b = append(b, k)
	}
	var last [numTermKinds]uint64
	for _, x := range t.terms {
		b = binary.AppendVarint(b, int64(x.a-last[x.kind]))
		last[x.kind] = x.a
	}
	for _, x := range t.terms {
		switch x.kind {
		case termPath:
			if x.b > 1 {
				b = binary.AppendUvarint(b, x.b)
			}
		case termSync, termAccess:
			b = binary.AppendUvarint(b, x.b)
		}
	}
	return t.control.Grammar().AppendBinary(b)
}

// control is a control string as loaded.
type control struct {
	base  []uint64
	terms []term
	g     *wpp.Grammar
}

// What a block of a trace may hold; a recorder within its budget writes less.
const (
	maxRun     = 1 << 40  // times that a path runs in a row
	maxTerms   = 1 << 19  // letters of an alphabet
	maxSymbols = 1 << 21  // of the grammars of a block
	maxPayload = 16 << 20 // bytes
	maxEpoch   = 32 << 20 // bytes of all control, data and sync blocks of an epoch
)

func decodeControl(payload []byte, tab *tables) (*control, error) {
	d := decode(payload)
	c := &control{}
	n := d.Count(1, "count")
	if n > maxStack+1 {
		d.Fail("call stack")
		n = 0
	}
	c.base = make([]uint64, n)
	at := uint64(0)
	for i := range c.base {
		at += uint64(d.Varint())
		c.base[i] = at
	}
	n = d.Count(2, "count")
	if n > maxTerms {
		d.Fail("number of terms")
		n = 0
	}
	c.terms = make([]term, n)
	again := make([]bool, n)
	for i := range c.terms {
		k := d.Byte()
		again[i] = k == repeated+byte(termPath)
		if again[i] {
			k -= repeated
		}
		c.terms[i].kind = termKind(k)
		if c.terms[i].kind >= numTermKinds {
			d.Fail("kind of a term")
		}
	}
	if d.Err == nil {
		c.decodeTerms(&d, again, tab)
	}
	if d.Err != nil {
		return nil, fmt.Errorf("control: %w", d.Err)
	}
	g, rest, err := wpp.Decode(d.Rest, wpp.Limits{Terminals: uint64(max(n, 1)), Symbols: maxSymbols})
	if err != nil {
		return nil, fmt.Errorf("control: %w: %w", tracefmt.ErrMalformed, err)
	}
	if len(rest) != 0 || n == 0 && g.Symbols() != 0 {
		return nil, fmt.Errorf("control: bytes left over: %w", tracefmt.ErrMalformed)
	}
	c.g = g
	return c, nil
}

func (c *control) decodeTerms(d *decoder, again []bool, tab *tables) {
	var last [numTermKinds]uint64
	for i := range c.terms {
		x := &c.terms[i]
		last[x.kind] += uint64(d.Varint())
		x.a = last[x.kind]
	}
	for i := range c.terms {
		x := &c.terms[i]
		switch x.kind {
		case termPath:
			x.b = 1
			if again[i] {
				x.b = d.Max(maxRun, "number out of range")
			}
			if x.a >= uint64(tab.paths()) || x.b == 0 {
				d.Fail("path")
			}
		case termSync:
			x.b = d.Max(uint64(event.NumKinds)*2-1, "number out of range")
		case termAccess:
			x.b = d.Max(255, "number out of range")
		case termPop, termPush:
		}
	}
}
