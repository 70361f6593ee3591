package wet

import (
	"fmt"
	"slices"

	"hindsight/mpsim/rv"
	"hindsight/tracefmt/event"
	"hindsight/wpp/cfg"
)

// Program is the static control flow of the running program. [*cfg.Program] implements
// it.
type Program interface {
	// At returns the basic block that begins at pc, and Find the one that contains pc.
	At(pc uint64) (cfg.Ref, bool)
	Find(pc uint64) (cfg.Ref, bool)
	// Block returns a block and its edges, or nil if there is none.
	Block(r cfg.Ref) *cfg.Block
	// Deciders returns the blocks on which a block is control dependent, and Decides
	// reports whether blocks are control dependent on it.
	Deciders(r cfg.Ref) []cfg.Ref
	Decides(r cfg.Ref) bool
}

// piece is a block of the graph: a basic block of the program, or the part of one
// that ran as a block.
type piece struct {
	code
	next     uint64
	step     *cfg.Step
	fn       uint32
	values   int // number of entries in event.Batch.Values
	plain    int // number of entries in event.Batch.Addrs
	deciders []uint32
	decider  uint32 // number + 1; 0: nothing depends on it
}

// simulated is a block as the simulator runs it: pieces, each of which is entered by
// falling through from the previous one.
type simulated struct {
	pieces []uint32
	pc     uint64
	next   uint64
	end    event.End
}

type pieceKey struct {
	pc  uint64
	raw string
	end event.End
}

// codeTable has all executed code.
type codeTable struct {
	program  Program
	read     func(pc uint64, n int) []byte
	sims     []simulated
	pieces   []piece
	ids      map[pieceKey]uint32
	steps    cfg.Steps
	deciders map[cfg.Ref]uint32
}

// Limits of the tables. The reader enforces them too.
const (
	maxPieces     = 1 << 20
	maxPieceBytes = 1 << 12
)

// define adds the next block of the simulator, and divides it where basic blocks of the
// program begin.
func (c *codeTable) define(b *event.Block) error {
	if int(b.ID) != len(c.sims) {
		return fmt.Errorf("wet: block %d defined out of order", b.ID)
	}
	if b.Bytes > maxPieceBytes || b.Bytes%2 != 0 {
		return fmt.Errorf("wet: block %d has %d bytes", b.ID, b.Bytes)
	}
	s := simulated{pc: b.PC, next: b.Next(), end: b.End}
	raw := b.Code
	if raw == nil {
		raw = c.read(b.PC, int(b.Bytes))
	}
	if len(raw) != int(b.Bytes) {
		raw = foreign(b)
	}
	insts, ok := decodeCode(raw)
	if !ok {
		return fmt.Errorf("wet: block %d ends inside an instruction", b.ID)
	}
	pc, from, at := b.PC, 0, 0 // of the piece: address, instruction, byte
	off := 0
	for i := range insts {
		off += int(insts[i].Len)
		behind := b.PC + uint64(off)
		last := i == len(insts)-1
		if !last {
			if _, begins := c.program.At(behind); !begins {
				continue
			}
		}
		end := event.EndFall
		if last {
			end = b.End
		}
		id := c.piece(code{pc: pc, raw: raw[at:off], insts: insts[from : i+1], end: end})
		s.pieces = append(s.pieces, id)
		pc, from, at = behind, i+1, off
	}
	if len(c.pieces) > maxPieces {
		return fmt.Errorf("wet: more than %d blocks", maxPieces)
	}
	c.sims = append(c.sims, s)
	return nil
}

// sigreturn is the code to which signal handlers return on Linux: li a7, 139; ecall.
const sigreturn = "\x93\x08\xb0\x08\x73\x00\x00\x00"

// foreign returns the code of a block that is not the program's: the code to which signal
// handlers return, or else instructions with no known effect.
func foreign(b *event.Block) []byte {
	if b.End == event.EndSyscall && b.Bytes == uint32(len(sigreturn)) && b.Insts == 2 {
		return []byte(sigreturn)
	}
	return make([]byte, b.Bytes)
}

func (c *codeTable) piece(k code) uint32 {
	key := pieceKey{k.pc, string(k.raw), k.end}
	if id, ok := c.ids[key]; ok {
		return id
	}
	k.raw = slices.Clone(k.raw)
	id := uint32(len(c.pieces))
	step := cfg.StepBlock{ID: id, PC: k.pc}
	p := piece{code: k, next: k.pc + uint64(len(k.raw)), values: rv.Values(k.insts, k.end)}
	for n, i := range k.insts {
		if _, _, mem := i.Mem(); mem && (k.end != event.EndAtomic || n != len(k.insts)-1) {
			p.plain++
		}
	}
	if ref, ok := c.program.Find(k.pc); ok {
		b := c.program.Block(ref)
		p.fn = ref.Func + 1
		if b.PC == k.pc && b.Next() == p.next && int(b.Insts) == len(k.insts) && b.End == k.end {
			step.Block = b // it is a whole block of the program
		}
		for _, d := range c.program.Deciders(ref) {
			p.deciders = append(p.deciders, c.decider(d))
		}
		if b.Next() == p.next && c.program.Decides(ref) {
			p.decider = c.decider(ref) + 1
		}
	}
	p.step = c.steps.Add(step)
	c.pieces = append(c.pieces, p)
	c.ids[key] = id
	return id
}

func (c *codeTable) decider(r cfg.Ref) uint32 {
	d, ok := c.deciders[r]
	if !ok {
		d = uint32(len(c.deciders))
		c.deciders[r] = d
	}
	return d
}

// pathNode is a node with what only the recorder needs.
type pathNode struct {
	*template
	pieces   []uint32
	deciders [][]uint32 // by control slot
	decides  []decides
}

// decides is a block of a path that other blocks depend on.
type decides struct {
	decider uint32
	block   int32
	stmt    uint32
}

// newPathNode finds out which blocks of a path are decided inside the path.
func (c *codeTable) newPathNode(blocks []uint32, m mode, f *flavour) *pathNode {
	n := &pathNode{pieces: slices.Clone(blocks)}
	list := make([]code, len(blocks))
	ctl := make([]origin, len(blocks))
	for i, id := range blocks {
		p := &c.pieces[id]
		list[i] = p.code
		by := i - 1
		for ; by >= 0; by-- {
			if d := c.pieces[blocks[by]].decider; d != 0 && slices.Contains(p.deciders, d-1) {
				break
			}
		}
		if by >= 0 {
			ctl[i] = origin(by)
			continue
		}
		slot := slices.IndexFunc(n.deciders, func(s []uint32) bool { return slices.Equal(s, p.deciders) })
		if slot < 0 {
			slot = len(n.deciders)
			n.deciders = append(n.deciders, p.deciders)
		}
		ctl[i] = fromSlot(int32(slot))
	}
	n.template = newPath(c.pieces[blocks[0]].fn, list, ctl, m, f)
	for i, id := range blocks {
		if p := &c.pieces[id]; p.decider != 0 {
			n.decides = append(n.decides, decides{p.decider - 1, int32(i), n.lastStmt(i)})
		}
	}
	return n
}

// lastStmt returns the last statement of a block.
func (t *template) lastStmt(block int) uint32 {
	if block+1 < len(t.Blocks) {
		return uint32(t.Blocks[block+1].First - 1)
	}
	return uint32(len(t.Stmts) - 1)
}
