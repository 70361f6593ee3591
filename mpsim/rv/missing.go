package rv

// Missing returns the name of the extension of an instruction that [Decode] rejects, as far
// as its opcode shows it, or "" if the extension is unknown.
func Missing(word uint32) string {
	if word&3 != 3 {
		return ""
	}
	width := word >> 12 & 7
	switch major := word >> 2 & 31; major {
	case 0x15: // OP-V
		return "V"
	case 0x1d: // OP-VE
		return "Zvk"
	case 0x01, 0x09: // LOAD-FP, STORE-FP
		switch width {
		case 0, 5, 6, 7:
			return "V"
		case 4:
			return "Q"
		}
	case 0x10, 0x11, 0x12, 0x13, 0x14: // floating-point arithmetic: the format
		switch word >> 25 & 3 {
		case 2:
			return "Zfh"
		case 3:
			return "Q"
		}
	case 0x0b: // AMO
		switch {
		case width == 0 || width == 1:
			return "Zabha"
		case width == 4 && word>>27 == 5:
			return "Zacas (the compare-and-swap of 16 bytes)"
		}
	}
	return ""
}
