package mpsim

import (
	"hindsight/mpsim/rv"
	"hindsight/tracefmt/event"
)

// copies tracks the values that a hidden call loads and stores unchanged. This is how the
// result of a thread reaches the caller of the call that joined it.
type copies struct {
	held   [rv.RegF]bytesAt   // by integer register: where its value was loaded; n is 0 if it is not a copy
	stored map[uint64]bytesAt // by address: the origins of what the call stored
}

// follow tracks code that h ran. addrs holds the address of each site's access.
func (c *copies) follow(u *unseen, code *rv.Block, addrs []uint64) {
	for _, i := range code.Insts {
		access, size, plain := i.Mem()
		var addr uint64
		if plain {
			if len(addrs) == 0 {
				return // an atomic access ends the block
			}
			addr, addrs = addrs[0], addrs[1:]
		}
		rd, defines := i.Dest()
		defines = defines && rd != 0 && rd < rv.RegF
		switch {
		case plain && access == event.Write:
			c.store(u, addr, c.held[i.Rs2], !i.StoresFloat())
		case !defines:
		case plain:
			c.held[rd] = c.load(u, bytesAt{addr, uint64(size)})
		default:
			c.held[rd] = c.moved(i)
		}
	}
}

// load returns the origin of a loaded value.
func (c *copies) load(u *unseen, from bytesAt) bytesAt {
	if origin, ok := c.stored[from.addr]; ok {
		return origin
	}
	for _, own := range u.wrote {
		if from.addr-own.addr < own.n {
			return bytesAt{}
		}
	}
	return from
}

func (c *copies) store(u *unseen, addr uint64, from bytesAt, integer bool) {
	if !integer || from.n == 0 {
		delete(c.stored, addr)
		return
	}
	if c.stored == nil {
		c.stored = map[uint64]bytesAt{}
	}
	c.stored[addr] = from
	u.reads = append(u.reads, from)
}

// moved returns the origin of an instruction's result, if the instruction copies a register
// unchanged.
func (c *copies) moved(i rv.Inst) bytesAt {
	switch {
	case (i.Op == rv.OpADDI || i.Op == rv.OpADDIW) && i.Imm == 0:
		return c.held[i.Rs1]
	case i.Op == rv.OpADD && i.Rs1 == 0:
		return c.held[i.Rs2]
	case i.Op == rv.OpADD && i.Rs2 == 0:
		return c.held[i.Rs1]
	}
	return bytesAt{}
}
