//go:build !(armbe || arm64be || m68k || mips || mips64 || mips64p32 || ppc || ppc64 || s390 || s390x || shbe || sparc || sparc64)

package mpsim

import (
	"unsafe"

	"hindsight/mpsim/mem"
)

// Aligned accesses to a page, at the offset given by the low bits of a. An aligned access
// never reaches beyond the page. The guest is little-endian, as is the host here;
// page_be.go is for big-endian hosts. The functions are this simple because exec needs them
// inlined.

func load16(p *mem.Page, a uint64) uint16 { return *(*uint16)(unsafe.Pointer(&p[a&(offset-1)])) }
func load32(p *mem.Page, a uint64) uint32 { return *(*uint32)(unsafe.Pointer(&p[a&(offset-3)])) }
func load64(p *mem.Page, a uint64) uint64 { return *(*uint64)(unsafe.Pointer(&p[a&(offset-7)])) }

func store16(p *mem.Page, a uint64, v uint16) { *(*uint16)(unsafe.Pointer(&p[a&(offset-1)])) = v }
func store32(p *mem.Page, a uint64, v uint32) { *(*uint32)(unsafe.Pointer(&p[a&(offset-3)])) = v }
func store64(p *mem.Page, a uint64, v uint64) { *(*uint64)(unsafe.Pointer(&p[a&(offset-7)])) = v }
