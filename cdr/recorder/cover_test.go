package recorder

import (
	"slices"
	"testing"

	"hindsight/cdr/internal/madeup"
	"hindsight/tracefmt/event"
	"hindsight/wpp/cfg"
)

// TestCover checks that a block of the simulator is divided only if it consists of whole
// basic blocks up to its last access.
func TestCover(t *testing.T) {
	site := func(pc uint64) event.Site { return event.Site{PC: pc, Size: 8} }
	static := []event.Block{
		{PC: 0x100, Bytes: 8, Insts: 2, End: event.EndFall, Sites: []event.Site{site(0x104)}},
		{PC: 0x108, Bytes: 4, Insts: 1, End: event.EndFall},
		{PC: 0x10c, Bytes: 8, Insts: 2, End: event.EndBranch, Sites: []event.Site{site(0x10c)}},
		{PC: 0x114, Bytes: 4, Insts: 1, End: event.EndReturn},
	}
	flow := madeup.New()
	flow.AddGraph(cfg.Graph{{1}, {2}, {1, 3}, {}}, static)
	whole := event.Block{PC: 0x100, Bytes: 20, Insts: 5, End: event.EndBranch, Sites: []event.Site{site(0x104), site(0x10c)}}
	for _, c := range []struct {
		what   string
		change func(b *event.Block)
		want   int
	}{
		{"whole", func(*event.Block) {}, 3},
		{"the last alone", func(b *event.Block) { b.PC, b.Bytes, b.Insts, b.Sites = 0x10c, 8, 2, b.Sites[1:] }, 1},
		{"cut short by a fault", func(b *event.Block) { b.Bytes, b.Insts, b.End = 16, 4, event.EndTrap }, 0},
		{"cut short where a block ends", func(b *event.Block) { b.Bytes, b.Insts, b.End, b.Sites = 12, 3, event.EndTrap, b.Sites[:1] }, 0},
		{"cut by its length where a block ends", func(b *event.Block) { b.Bytes, b.Insts, b.End, b.Sites = 12, 3, event.EndFall, b.Sites[:1] }, 2},
		{"entered in the middle", func(b *event.Block) { b.PC, b.Bytes, b.Insts = 0x104, 16, 4 }, 0},
		{"no such code", func(b *event.Block) { b.PC = 0x200 }, 0},
		{"runs on behind a branch", func(b *event.Block) { b.Bytes, b.Insts, b.End = 24, 6, event.EndReturn }, 0},
		{"another end", func(b *event.Block) { b.End = event.EndJump }, 0},
		{"another access", func(b *event.Block) { b.Sites = []event.Site{site(0x104), {PC: 0x10c, Size: 4}} }, 0},
		{"an access less", func(b *event.Block) { b.Sites = b.Sites[:1] }, 0},
		{"an access more", func(b *event.Block) { b.Sites = append(slices.Clone(b.Sites), site(0x110)) }, 0},
		{"more instructions", func(b *event.Block) { b.Insts = 6 }, 0},
		{"empty", func(b *event.Block) { b.Bytes = 0 }, 0},
		{"beyond the address space", func(b *event.Block) { b.PC, b.Bytes = ^uint64(0)-8, 20 }, 0},
	} {
		b := whole
		c.change(&b)
		if got := len(cover(flow, &b)); got != c.want {
			t.Errorf("%s: %d basic blocks, want %d", c.what, got, c.want)
		}
	}
	if cover(nil, &whole) != nil {
		t.Error("basic blocks of no program")
	}
}
