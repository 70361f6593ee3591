package eval

import (
	"hindsight/mpsim/fpu"
	"hindsight/mpsim/rv"
)

// float computes the operations of extensions F and D, including loads.
func float(i rv.Inst, o Operands) (uint64, bool) {
	rm, valid := Rounding(i.RM, o.Mode)
	switch {
	case i.Op == rv.OpFLW || i.Op == rv.OpFLD || i.Op == rv.OpFLH:
		return i.Loaded(o.Mem), true
	case !valid:
		return 0, false
	case i.Op == rv.OpFLIS || i.Op == rv.OpFLID:
		o.Rs1 = uint64(i.Imm)
	}
	var flags uint8 // not needed
	return Float(i.Op, o.Rs1, o.Rs2, o.Rs3, rm, &flags)
}

// Rounding returns the rounding mode ([fpu.RNE] … [fpu.RMM]) of an instruction. field is the
// mode in the instruction, and frm that in the control and status register, which applies
// if field is dynamic. ok is false for the reserved modes.
func Rounding(field, frm uint8) (rm uint8, ok bool) {
	if field == rv.DynamicRounding {
		field = frm
	}
	return field, field <= fpu.RMM
}

// Float computes an operation of extension F or D that is neither a load nor a store. The
// operands are whole registers, integer or floating-point as the operation requires; that
// of FLI is the number of its constant. rm is the rounding mode ([fpu.RNE] … [fpu.RMM]).
// Exceptions raised by the operation are added to flags. ok is false for any other
// operation.
func Float(op rv.Op, rs1, rs2, rs3 uint64, rm uint8, flags *uint8) (v uint64, ok bool) {
	if op < rv.OpFLD {
		return single(op, rs1, rs2, rs3, rm, flags)
	}
	return double(op, rs1, rs2, rs3, rm, flags)
}

// single computes the operations of extension F.
func single(op rv.Op, rs1, rs2, rs3 uint64, rm uint8, fl *uint8) (uint64, bool) {
	a, b, c := fpu.Unbox32(rs1), fpu.Unbox32(rs2), fpu.Unbox32(rs3)
	var v uint32
	switch op {
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
		v = fpu.Fli32(uint8(rs1))
	case rv.OpFMINMS:
		v = fpu.MinM32(a, b, fl)
	case rv.OpFMAXMS:
		v = fpu.MaxM32(a, b, fl)
	case rv.OpFROUNDS:
		v = fpu.Round32(a, rm, fl)
	case rv.OpFROUNDNXS:
		v = fpu.RoundNX32(a, rm, fl)
	case rv.OpFMVWX:
		v = uint32(rs1)
	case rv.OpFCVTSH:
		v = fpu.F16ToF32(fpu.Unbox16(rs1), fl)
	case rv.OpFCVTSW:
		v = fpu.WToF32(rs1, rm, fl)
	case rv.OpFCVTSWU:
		v = fpu.WUToF32(rs1, rm, fl)
	case rv.OpFCVTSL:
		v = fpu.LToF32(rs1, rm, fl)
	case rv.OpFCVTSLU:
		v = fpu.LUToF32(rs1, rm, fl)
	default:
		return singleToOther(op, rs1, a, b, rm, fl)
	}
	return fpu.Box32(v), true
}

// singleToOther computes the operations of extension F whose result is an integer or of
// half precision.
func singleToOther(op rv.Op, rs1 uint64, a, b uint32, rm uint8, fl *uint8) (uint64, bool) {
	switch op {
	case rv.OpFMVXW: // uses the low half of the register, boxed or not
		return word(rs1), true
	case rv.OpFMVXH:
		return uint64(int64(int16(rs1))), true
	case rv.OpFMVHX:
		return fpu.Box16(uint16(rs1)), true
	case rv.OpFCVTHS:
		return fpu.Box16(fpu.F32ToF16(a, rm, fl)), true
	case rv.OpFCVTWS:
		return fpu.F32ToW(a, rm, fl), true
	case rv.OpFCVTWUS:
		return fpu.F32ToWU(a, rm, fl), true
	case rv.OpFCVTLS:
		return fpu.F32ToL(a, rm, fl), true
	case rv.OpFCVTLUS:
		return fpu.F32ToLU(a, rm, fl), true
	case rv.OpFEQS:
		return fpu.Eq32(a, b, fl), true
	case rv.OpFLTS:
		return fpu.Lt32(a, b, fl), true
	case rv.OpFLES:
		return fpu.Le32(a, b, fl), true
	case rv.OpFLTQS:
		return fpu.Ltq32(a, b, fl), true
	case rv.OpFLEQS:
		return fpu.Leq32(a, b, fl), true
	case rv.OpFCLASSS:
		return fpu.Class32(a), true
	}
	return 0, false
}

// double computes the operations of extension D.
func double(op rv.Op, a, b, c uint64, rm uint8, fl *uint8) (uint64, bool) {
	switch op {
	case rv.OpFADDD:
		return fpu.Add64(a, b, rm, fl), true
	case rv.OpFSUBD:
		return fpu.Sub64(a, b, rm, fl), true
	case rv.OpFMULD:
		return fpu.Mul64(a, b, rm, fl), true
	case rv.OpFDIVD:
		return fpu.Div64(a, b, rm, fl), true
	case rv.OpFSQRTD:
		return fpu.Sqrt64(a, rm, fl), true
	case rv.OpFMADDD:
		return fpu.MAdd64(a, b, c, rm, fl), true
	case rv.OpFMSUBD:
		return fpu.MSub64(a, b, c, rm, fl), true
	case rv.OpFNMSUBD:
		return fpu.NMSub64(a, b, c, rm, fl), true
	case rv.OpFNMADDD:
		return fpu.NMAdd64(a, b, c, rm, fl), true
	case rv.OpFSGNJD:
		return fpu.SgnJ64(a, b), true
	case rv.OpFSGNJND:
		return fpu.SgnJN64(a, b), true
	case rv.OpFSGNJXD:
		return fpu.SgnJX64(a, b), true
	case rv.OpFMIND:
		return fpu.Min64(a, b, fl), true
	case rv.OpFMAXD:
		return fpu.Max64(a, b, fl), true
	case rv.OpFMINMD:
		return fpu.MinM64(a, b, fl), true
	case rv.OpFMAXMD:
		return fpu.MaxM64(a, b, fl), true
	case rv.OpFROUNDD:
		return fpu.Round64(a, rm, fl), true
	case rv.OpFROUNDNXD:
		return fpu.RoundNX64(a, rm, fl), true
	case rv.OpFLID:
		return fpu.Fli64(uint8(a)), true
	case rv.OpFCVTDH:
		return fpu.F16ToF64(fpu.Unbox16(a), fl), true
	case rv.OpFCVTHD:
		return fpu.Box16(fpu.F64ToF16(a, rm, fl)), true
	case rv.OpFMVXD, rv.OpFMVDX:
		return a, true
	case rv.OpFCVTSD:
		return fpu.Box32(fpu.F64ToF32(a, rm, fl)), true
	case rv.OpFCVTDS:
		return fpu.F32ToF64(fpu.Unbox32(a), fl), true
	}
	return doubleInteger(op, a, b, rm, fl)
}

// doubleInteger computes the operations of extension D that have an integer as operand or
// result.
func doubleInteger(op rv.Op, a, b uint64, rm uint8, fl *uint8) (uint64, bool) {
	switch op {
	case rv.OpFCVTDW:
		return fpu.WToF64(a), true
	case rv.OpFCVTDWU:
		return fpu.WUToF64(a), true
	case rv.OpFCVTDL:
		return fpu.LToF64(a, rm, fl), true
	case rv.OpFCVTDLU:
		return fpu.LUToF64(a, rm, fl), true
	case rv.OpFCVTWD:
		return fpu.F64ToW(a, rm, fl), true
	case rv.OpFCVTWUD:
		return fpu.F64ToWU(a, rm, fl), true
	case rv.OpFCVTLD:
		return fpu.F64ToL(a, rm, fl), true
	case rv.OpFCVTLUD:
		return fpu.F64ToLU(a, rm, fl), true
	case rv.OpFEQD:
		return fpu.Eq64(a, b, fl), true
	case rv.OpFLTD:
		return fpu.Lt64(a, b, fl), true
	case rv.OpFLED:
		return fpu.Le64(a, b, fl), true
	case rv.OpFLTQD:
		return fpu.Ltq64(a, b, fl), true
	case rv.OpFLEQD:
		return fpu.Leq64(a, b, fl), true
	case rv.OpFCVTMODWD:
		return fpu.F64ToWMod(a, fl), true
	case rv.OpFCLASSD:
		return fpu.Class64(a), true
	}
	return 0, false
}
