package mpsim

import (
	"hindsight/mpsim/linux"
	"hindsight/tracefmt/event"
)

// zeroBytes is the size of the cache block that cbo.zero clears.
const zeroBytes = linux.CacheBlock

// zeroBlock executes the cbo.zero at h.PC. Its 64 bytes are not a plain access, whose sites
// have at most 8. They are recorded like memory that the kernel writes for the thread.
func (m *Machine) zeroBlock(h *Hart) {
	in, ok := m.instruction(h.PC)
	if !ok {
		m.unfetchable(h)
		return
	}
	addr := h.X[in.Rs1&31] &^ (zeroBytes - 1)
	if h.writable(addr) == nil {
		h.fault.Addr = h.X[in.Rs1&31]
		m.fault(h, h.fault)
		return
	}
	m.kernelCall(h, event.EffectSignal, func() linux.Outcome { return m.kernel.Zero(h.task, addr, zeroBytes) })
	h.wrote(addr, zeroBytes)
	h.PC += uint64(in.Len)
	if m.cfg.Journal != nil {
		m.cfg.Journal.registers(h)
	}
}
