package arch

import (
	"testing"

	"hindsight/tracefmt/archinfo"
	"hindsight/tracefmt/event"
)

// ref is one access of a test.
type ref struct {
	hart  event.ThreadID
	addr  uint64
	size  uint8
	op    event.Access
	which event.Kind // None: a plain access; else an atomic one
}

func (r ref) read() bool {
	return r.which == event.None && r.op == event.Read || r.which == event.AtomicLoad || r.which == event.AtomicRMW
}

func (r ref) write() bool {
	return r.which == event.None && r.op == event.Write || r.which == event.AtomicStore || r.which == event.AtomicRMW
}

// sitePC returns the site of the access: one pc per size and operation.
func (r ref) sitePC() uint64 {
	return 0x1000 + 0x10*uint64(r.size) + 4*uint64(r.op) + 0x100*uint64(r.which)
}

// player feeds single accesses to a model.
type player struct {
	t      *testing.T
	m      *Model
	blocks map[[2]uint8]event.BlockID
}

func newPlayer(t *testing.T, cfg Config) *player {
	t.Helper()
	m, err := New(cfg)
	if err != nil {
		t.Fatal(err)
	}
	p := &player{t, m, map[[2]uint8]event.BlockID{}}
	for _, size := range []uint8{1, 2, 4, 8} {
		for _, op := range []event.Access{event.Read, event.Write} {
			pc := ref{size: size, op: op}.sitePC()
			id := event.BlockID(len(p.blocks))
			p.blocks[[2]uint8{size, uint8(op)}] = id
			b := event.Block{ID: id, PC: pc, Bytes: 4, Insts: 1, Sites: []event.Site{{PC: pc, Size: size, Access: op}}}
			if err := m.Define([]event.Block{b}); err != nil {
				t.Fatal(err)
			}
		}
	}
	return p
}

func (p *player) play(refs ...ref) {
	p.t.Helper()
	for _, r := range refs {
		b := event.Batch{Thread: r.hart}
		if r.which != event.None {
			b.Events = []event.Event{{Kind: r.which, Obj: r.addr, Size: uint32(r.size), PC: r.sitePC()}}
		} else {
			b.Blocks = []event.BlockID{p.blocks[[2]uint8{r.size, uint8(r.op)}]}
			b.Addrs = []uint64{r.addr}
		}
		if err := p.m.Batch(&b); err != nil {
			p.t.Fatal(err)
		}
	}
}

func (p *player) finish() *archinfo.Summary {
	p.t.Helper()
	if err := p.m.Finish(event.Outcome{}); err != nil {
		p.t.Fatal(err)
	}
	return p.m.Result(1 << 20)
}

func rd(h event.ThreadID, addr uint64) ref { return ref{hart: h, addr: addr, size: 8, op: event.Read} }
func wr(h event.ThreadID, addr uint64) ref { return ref{hart: h, addr: addr, size: 8, op: event.Write} }

// bitLog stores history bits.
type bitLog map[event.ThreadID]*[NumStreams][]bool

func (l bitLog) Append(t event.ThreadID, s Stream, bits []uint64, n int) {
	if l[t] == nil {
		l[t] = new([NumStreams][]bool)
	}
	for i := range n {
		l[t][s] = append(l[t][s], bits[i>>6]>>(i&63)&1 == 1)
	}
}
