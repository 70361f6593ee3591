package cdr

import (
	"encoding/binary"
	"fmt"

	"hindsight/tracefmt"
	"hindsight/wpp"
)

// A data block holds the address streams of one thread in one epoch. Sites
// whose accesses were all left out have none.
//
//	payload = dictionary streams
//	dictionary = uvarint n, n times uvarint count<<1 | skip, then for each term
//	          that is no skip varint difference
//	streams = uvarint n, columns of n: uvarint site - site before, varint first
//	          address - that of the stream before, uvarint accesses left out
//	          before the first, uvarint symbols when the grammar is a plain
//	          string of less than 16 (0: it follows in wpp's binary form, +1 else);
//	          then the terminals of the plain strings (uvarint), then the grammars
//
// Sites are in rising order.
const plainStream = 16

func encodeData(t *threadRec, streams []*stream) []byte {
	var b []byte
	b = binary.AppendUvarint(b, uint64(len(t.addrs.terms)))
	for _, x := range t.addrs.terms {
		c := x.count << 1
		if x.skip {
			c |= 1
		}
		b = binary.AppendUvarint(b, c)
	}
	for _, x := range t.addrs.terms {
		if !x.skip {
			b = binary.AppendVarint(b, x.diff)
		}
	}
	b = binary.AppendUvarint(b, uint64(len(streams)))
	var site SiteID
	for _, s := range streams {
		b = binary.AppendUvarint(b, uint64(s.site-site))
		site = s.site
	}
	addr := uint64(0)
	for _, s := range streams {
		b = binary.AppendVarint(b, int64(s.first-addr))
		addr = s.first
	}
	for _, s := range streams {
		b = binary.AppendUvarint(b, s.lead)
	}
	grammars := make([]*wpp.Grammar, len(streams))
	for i, s := range streams {
		g := s.b.Grammar()
		grammars[i] = g
		if plain(g) {
			b = binary.AppendUvarint(b, uint64(g.Symbols())+1)
		} else {
			b = append(b, 0)
		}
	}
	for _, g := range grammars {
		if plain(g) {
			for _, x := range g.Body(g.Start()) {
				b = binary.AppendUvarint(b, uint64(x.Terminal()))
			}
		}
	}
	for _, g := range grammars {
		if !plain(g) {
			b = g.AppendBinary(b)
		}
	}
	return b
}

func plain(g *wpp.Grammar) bool { return g.Rules() == 1 && g.Symbols() < plainStream }

// data is the address streams of a thread and epoch as loaded.
type data struct {
	terms   []addrTerm
	streams []addrStream   // by rising site
	bySite  map[SiteID]int // index in streams
}

type addrStream struct {
	site  SiteID
	first uint64
	lead  uint64
	g     *wpp.Grammar
}

// maxCount bounds the accesses of a run.
const maxCount = 1 << 56

func decodeData(payload []byte, tab *tables) (*data, error) {
	d := decode(payload)
	terms := d.Count(1, "count")
	if terms > maxTerms {
		d.Fail("number of terms")
		terms = 0
	}
	t := &data{terms: make([]addrTerm, terms)}
	for i := range t.terms {
		c := d.Max(maxCount, "number out of range")
		t.terms[i] = addrTerm{count: c >> 1, skip: c&1 != 0}
		if c>>1 == 0 {
			d.Fail("count of a run")
		}
	}
	for i := range t.terms {
		if !t.terms[i].skip {
			t.terms[i].diff = d.Varint()
		}
	}
	n := d.Count(4, "count")
	if n > len(tab.sites) {
		d.Fail("number of streams")
		n = 0
	}
	t.streams = make([]addrStream, n)
	t.bySite = make(map[SiteID]int, n)
	site := uint64(0)
	for i := range t.streams {
		step := d.Uvarint()
		site += step
		if step > uint64(len(tab.sites)) || site >= uint64(len(tab.sites)) || step == 0 && i > 0 {
			d.Fail("site")
			break
		}
		t.streams[i].site = SiteID(site)
		t.bySite[SiteID(site)] = i
	}
	addr := uint64(0)
	for i := range t.streams {
		addr += uint64(d.Varint())
		t.streams[i].first = addr
	}
	for i := range t.streams {
		t.streams[i].lead = d.Max(maxCount, "number out of range")
	}
	lengths := make([]uint64, n)
	for i := range lengths {
		lengths[i] = d.Max(plainStream, "number out of range")
	}
	t.decodeGrammars(&d, lengths)
	d.End()
	if d.Err != nil {
		return nil, fmt.Errorf("data: %w", d.Err)
	}
	return t, nil
}

func (t *data) decodeGrammars(d *decoder, lengths []uint64) {
	var body []wpp.Symbol
	for i, n := range lengths {
		if n == 0 || d.Err != nil {
			continue
		}
		body = body[:0]
		for range n - 1 {
			x := d.Uvarint()
			if x >= uint64(len(t.terms)) {
				d.Fail("terminal")
				return
			}
			body = append(body, wpp.TerminalSymbol(wpp.Terminal(x)))
		}
		g, err := wpp.NewGrammar([][]wpp.Symbol{body}, 0)
		if err != nil {
			d.Fail(err.Error())
			return
		}
		t.streams[i].g = g
	}
	symbols := uint64(0)
	for i, n := range lengths {
		if n != 0 || d.Err != nil {
			continue
		}
		g, rest, err := wpp.Decode(d.Rest, wpp.Limits{Terminals: uint64(max(1, len(t.terms))), Symbols: maxSymbols - symbols})
		if err != nil {
			d.Err = fmt.Errorf("%w: %w", tracefmt.ErrMalformed, err)
			return
		}
		symbols += uint64(g.Symbols())
		if symbols >= maxSymbols {
			d.Fail("number of symbols")
			return
		}
		t.streams[i].g, d.Rest = g, rest
	}
}
