package sharing

import (
	"cmp"
	"context"
	"math/bits"
	"regexp"
	"slices"

	"hindsight/analyze/place"
	"hindsight/analyze/replay"
	"hindsight/tracefmt/archinfo"
)

// builder finds the names of lines.
type builder struct {
	s      *archinfo.Summary
	img    Image
	trace  Trace
	groups map[groupKey]*group
}

// group is a variable: its words, in the lines that contain a part of it.
type group struct {
	object place.Location // of its first word that has a name
	parts  []part         // the most expensive first
	blocks map[uint64]bool
	words  archinfo.WordCounts
}

// cost returns the number of bus transactions of its words.
func (g *group) cost() uint64 { return g.words.Coherence + g.words.Upgrades }

// part has the words of a line that are in one variable.
type part struct {
	*line
	key   groupKey
	words []int // indexes into Line.Words
	cost  uint64
}

type groupKey struct {
	kind place.Kind
	name string
	a, b uint64
}

// line is a line with the objects in it.
type line struct {
	*archinfo.Line
	spans []span
}

// span is a range of granules of a line that are in one object.
type span struct {
	first, last int // numbers of granules
	key         groupKey
	loc         place.Location
}

// inside matches the offset of an address within the smallest part of a variable.
var inside = regexp.MustCompile(`\+[0-9]+$`)

// locate finds out which objects are in the lines, each at the moment of its last
// transaction, and groups them.
func (b *builder) locate(ctx context.Context, tls uint64) error {
	order := make([]*archinfo.Line, 0, len(b.s.Lines))
	for i := range b.s.Lines {
		if b.s.Lines[i].Cost() > 0 {
			order = append(order, &b.s.Lines[i])
		}
	}
	slices.SortStableFunc(order, func(x, y *archinfo.Line) int { return cmp.Compare(x.Last, y.Last) })
	run := (&replay.Survey{Threads: len(b.trace.Threads())}).Walk(replay.Options{TLSSize: tls, NoOrder: true})
	err := run.Run(ctx, b.trace, &replay.Visitor{Event: func(ev *replay.Event) error {
		for len(order) > 0 && order[0].Last <= ev.Seq {
			b.add(order[0], run.Memory)
			order = order[1:]
		}
		if len(order) == 0 {
			return replay.ErrStop
		}
		return nil
	}})
	if err != nil {
		return err
	}
	for _, l := range order {
		b.add(l, run.Memory)
	}
	for _, g := range b.groups {
		slices.SortStableFunc(g.parts, func(x, y part) int {
			return cmp.Or(cmp.Compare(y.cost, x.cost), cmp.Compare(x.Address, y.Address))
		})
	}
	return nil
}

// add cuts a line into spans, and assigns each of its words to the group of the span in
// which it begins.
func (b *builder) add(al *archinfo.Line, memory *place.Map) {
	l := &line{Line: al}
	touched := uint64(0)
	for i := range al.Threads {
		touched |= al.Threads[i].Read | al.Threads[i].Written
	}
	for m := touched; m != 0; m &= m - 1 {
		n := bits.TrailingZeros64(m)
		addr := al.Address + uint64(n)*b.s.Config.Granule
		loc := memory.Locate(addr)
		key := b.key(&loc)
		if k := len(l.spans) - 1; k >= 0 && l.spans[k].key == key && l.spans[k].last == n-1 {
			l.spans[k].last = n
			continue
		}
		l.spans = append(l.spans, span{n, n, key, loc})
	}
	if len(l.spans) == 0 {
		return
	}
	parts := map[groupKey]*part{}
	for i := range al.Words {
		w := &al.Words[i]
		s := l.spanOf(w.Index, b.s.Config.Granule)
		g := b.groups[s.key]
		if g == nil {
			g = &group{object: s.loc, blocks: map[uint64]bool{}}
			b.groups[s.key] = g
		}
		g.words.Add(&w.WordCounts)
		if s.loc.Kind == place.Heap {
			g.blocks[s.loc.Block.Addr] = true
		}
		p := parts[s.key]
		if p == nil {
			p = &part{line: l, key: s.key}
			parts[s.key] = p
		}
		p.words = append(p.words, i)
		p.cost += w.Coherence + w.Upgrades
	}
	for k, p := range parts {
		if p.cost > 0 {
			b.groups[k].parts = append(b.groups[k].parts, *p)
		}
	}
}

// spanOf returns the first span that contains a part of a word, or else the first span.
func (l *line) spanOf(word int, granule uint64) *span {
	first := word * 8 / int(granule)
	last := (word*8 + 7) / int(granule)
	for i := range l.spans {
		if s := &l.spans[i]; s.first <= last && s.last >= first {
			return s
		}
	}
	return &l.spans[0]
}

// key identifies an object: a global by its symbol, a heap block by its size and where it
// was allocated, thread-local variables by name and thread, a stack by its thread.
func (b *builder) key(loc *place.Location) groupKey {
	switch loc.Kind {
	case place.Heap:
		return groupKey{loc.Kind, "", loc.Block.PC, loc.Block.Size}
	case place.TLS:
		return groupKey{loc.Kind, root(inside.ReplaceAllString(b.img.TLSPath(loc.Image, loc.Offset), "")), uint64(loc.Thread), 0}
	case place.Stack:
		return groupKey{loc.Kind, "", uint64(loc.Thread), 0}
	}
	if s, _, ok := b.img.Object(loc.Address); ok {
		return groupKey{place.Unknown, "", s.Addr, 1}
	}
	return groupKey{place.Unknown, "", loc.Address &^ (b.s.Config.Line - 1), 0}
}

// fields cuts the touched part of a line into ranges with one name that the same threads
// used in the same way.
func (b *builder) fields(l *line) []Field {
	var out []Field
	g := b.s.Config.Granule
	for i := range l.spans {
		s := &l.spans[i]
		for n := s.first; n <= s.last; n++ {
			addr := l.Address + uint64(n)*g
			name, uses := b.name(s, addr), uses(l.Line, n)
			if k := len(out) - 1; n > s.first && out[k].Name == name && slices.Equal(out[k].Uses, uses) {
				out[k].Size += g
				continue
			}
			out = append(out, Field{Name: name, Address: addr, Offset: uint64(n) * g, Size: g, Uses: uses})
		}
	}
	for i := range out {
		if f := &out[i]; f.Name == "" {
			f.Name = b.offsetName(l, f)
		}
	}
	return joined(out)
}

// element splits the path of an element of an array, or of a part of one: what comes
// before the last subscript, the subscript, and what comes after it.
var element = regexp.MustCompile(`^(.*)\[([0-9]+)\]([^\[]*)$`)

// joined merges neighbouring elements that were used in the same way into one field, such
// as grid[32..35].
func joined(fields []Field) []Field {
	var out []Field
	for first := 0; first < len(fields); {
		f := fields[first]
		from := element.FindStringSubmatch(f.Name)
		next := first + 1
		for ; next < len(fields) && from != nil; next++ {
			g := &fields[next]
			to := element.FindStringSubmatch(g.Name)
			if to == nil || to[1] != from[1] || to[3] != from[3] || g.Offset != f.Offset+f.Size || !slices.Equal(f.Uses, g.Uses) {
				break
			}
			f.Size += g.Size
			f.Name = from[1] + "[" + from[2] + ".." + to[2] + "]" + from[3]
		}
		out = append(out, f)
		first = next
	}
	return out
}

// name returns the path of the smallest part at addr, or "" for memory without a name.
func (b *builder) name(s *span, addr uint64) string {
	switch s.loc.Kind {
	case place.Heap, place.Stack:
		return ""
	case place.TLS:
		return inside.ReplaceAllString(b.img.TLSPath(s.loc.Image, s.loc.Offset+addr-s.loc.Address), "")
	}
	return inside.ReplaceAllString(b.img.ObjectPathSize(addr, 1), "")
}

// offsetName names a field of a heap block by its offset.
func (b *builder) offsetName(l *line, f *Field) string {
	for i := range l.spans {
		s := &l.spans[i]
		if n := int(f.Offset / b.s.Config.Granule); s.first <= n && n <= s.last && s.loc.Kind == place.Heap {
			return "block+" + utoa(f.Address-s.loc.Block.Addr)
		}
	}
	return ""
}

func uses(l *archinfo.Line, granule int) []Use {
	var out []Use
	for i := range l.Threads {
		t := &l.Threads[i]
		u := Use{t.Thread, t.Read>>granule&1 != 0, t.Written>>granule&1 != 0}
		if u.Read || u.Write {
			out = append(out, u)
		}
	}
	slices.SortFunc(out, func(x, y Use) int { return cmp.Compare(x.Thread, y.Thread) })
	return out
}
