package stream

// context has the n symbols next to the current position, n from 1 to 3, and their hash,
// which selects a line of a table. Symbols beyond n are zero.
type context struct {
	sym   [3]uint64 // the newest, which is the rightmost, first
	mul   [3]uint64
	order int
	shift uint
}

// multipliers of the hash, odd and without structure. The hash is the top bits of the sum
// of products, so each symbol affects all of them.
var multipliers = [3]uint64{0x9e3779b97f4a7c15, 0xd1b54a32d192ed03, 0x8cb92ba72f3d8dd7}

func newContext(order int, tableBits uint) context {
	c := context{order: order, shift: 64 - tableBits}
	copy(c.mul[:order], multipliers[:])
	return c
}

func (c *context) hash() uint64 {
	return (c.sym[0]*c.mul[0] + c.sym[1]*c.mul[1] + c.sym[2]*c.mul[2]) >> c.shift
}

// push moves the context right by one. out is the symbol that leaves it.
func (c *context) push(s uint64) (out uint64) {
	switch c.order {
	case 1:
		out, c.sym[0] = c.sym[0], s
	case 2:
		out, c.sym[1], c.sym[0] = c.sym[1], c.sym[0], s
	default:
		out, c.sym[2], c.sym[1], c.sym[0] = c.sym[2], c.sym[1], c.sym[0], s
	}
	return out
}

// pull moves the context left by one. s enters at the left, and out, the newest symbol,
// leaves.
func (c *context) pull(s uint64) (out uint64) {
	out = c.sym[0]
	switch c.order {
	case 1:
		c.sym[0] = s
	case 2:
		c.sym[0], c.sym[1] = c.sym[1], s
	default:
		c.sym[0], c.sym[1], c.sym[2] = c.sym[1], c.sym[2], s
	}
	return out
}
