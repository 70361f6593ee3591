package asm

import (
	"encoding/binary"
	"fmt"

	"hindsight/mpsim/rv"
)

// Where a program is placed: the code, and the data after it.
const (
	TextBase = 0x10000
	DataBase = 0x2000000
)

// Label is a place in the code of a [Program], bound or not yet bound.
type Label int

// Program is a program under construction. The zero value is empty.
type Program struct {
	text    []rv.Inst
	data    []byte
	labels  []int // index into text of each label, -1 if it is not bound
	fixes   []fix
	symbols []symbol
}

// fix is an instruction whose immediate is the distance to a label or, with absolute, two
// instructions that compute its address.
type fix struct {
	at       int
	label    Label
	absolute bool
}

type symbol struct {
	name       string
	addr, size uint64
	function   bool
}

// PC returns the address of the next instruction.
func (p *Program) PC() uint64 { return TextBase + 4*uint64(len(p.text)) }

// Func starts a function and ends the previous one.
func (p *Program) Func(name string) Label {
	p.endFunc()
	p.symbols = append(p.symbols, symbol{name: name, addr: p.PC(), function: true})
	l := p.NewLabel()
	p.Bind(l)
	return l
}

func (p *Program) endFunc() {
	for i := range p.symbols {
		if s := &p.symbols[i]; s.function && s.size == 0 {
			s.size = p.PC() - s.addr
		}
	}
}

// NewLabel returns a label that is not bound yet.
func (p *Program) NewLabel() Label {
	p.labels = append(p.labels, -1)
	return Label(len(p.labels) - 1)
}

// Bind binds the label to this place.
func (p *Program) Bind(l Label) { p.labels[l] = len(p.text) }

// Emit appends instructions.
func (p *Program) Emit(insts ...rv.Inst) {
	for _, i := range insts {
		i.Len = 4
		p.text = append(p.text, i)
	}
}

// To appends a branch or JAL to the label.
func (p *Program) To(i rv.Inst, l Label) {
	p.fixes = append(p.fixes, fix{len(p.text), l, false})
	p.Emit(i)
}

// La appends code that loads the address of the label into rd.
func (p *Program) La(rd uint8, l Label) {
	p.fixes = append(p.fixes, fix{len(p.text), l, true})
	p.Emit(rv.Inst{Op: rv.OpLUI, Rd: rd}, rv.Inst{Op: rv.OpADDIW, Rd: rd, Rs1: rd})
}

// Op appends an instruction on registers.
func (p *Program) Op(op rv.Op, rd, rs1, rs2 uint8) {
	p.Emit(rv.Inst{Op: op, Rd: rd, Rs1: rs1, Rs2: rs2})
}

// Imm appends an instruction with an immediate: arithmetic, a load or a JALR.
func (p *Program) Imm(op rv.Op, rd, rs1 uint8, imm int32) {
	p.Emit(rv.Inst{Op: op, Rd: rd, Rs1: rs1, Imm: imm})
}

// Store appends a store of rs2 to rs1 + imm.
func (p *Program) Store(op rv.Op, rs2, rs1 uint8, imm int32) {
	p.Emit(rv.Inst{Op: op, Rs1: rs1, Rs2: rs2, Imm: imm})
}

// Li appends code that loads a 64-bit constant into rd.
func (p *Program) Li(rd uint8, v uint64) {
	if s := int64(v); s >= -2048 && s < 2048 {
		p.Imm(rv.OpADDI, rd, 0, int32(s))
		return
	}
	if int64(int32(v)) == int64(v) {
		low := int32(v<<52>>52) << 20 >> 20
		p.Emit(rv.Inst{Op: rv.OpLUI, Rd: rd, Imm: int32(uint32(v)-uint32(low)) &^ 0xfff})
		p.Imm(rv.OpADDIW, rd, rd, low)
		return
	}
	low := int32(uint32(v)<<20) >> 20
	p.Li(rd, uint64(int64(v-uint64(int64(low)))>>12))
	p.Imm(rv.OpSLLI, rd, rd, 12)
	p.Imm(rv.OpADDI, rd, rd, low)
}

// Data appends a variable, aligned to 8 bytes, and returns its address.
func (p *Program) Data(name string, content []byte) uint64 {
	for len(p.data)%8 != 0 {
		p.data = append(p.data, 0)
	}
	addr := DataBase + uint64(len(p.data))
	p.data = append(p.data, content...)
	if name != "" {
		p.symbols = append(p.symbols, symbol{name: name, addr: addr, size: uint64(len(content))})
	}
	return addr
}

// Code returns the encoded instructions.
func (p *Program) Code() ([]byte, error) {
	for _, f := range p.fixes {
		to := p.labels[f.label]
		if to < 0 {
			return nil, fmt.Errorf("asm: instruction %d goes to a label that is not bound", f.at)
		}
		p.text[f.at].Imm = int32(4 * (to - f.at))
		if f.absolute {
			addr := int32(TextBase + 4*to)
			low := addr << 20 >> 20
			p.text[f.at].Imm, p.text[f.at+1].Imm = addr-low, low
		}
	}
	code := make([]byte, 0, 4*len(p.text))
	for n, i := range p.text {
		w := Encode(i)
		if back, ok := rv.Decode(w); !ok || back != i {
			return nil, fmt.Errorf("asm: instruction %d, %+v, is read back as %+v", n, i, back)
		}
		code = binary.LittleEndian.AppendUint32(code, w)
	}
	return code, nil
}
