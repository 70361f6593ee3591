package linux

import "hindsight/mpsim/linux/vfs"

// CallArgs returns which arguments a system call takes, given its number and the argument
// registers. Bit n stands for register a0+n. The other registers hold whatever the program
// left there. A call that does not exist takes no arguments.
func CallArgs(nr uint64, arg [6]uint64) uint8 {
	if nr >= uint64(len(takes)) {
		return 0
	}
	n := takes[nr]
	if given := optional[nr]; given != nil {
		n = given(arg)
	}
	return 1<<n - 1 | takesToo(nr, arg)
}

// takes is the number of leading arguments of each call.
var takes = [...]uint8{
	5: 5, 6: 5, 7: 5, 8: 4, 9: 4, 10: 4, 11: 3, 12: 3, 13: 3, 14: 2, 15: 2, 16: 2, 17: 2, 19: 2, 20: 1, 21: 4, 22: 6, 23: 1,
	24: 3, 25: 3, 26: 1, 29: 3, 30: 3, 31: 2, 32: 2, 33: 4, 34: 3, 35: 3, 36: 3, 37: 5, 38: 4, 39: 2, 40: 5, 41: 2, 43: 2,
	44: 2, 45: 2, 46: 2, 47: 4, 48: 3, 49: 1, 50: 1, 51: 1, 52: 2, 53: 3, 54: 5, 55: 3, 56: 4, 57: 1, 59: 2, 61: 3, 62: 3,
	63: 3, 64: 3, 65: 3, 66: 3, 67: 4, 68: 4, 69: 4, 70: 4, 71: 4, 72: 6, 73: 5, 74: 4, 78: 4, 79: 4, 80: 2, 82: 1, 83: 1,
	84: 4, 85: 2, 86: 4, 87: 2, 88: 4, 90: 2, 91: 2, 92: 1, 93: 1, 94: 1, 95: 5, 96: 1, 97: 1, 98: 6, 99: 2, 100: 3, 101: 2,
	102: 2, 103: 3, 107: 3, 112: 2, 113: 2, 114: 2, 115: 4, 116: 3, 118: 2, 119: 3, 120: 1, 121: 2, 122: 3, 123: 3, 125: 1,
	126: 1, 127: 2, 129: 2, 130: 2, 131: 3, 132: 2, 133: 2, 134: 4, 135: 4, 136: 2, 137: 4, 138: 3, 140: 3, 141: 2, 142: 4,
	144: 1, 146: 1, 148: 3, 150: 3, 153: 1, 154: 2, 155: 1, 156: 1, 158: 2, 160: 1, 161: 2, 162: 2, 163: 2, 164: 2, 165: 2,
	166: 1, 167: 5, 168: 2, 169: 2, 170: 2, 171: 1, 179: 1, 194: 3, 198: 3, 199: 4, 200: 3, 201: 2, 202: 3, 203: 3, 204: 3,
	205: 3, 206: 6, 207: 6, 208: 5, 209: 5, 210: 2, 211: 3, 212: 3, 213: 3, 214: 1, 215: 2, 216: 5, 220: 2, 221: 3, 222: 6,
	223: 4, 226: 3, 227: 3, 228: 2, 229: 2, 230: 1, 232: 3, 233: 3, 235: 6, 236: 5, 240: 4, 241: 5, 242: 4, 243: 5, 258: 5,
	259: 3, 260: 4, 261: 4, 266: 2, 267: 1, 268: 2, 269: 5, 274: 3, 275: 4, 276: 5, 277: 3, 278: 3, 279: 2, 281: 5, 283: 3,
	284: 3, 285: 6, 286: 6, 287: 6, 291: 5, 293: 4, 425: 2, 434: 2, 435: 2, 436: 3, 437: 4, 439: 4, 441: 6, 449: 5, 452: 4,
}

// optional lists the calls whose number of arguments depends on the values of the first
// ones.
var optional = map[uint64]func(arg [6]uint64) uint8{
	25: func(arg [6]uint64) uint8 { // fcntl
		switch uint32(arg[1]) {
		case 1, 3, 9, 11, 1025, 1032, 1034: // F_GETFD, F_GETFL, F_GETOWN, F_GETSIG, F_GETLEASE, F_GETPIPE_SZ, F_GET_SEALS
			return 2
		}
		return 3
	},
	56: func(arg [6]uint64) uint8 { // takes a mode only if it creates a file
		if uint32(arg[2])&vfs.OpenCreate == 0 && uint32(arg[2])&openTmpfile != openTmpfile {
			return 3
		}
		return 4
	},
	98: futexTakes,
	167: func(arg [6]uint64) uint8 { // prctl
		switch arg[0] {
		case 3, 7, 13, 21, 27, 30, 39: // queries that return their answer as the result
			return 1
		}
		return 2
	},
	216: func(arg [6]uint64) uint8 { // mremap
		if arg[3]&(mremapFixed|mremapDontUnmap) == 0 {
			return 4
		}
		return 5
	},
	222: func(arg [6]uint64) uint8 { // takes no descriptor for anonymous memory
		if arg[3]&mapAnonymous != 0 {
			return 4
		}
		return 6
	},
}

func futexTakes(arg [6]uint64) uint8 {
	const waitBitset, wakeBitset = 9, 10
	switch arg[1] & 0x7f {
	case 0, 6, 13: // with a timeout
		return 4
	case 1: // FUTEX_WAKE
		return 3
	case 7, 8: // UNLOCK_PI, TRYLOCK_PI
		return 2
	case 3: // FUTEX_REQUEUE
		return 5
	case waitBitset:
		return 4
	case wakeBitset:
		return 3
	}
	return 6
}

// takesToo returns the arguments that follow ones that are not taken.
func takesToo(nr uint64, arg [6]uint64) uint8 {
	const futex, clone = 98, 220
	switch {
	case nr == futex && (arg[1]&0x7f == 9 || arg[1]&0x7f == 10):
		return 1 << 5 // the bitset
	case nr == clone:
		// clone takes flags and stack, and the addresses of the ids and the thread pointer
		// only if the flags request them.
		var mask uint8
		if arg[0]&cloneParentSettid != 0 {
			mask |= 1 << 2
		}
		if arg[0]&cloneSettls != 0 {
			mask |= 1 << 3
		}
		if arg[0]&(cloneChildSettid|cloneChildCleartid) != 0 {
			mask |= 1 << 4
		}
		return mask
	}
	return 0
}
