package rv

import "testing"

// TestExtensions checks encodings that the independent decoder does not know. They come
// from the diagrams in the manual's chapters.
func TestExtensions(t *testing.T) {
	for _, test := range []struct {
		word uint32
		want Inst
	}{
		// Zcb: funct3 100 of quadrant 0, with uimm[0|1] in bits 6 and 5; of
		// quadrant 1 the rows that C leaves reserved.
		{0x8000, Inst{Op: OpLBU, Rd: 8, Rs1: 8}},
		{0x80e4, Inst{Op: OpLBU, Rd: 9, Rs1: 9, Imm: 3}},
		{0x8404, Inst{Op: OpLHU, Rd: 9, Rs1: 8}},
		{0x8424, Inst{Op: OpLHU, Rd: 9, Rs1: 8, Imm: 2}},
		{0x8464, Inst{Op: OpLH, Rd: 9, Rs1: 8, Imm: 2}},
		{0x8844, Inst{Op: OpSB, Rs2: 9, Rs1: 8, Imm: 1}},
		{0x8c24, Inst{Op: OpSH, Rs2: 9, Rs1: 8, Imm: 2}},
		{0x8c44, Inst{}},
		{0x9000, Inst{}},
		{0x9c61, Inst{Op: OpANDI, Rd: 8, Rs1: 8, Imm: 255}},
		{0x9c65, Inst{Op: OpSEXTB, Rd: 8, Rs1: 8}},
		{0x9c69, Inst{Op: OpZEXTH, Rd: 8, Rs1: 8}},
		{0x9c6d, Inst{Op: OpSEXTH, Rd: 8, Rs1: 8}},
		{0x9c71, Inst{Op: OpADDUW, Rd: 8, Rs1: 8}},
		{0x9c75, Inst{Op: OpXORI, Rd: 8, Rs1: 8, Imm: -1}},
		{0x9c79, Inst{}},
		{0x9cc9, Inst{Op: OpMUL, Rd: 9, Rs1: 9, Rs2: 10}},
		// Zcmop: c.mop.1 to c.mop.15, odd ones only.
		{0x6081, Inst{Op: OpADDI}}, {0x6281, Inst{Op: OpADDI}}, {0x6781, Inst{Op: OpADDI}},
		{0x6001, Inst{}}, {0x6881, Inst{}}, {0x6301, Inst{}},
		// Zimop.
		{0x81c5c573, Inst{Op: OpMOPR, Rd: 10}}, {0xcdf5c573, Inst{Op: OpMOPR, Rd: 10}},
		{0x82c5c573, Inst{Op: OpMOPRR, Rd: 10}}, {0xcec5c573, Inst{Op: OpMOPRR, Rd: 10}},
		// Zihintpause and Zawrs; another fence of writes before nothing is a fence.
		{0x0100000f, Inst{Op: OpPAUSE}}, {0x0110000f, Inst{Op: OpFENCE, Imm: 0x11}},
		{0x00d00073, Inst{Op: OpWRSNTO}}, {0x01d00073, Inst{Op: OpWRSSTO}},
		// Zicbom, Zicboz; cbo.inval is not for user code. A prefetch is an ori to x0.
		{0x0005200f, Inst{}}, {0x0015200f, Inst{Op: OpCBOCLEAN, Rs1: 10}},
		{0x0025200f, Inst{Op: OpCBOFLUSH, Rs1: 10}}, {0x0045200f, Inst{Op: OpCBOZERO, Rs1: 10}},
		{0x02356013, Inst{Op: OpORI, Rs1: 10, Imm: 0x23}},
		// Zacas: amocas.w.aq a0,a1,(a2), amocas.d.rl a0,a1,(a2).
		{0x2cb6252f, Inst{Op: OpAMOCASW, Rd: 10, Rs1: 12, Rs2: 11, Rs3: 10, Aq: true}},
		{0x2ab6352f, Inst{Op: OpAMOCASD, Rd: 10, Rs1: 12, Rs2: 11, Rs3: 10, Rl: true}},
		// Zfa.
		{0xf0108553, Inst{Op: OpFLIS, Rd: 10, Imm: 1}}, {0xf21f8553, Inst{Op: OpFLID, Rd: 10, Imm: 31}},
		{0x28c5a553, Inst{Op: OpFMINMS, Rd: 10, Rs1: 11, Rs2: 12}}, {0x2ac5b553, Inst{Op: OpFMAXMD, Rd: 10, Rs1: 11, Rs2: 12}},
		{0x4045f553, Inst{Op: OpFROUNDS, Rd: 10, Rs1: 11, RM: 7}}, {0x42559553, Inst{Op: OpFROUNDNXD, Rd: 10, Rs1: 11, RM: 1}},
		{0xc2859553, Inst{Op: OpFCVTMODWD, Rd: 10, Rs1: 11}}, {0xc2858553, Inst{}},
		{0xa0c5c553, Inst{Op: OpFLEQS, Rd: 10, Rs1: 11, Rs2: 12}}, {0xa2c5d553, Inst{Op: OpFLTQD, Rd: 10, Rs1: 11, Rs2: 12}},
	} {
		test.want.Len = Len(uint16(test.word))
		if test.want.Rs1 == 0 && test.want.Op == OpADDI {
			test.want.Rd = 0
		}
		if got, ok := Decode(test.word); got != test.want || ok != (test.want.Op != OpInvalid) {
			t.Errorf("%08x: %v %+v, want %v %+v", test.word, got.Op, got, test.want.Op, test.want)
		}
	}
	i, _ := Decode(0x2cb6252f)
	if u := i.Uses(); !u.Has(10) || !u.Has(11) || !u.Has(12) || !i.Defs().Has(10) {
		t.Errorf("amocas uses %+v and defines %+v", u, i.Defs())
	}
}
