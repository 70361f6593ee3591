package mpsim

import (
	"hindsight/mpsim/fpu"
	"hindsight/mpsim/rv"
)

// dynamic is the rounding mode field that says: the mode of fcsr.
const dynamic = 7

// rounding gives the rounding mode for a field; false for the reserved ones.
func (h *Hart) rounding(rm uint8) (uint8, bool) {
	if rm == dynamic {
		rm = uint8(h.FCSR >> frmShift & 7)
	}
	return rm, rm <= fpu.RMM
}

// float executes a floating-point operation that exec leaves to it; o.imm says
// which. False makes it illegal: its rounding mode is reserved.
func (h *Hart) float(o *op) bool {
	rm, ok := h.rounding(o.rm)
	if !ok {
		return h.refuse()
	}
	before := h.flags
	if code := rv.Op(o.imm); code < rv.OpFLD {
		h.float32(code, o, rm)
	} else {
		h.float64(code, o, rm)
	}
	if h.flags != before {
		h.setExact()
	}
	return true
}

// float32 is float for the operations of extension F.
func (h *Hart) float32(code rv.Op, o *op, rm uint8) {
	fl := &h.flags
	x := &h.X[o.rd&31]
	a, b, c := fpu.Unbox32(h.F[o.rs1&31]), fpu.Unbox32(h.F[o.rs2&31]), fpu.Unbox32(h.F[o.rs3&31])
	var v uint32
	switch code {
	case rv.OpFMVXH:
		*x = uint64(int64(int16(h.F[o.rs1&31])))
		return
	case rv.OpFMVHX:
		h.F[o.rd&31] = fpu.Box16(uint16(h.X[o.rs1&31]))
		return
	case rv.OpFCVTHS:
		h.F[o.rd&31] = fpu.Box16(fpu.F32ToF16(a, rm, fl))
		return
	case rv.OpFLEQS:
		*x = fpu.Leq32(a, b, fl)
		return
	case rv.OpFLTQS:
		*x = fpu.Ltq32(a, b, fl)
		return
	case rv.OpFCVTWS:
		*x = fpu.F32ToW(a, rm, fl)
		return
	case rv.OpFCVTWUS:
		*x = fpu.F32ToWU(a, rm, fl)
		return
	case rv.OpFCVTLS:
		*x = fpu.F32ToL(a, rm, fl)
		return
	case rv.OpFCVTLUS:
		*x = fpu.F32ToLU(a, rm, fl)
		return
	case rv.OpFEQS:
		*x = fpu.Eq32(a, b, fl)
		return
	case rv.OpFLTS:
		*x = fpu.Lt32(a, b, fl)
		return
	case rv.OpFLES:
		*x = fpu.Le32(a, b, fl)
		return
	case rv.OpFCLASSS:
		*x = fpu.Class32(a)
		return
	case rv.OpFADDS:
		v = fpu.Add32(a, b, rm, fl)
	case rv.OpFSUBS:
		v = fpu.Sub32(a, b, rm, fl)
	case rv.OpFMULS:
		v = fpu.Mul32(a, b, rm, fl)
	case rv.OpFDIVS:
		v = fpu.Div32(a, b, rm, fl)
	case rv.OpFSQRTS:
		v = fpu.Sqrt32(a, rm, fl)
	case rv.OpFMADDS:
		v = fpu.MAdd32(a, b, c, rm, fl)
	case rv.OpFMSUBS:
		v = fpu.MSub32(a, b, c, rm, fl)
	case rv.OpFNMSUBS:
		v = fpu.NMSub32(a, b, c, rm, fl)
	case rv.OpFNMADDS:
		v = fpu.NMAdd32(a, b, c, rm, fl)
	case rv.OpFSGNJS:
		v = fpu.SgnJ32(a, b)
	case rv.OpFSGNJNS:
		v = fpu.SgnJN32(a, b)
	case rv.OpFSGNJXS:
		v = fpu.SgnJX32(a, b)
	case rv.OpFMINS:
		v = fpu.Min32(a, b, fl)
	case rv.OpFMAXS:
		v = fpu.Max32(a, b, fl)
	case rv.OpFLIS:
		v = fpu.Fli32(o.rs1)
	case rv.OpFMINMS:
		v = fpu.MinM32(a, b, fl)
	case rv.OpFMAXMS:
		v = fpu.MaxM32(a, b, fl)
	case rv.OpFROUNDS:
		v = fpu.Round32(a, rm, fl)
	case rv.OpFROUNDNXS:
		v = fpu.RoundNX32(a, rm, fl)
	case rv.OpFCVTSH:
		v = fpu.F16ToF32(fpu.Unbox16(h.F[o.rs1&31]), fl)
	case rv.OpFCVTSW:
		v = fpu.WToF32(h.X[o.rs1&31], rm, fl)
	case rv.OpFCVTSWU:
		v = fpu.WUToF32(h.X[o.rs1&31], rm, fl)
	case rv.OpFCVTSL:
		v = fpu.LToF32(h.X[o.rs1&31], rm, fl)
	case rv.OpFCVTSLU:
		v = fpu.LUToF32(h.X[o.rs1&31], rm, fl)
	}
	h.F[o.rd&31] = fpu.Box32(v)
}

// float64 is float for the operations of extension D.
func (h *Hart) float64(code rv.Op, o *op, rm uint8) {
	fl := &h.flags
	a, b, c := h.F[o.rs1&31], h.F[o.rs2&31], h.F[o.rs3&31]
	var v uint64
	switch code {
	case rv.OpFADDD:
		v = fpu.Add64(a, b, rm, fl)
	case rv.OpFSUBD:
		v = fpu.Sub64(a, b, rm, fl)
	case rv.OpFMULD:
		v = fpu.Mul64(a, b, rm, fl)
	case rv.OpFDIVD:
		v = fpu.Div64(a, b, rm, fl)
	case rv.OpFSQRTD:
		v = fpu.Sqrt64(a, rm, fl)
	case rv.OpFMADDD:
		v = fpu.MAdd64(a, b, c, rm, fl)
	case rv.OpFMSUBD:
		v = fpu.MSub64(a, b, c, rm, fl)
	case rv.OpFNMSUBD:
		v = fpu.NMSub64(a, b, c, rm, fl)
	case rv.OpFNMADDD:
		v = fpu.NMAdd64(a, b, c, rm, fl)
	case rv.OpFMIND:
		v = fpu.Min64(a, b, fl)
	case rv.OpFMAXD:
		v = fpu.Max64(a, b, fl)
	case rv.OpFLID:
		v = fpu.Fli64(o.rs1)
	case rv.OpFMINMD:
		v = fpu.MinM64(a, b, fl)
	case rv.OpFMAXMD:
		v = fpu.MaxM64(a, b, fl)
	case rv.OpFROUNDD:
		v = fpu.Round64(a, rm, fl)
	case rv.OpFROUNDNXD:
		v = fpu.RoundNX64(a, rm, fl)
	case rv.OpFCVTDH:
		v = fpu.F16ToF64(fpu.Unbox16(a), fl)
	case rv.OpFCVTHD:
		v = fpu.Box16(fpu.F64ToF16(a, rm, fl))
	case rv.OpFCVTDW:
		v = fpu.WToF64(h.X[o.rs1&31])
	case rv.OpFCVTDWU:
		v = fpu.WUToF64(h.X[o.rs1&31])
	case rv.OpFCVTDL:
		v = fpu.LToF64(h.X[o.rs1&31], rm, fl)
	case rv.OpFCVTDLU:
		v = fpu.LUToF64(h.X[o.rs1&31], rm, fl)
	case rv.OpFCVTDS:
		v = fpu.F32ToF64(fpu.Unbox32(a), fl)
	case rv.OpFCVTSD:
		v = fpu.Box32(fpu.F64ToF32(a, rm, fl))
	default:
		h.X[o.rd&31] = float64ToInt(code, a, b, rm, fl)
		return
	}
	h.F[o.rd&31] = v
}

// float64ToInt does the operations whose result goes to an integer register.
func float64ToInt(code rv.Op, a, b uint64, rm uint8, fl *uint8) uint64 {
	switch code {
	case rv.OpFCVTMODWD:
		return fpu.F64ToWMod(a, fl)
	case rv.OpFLEQD:
		return fpu.Leq64(a, b, fl)
	case rv.OpFLTQD:
		return fpu.Ltq64(a, b, fl)
	case rv.OpFCVTWD:
		return fpu.F64ToW(a, rm, fl)
	case rv.OpFCVTWUD:
		return fpu.F64ToWU(a, rm, fl)
	case rv.OpFCVTLD:
		return fpu.F64ToL(a, rm, fl)
	case rv.OpFCVTLUD:
		return fpu.F64ToLU(a, rm, fl)
	case rv.OpFEQD:
		return fpu.Eq64(a, b, fl)
	case rv.OpFLTD:
		return fpu.Lt64(a, b, fl)
	case rv.OpFLED:
		return fpu.Le64(a, b, fl)
	}
	return fpu.Class64(a)
}
