//go:build armbe || arm64be || m68k || mips || mips64 || mips64p32 || ppc || ppc64 || s390 || s390x || shbe || sparc || sparc64

package mpsim

import (
	"encoding/binary"

	"hindsight/mpsim/mem"
)

// Big-endian variants of the accesses in page_le.go.

func load16(p *mem.Page, a uint64) uint16 { return binary.LittleEndian.Uint16(p[a&(offset-1):]) }
func load32(p *mem.Page, a uint64) uint32 { return binary.LittleEndian.Uint32(p[a&(offset-3):]) }
func load64(p *mem.Page, a uint64) uint64 { return binary.LittleEndian.Uint64(p[a&(offset-7):]) }

func store16(p *mem.Page, a uint64, v uint16) { binary.LittleEndian.PutUint16(p[a&(offset-1):], v) }
func store32(p *mem.Page, a uint64, v uint32) { binary.LittleEndian.PutUint32(p[a&(offset-3):], v) }
func store64(p *mem.Page, a uint64, v uint64) { binary.LittleEndian.PutUint64(p[a&(offset-7):], v) }
