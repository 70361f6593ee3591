package fpu

import "math/bits"

// toInt rounds a value to an integer of the given width (32 or 64), with saturation: values
// out of range and NaNs set only NV. The result fills the register, sign-extended from the
// width.
func (f format) toInt(v uint64, width uint, unsigned bool, rm uint8, fl *uint8) uint64 {
	n := f.unpack(v)
	least, most := uint64(1)<<(width-1), uint64(1)<<(width-1)-1 // magnitudes
	if unsigned {
		least, most = 0, most<<1|1
	}
	extend := func(x uint64) uint64 { return uint64(int64(x<<(64-width)) >> (64 - width)) }
	switch {
	case n.isNaN():
		*fl |= NV
		return extend(most)
	case n.class == zero:
		return 0
	case n.class == infinite || n.exp > 63:
		*fl |= NV
		if n.neg {
			return extend(-least)
		}
		return extend(most)
	}
	magnitude, inexact := n.sig, false
	if n.exp < 63 {
		magnitude, inexact = roundOff(n.sig, uint(63-n.exp), n.neg, rm)
	}
	switch {
	case n.neg && magnitude > least:
		*fl |= NV
		return extend(-least)
	case !n.neg && magnitude > most:
		*fl |= NV
		return extend(most)
	}
	if inexact {
		*fl |= NX
	}
	if n.neg {
		magnitude = -magnitude
	}
	return extend(magnitude)
}

// fromInt rounds an integer, given as sign and magnitude, to the format.
func (f format) fromInt(neg bool, magnitude uint64, rm uint8, fl *uint8) uint64 {
	if magnitude == 0 {
		return 0
	}
	n := bits.LeadingZeros64(magnitude)
	return f.pack(neg, 63-n, magnitude<<n, rm, fl)
}

// fromSigned is fromInt for a signed integer.
func (f format) fromSigned(v int64, rm uint8, fl *uint8) uint64 {
	if v < 0 {
		return f.fromInt(true, -uint64(v), rm, fl)
	}
	return f.fromInt(false, uint64(v), rm, fl)
}

// convert rounds a value of format from to format f.
func (f format) convert(from format, v uint64, rm uint8, fl *uint8) uint64 {
	n := from.unpack(v)
	switch n.class {
	case finite:
		return f.pack(n.neg, n.exp, n.sig, rm, fl)
	case zero:
		return f.signed(n.neg, 0)
	case infinite:
		return f.signed(n.neg, f.infinity())
	}
	return f.propagate(fl, n)
}
