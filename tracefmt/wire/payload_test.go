package wire

import (
	"encoding/binary"
	"errors"
	"testing"
)

// TestPayload reads what was written, and stops at the first error.
func TestPayload(t *testing.T) {
	b := binary.AppendUvarint(nil, 300)
	b = binary.AppendVarint(b, -70)
	b = append(b, 7)
	b = binary.AppendUvarint(b, 3)
	b = append(b, "abcxy"...)
	p := Payload{Rest: b}
	if u, v, c := p.Max(300, "number"), p.Varint(), p.Byte(); u != 300 || v != -70 || c != 7 {
		t.Errorf("got %d, %d, %d", u, v, c)
	}
	if n := p.Count(1, "letters"); n != 3 || string(p.Take(uint64(n))) != "abc" {
		t.Errorf("got %d letters", n)
	}
	if p.End(); p.Err == nil || !errors.Is(p.Err, ErrMalformed) {
		t.Errorf("what is left over: %v", p.Err)
	}

	for _, wrong := range []struct {
		name string
		read func(p *Payload)
	}{
		{"a number", func(p *Payload) { p.Max(299, "") }},
		{"a number", func(p *Payload) { p.Below(300, "") }},
		{"nothing is below 0", func(p *Payload) { p.Below(0, "") }},
		{"a count", func(p *Payload) { p.Count(1, "") }},
		{"a length", func(p *Payload) { p.Take(uint64(len(b)) + 1) }},
		{"the end", func(p *Payload) { p.Take(uint64(len(b))); p.Byte() }},
		{"a number at the end", func(p *Payload) { p.Take(uint64(len(b))); p.Uvarint() }},
	} {
		p := Payload{Rest: b}
		wrong.read(&p)
		first := p.Err
		if !errors.Is(first, ErrMalformed) {
			t.Errorf("%s: %v", wrong.name, first)
		}
		if p.Uvarint() != 0 || p.Byte() != 0 || p.Varint() != 0 || p.Take(1) != nil || !errors.Is(p.Err, first) {
			t.Errorf("%s: something came behind the error, or another error: %v", wrong.name, p.Err)
		}
	}
}
