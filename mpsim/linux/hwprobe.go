package linux

// Keys and values of riscv_hwprobe(2), as in Documentation/arch/riscv/hwprobe.rst of Linux.
const (
	probeVendor       = 0
	probeArch         = 1
	probeImpl         = 2
	probeBase         = 3 // 1: the base behaviour of IMA
	probeExtensions   = 4
	probeMisaligned   = 5 // 3: fast
	probeZeroBlock    = 6
	probeHighest      = 7
	probeTimeFreq     = 8
	probeScalar       = 9 // as probeMisaligned
	probeVector       = 10
	probeManagedBlock = 12

	misalignedFast    = 3
	vectorUnsupported = 4

	highestAddress = 1<<38 - 1 // of Sv39, like the layout of memory
	timeFrequency  = 1_000_000_000
)

// extensions are the bits of probeExtensions that are set: F and D, C, Zba, Zbb, Zbs,
// Zicboz, Zbc, Zfhmin, Zfa, Zicond, Zihintpause, Zimop, Zca, Zcb, Zcd, Zcmop, Zawrs,
// Zicntr, Zicbom, Zaamo, Zalrsc, Zicbop. Zacas is missing because its 16-byte
// compare-and-swap is not implemented.
const extensions = 1<<0 | 1<<1 | 1<<3 | 1<<4 | 1<<5 | 1<<6 | 1<<7 | 1<<28 | 1<<32 | 1<<35 | 1<<36 |
	1<<42 | 1<<43 | 1<<44 | 1<<45 | 1<<47 | 1<<48 | 1<<50 | 1<<55 | 1<<56 | 1<<57 | 1<<60

var probes = map[int64]uint64{
	probeVendor: 0, probeArch: 0, probeImpl: 0, probeBase: 1, probeExtensions: extensions,
	probeMisaligned: misalignedFast, probeZeroBlock: CacheBlock, probeHighest: highestAddress, probeTimeFreq: timeFrequency,
	probeScalar: misalignedFast, probeVector: vectorUnsupported, probeManagedBlock: CacheBlock,
}

// hwprobe is riscv_hwprobe. All processors are alike, so the set of processors in a call
// does not matter. A call that asks for processors by their extensions is refused.
func (c *call) hwprobe() int64 {
	pairs, count, flags := c.arg[0], c.arg[1], c.arg[4]
	if flags != 0 || count > maxProbes {
		return -EINVAL
	}
	for i := range count {
		at := pairs + 16*i
		key, fault := c.space.Uint64(at)
		if fault != nil {
			return -EFAULT
		}
		value, known := probes[int64(key)]
		if !known {
			key = ^uint64(0)
		}
		if c.space.PutUint64(at, key) != nil || c.space.PutUint64(at+8, value) != nil {
			return -EFAULT
		}
	}
	return 0
}

// maxProbes bounds the number of pairs in a call.
const maxProbes = 1 << 16
