package mpsim

import (
	"bytes"

	"hindsight/mpsim/image"
	"hindsight/mpsim/intent"
	"hindsight/mpsim/linux/vfs"
	"hindsight/mpsim/mem"
	"hindsight/mpsim/rv"
)

// Warm keeps what a run finds out about code, for later runs of the same program: its
// decoded blocks, and what the source says about its accesses. It does not change what a
// run does. All runs must have the same Config, apart from the seed, the environment and
// the input, and only one of them may use it at a time. Its zero value is empty.
type Warm struct {
	known [3]knowledge // of runs that are not observed, of observed ones, and of those with values
	files vfs.Contents
}

// knowledge is what a Warm keeps for one kind of run.
type knowledge struct {
	blocks map[decodedKey]*decoded
	code   *intent.Code
	images map[uint64]*image.Image // by base address: the images that the rest refers to
}

// decodedKey is what a decoded block depends on, besides memory.
type decodedKey struct {
	pc      uint64
	starter bool // the machine knew where threads start
}

// decoded is a block as [Machine.decode] returned it.
type decoded struct {
	block   block
	low     uint64 // address of raw
	raw     []byte // the memory that decoding read
	switchy bool   // see Machine.switches
	hook    int    // as in codeCache.hooks
	hooked  bool
}

// warmUp lets the machine use what earlier runs found out.
func (m *Machine) warmUp(w *Warm) {
	if w == nil {
		return
	}
	k := &w.known[0]
	switch {
	case m.values:
		k = &w.known[2]
	case m.rec != nil:
		k = &w.known[1]
	}
	if k.code == nil {
		*k = knowledge{map[decodedKey]*decoded{}, m.intent, map[uint64]*image.Image{}}
	}
	m.warm, m.intent = k, k.code.In(m.cfg.Image)
}

// coolDown makes the machine do without that, if an image differs from the one that was at
// its address in earlier runs.
func (m *Machine) coolDown(img *image.Image) {
	if m.warm == nil {
		return
	}
	switch was := m.warm.images[img.Base]; was {
	case nil:
		m.warm.images[img.Base] = img
	case img:
	default:
		m.warm = nil
		m.intent = intent.New(m.cfg.Image)
		if m.rec != nil && m.rec.atomic != nil {
			m.rec.atomic = m.intent.Atomic
		}
	}
}

// decodedBefore returns the block at pc if an earlier run has decoded the same code.
func (m *Machine) decodedBefore(pc uint64) *block {
	if m.warm == nil || m.breaks != nil {
		return nil
	}
	d := m.warm.blocks[decodedKey{pc, m.starter != 0}]
	if d == nil || d.switchy != m.switches(pc) || !m.holds(d.low, d.raw) {
		return nil
	}
	if fn, hooked := m.code.hooks[pc]; hooked != d.hooked || fn != d.hook {
		return nil
	}
	b := d.block
	return &b
}

// same returns what is kept of a block, or nil if that is a different block.
func (m *Machine) same(b *block) *decoded {
	if m.warm == nil {
		return nil
	}
	d := m.warm.blocks[decodedKey{b.pc, m.starter != 0}]
	if d == nil || len(d.block.ops) == 0 || len(b.ops) == 0 || &d.block.ops[0] != &b.ops[0] {
		return nil
	}
	return d
}

// holds reports whether executable memory has these bytes.
func (m *Machine) holds(addr uint64, want []byte) bool {
	for len(want) > 0 {
		page, fault := m.space.Page(addr>>mem.PageShift, mem.Exec)
		if fault != nil {
			return false
		}
		rest := page[addr&offset:]
		n := min(len(rest), len(want))
		if !bytes.Equal(rest[:n], want[:n]) {
			return false
		}
		addr, want = addr+uint64(n), want[n:]
	}
	return true
}

// watchedCode notes which memory decoding reads.
type watchedCode struct {
	m         *Machine
	low, high uint64
	missing   bool // some of it did not exist
}

func (w *watchedCode) fetch(addr uint64) (uint16, bool) {
	v, ok := w.m.fetch(addr)
	w.low, w.high = min(w.low, addr), max(w.high, addr+2)
	w.missing = w.missing || !ok
	return v, ok
}

// keepDecoded keeps a block for later runs.
func (m *Machine) keepDecoded(b *block, w *watchedCode) {
	if w.missing || m.warm == nil || m.breaks != nil {
		return
	}
	raw := make([]byte, w.high-w.low)
	if m.space.Peek(w.low, raw) != nil { // not readable
		return
	}
	fn, hooked := m.code.hooks[b.pc]
	d := &decoded{block: *b, low: w.low, raw: raw, switchy: m.switches(b.pc), hook: fn, hooked: hooked}
	d.block.id, d.block.loop, d.block.taken, d.block.fall = noID, nil, nil, nil
	m.warm.blocks[decodedKey{b.pc, m.starter != 0}] = d
}

// scan is [rv.Scan] of memory.
func (m *Machine) scan(pc uint64, limit int) (rv.Block, *watchedCode) {
	w := &watchedCode{m: m, low: pc, high: pc}
	if m.warm == nil || limit != 0 {
		return rv.Scan(pc, m.fetch, limit), w
	}
	return rv.Scan(pc, w.fetch, limit), w
}
