package format

import (
	"encoding/binary"
	"fmt"

	"hindsight/tracefmt"
	"hindsight/wpp"
)

// A data block holds the address streams of one thread in one epoch. A site without
// recorded accesses has no stream.
//
//	payload = dictionary streams
//	dictionary = uvarint n, n times uvarint count<<1 | skip, then for each term
//	          that is no skip varint difference
//	streams = uvarint n, columns of n: uvarint site - previous site, varint first
//	          address - that of the previous stream, uvarint accesses left out
//	          before the first, uvarint symbols when the grammar is a plain
//	          string of fewer than 16 (0: it follows in wpp's binary form, +1 else);
//	          then the terminals of the plain strings (uvarint), then the grammars
//
// Sites are in rising order.
const plainStream = 16

// EncodeData encodes a data block: the terminals, and the streams by ascending
// site.
func EncodeData(terms []AddrTerm, streams []AddrStream) []byte {
	var b []byte
	b = binary.AppendUvarint(b, uint64(len(terms)))
	for _, x := range terms {
		c := x.Count << 1
		if x.Skip {
			c |= 1
		}
		b = binary.AppendUvarint(b, c)
	}
	for _, x := range terms {
		if !x.Skip {
			b = binary.AppendVarint(b, x.Diff)
		}
	}
	b = binary.AppendUvarint(b, uint64(len(streams)))
	var site SiteID
	for _, s := range streams {
		b = binary.AppendUvarint(b, uint64(s.Site-site))
		site = s.Site
	}
	addr := uint64(0)
	for _, s := range streams {
		b = binary.AppendVarint(b, int64(s.First-addr))
		addr = s.First
	}
	for _, s := range streams {
		b = binary.AppendUvarint(b, s.Lead)
	}
	for _, s := range streams {
		if plain(s.Grammar) {
			b = binary.AppendUvarint(b, uint64(s.Grammar.Symbols())+1)
		} else {
			b = append(b, 0)
		}
	}
	for _, s := range streams {
		if plain(s.Grammar) {
			for _, x := range s.Grammar.Body(s.Grammar.Start()) {
				b = binary.AppendUvarint(b, uint64(x.Terminal()))
			}
		}
	}
	for _, s := range streams {
		if !plain(s.Grammar) {
			b = s.Grammar.AppendBinary(b)
		}
	}
	return b
}

func plain(g *wpp.Grammar) bool { return g.Rules() == 1 && g.Symbols() < plainStream }

// Data contains the decoded address streams of a thread in an epoch.
type Data struct {
	Terms   []AddrTerm
	Streams []AddrStream   // by rising site
	BySite  map[SiteID]int // index in Streams
}

type AddrStream struct {
	Site    SiteID
	First   uint64
	Lead    uint64
	Grammar *wpp.Grammar
}

// MaxCount limits the accesses of a run.
const MaxCount = 1 << 56

func DecodeData(payload []byte, tab *Tables) (*Data, error) {
	d := decode(payload)
	terms := d.Count(1, "count")
	if terms > MaxTerms {
		d.Fail("number of terms")
		terms = 0
	}
	t := &Data{Terms: make([]AddrTerm, terms)}
	for i := range t.Terms {
		c := d.Max(MaxCount, "number out of range")
		t.Terms[i] = AddrTerm{Count: c >> 1, Skip: c&1 != 0}
		if c>>1 == 0 {
			d.Fail("count of a run")
		}
	}
	for i := range t.Terms {
		if !t.Terms[i].Skip {
			t.Terms[i].Diff = d.Varint()
		}
	}
	n := d.Count(4, "count")
	if n > len(tab.Sites) {
		d.Fail("number of streams")
		n = 0
	}
	t.Streams = make([]AddrStream, n)
	t.BySite = make(map[SiteID]int, n)
	site := uint64(0)
	for i := range t.Streams {
		step := d.Uvarint()
		site += step
		if step > uint64(len(tab.Sites)) || site >= uint64(len(tab.Sites)) || step == 0 && i > 0 {
			d.Fail("site")
			break
		}
		t.Streams[i].Site = SiteID(site)
		t.BySite[SiteID(site)] = i
	}
	addr := uint64(0)
	for i := range t.Streams {
		addr += uint64(d.Varint())
		t.Streams[i].First = addr
	}
	for i := range t.Streams {
		t.Streams[i].Lead = d.Max(MaxCount, "number out of range")
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

func (t *Data) decodeGrammars(d *decoder, lengths []uint64) {
	var body []wpp.Symbol
	for i, n := range lengths {
		if n == 0 || d.Err != nil {
			continue
		}
		body = body[:0]
		for range n - 1 {
			x := d.Uvarint()
			if x >= uint64(len(t.Terms)) {
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
		t.Streams[i].Grammar = g
	}
	symbols := uint64(0)
	for i, n := range lengths {
		if n != 0 || d.Err != nil {
			continue
		}
		g, rest, err := wpp.Decode(d.Rest, wpp.Limits{Terminals: uint64(max(1, len(t.Terms))), Symbols: MaxSymbols - symbols})
		if err != nil {
			d.Err = fmt.Errorf("%w: %w", tracefmt.ErrMalformed, err)
			return
		}
		symbols += uint64(g.Symbols())
		if symbols >= MaxSymbols {
			d.Fail("number of symbols")
			return
		}
		t.Streams[i].Grammar, d.Rest = g, rest
	}
}

// AddrTerm is a terminal of an address grammar: either Count times the same difference,
// or Count accesses that were left out.
type AddrTerm struct {
	Diff  int64 // from the previous address; 0 when Skip
	Count uint64
	Skip  bool
}
