package archinfo

// The coder is a carry-propagating binary range coder (G. N. N. Martin, 1979,
// in the form with a 32-bit range and a cached byte), over probabilities of 16
// bits that move a 32nd of the way towards each outcome.
const (
	contextBits = 12
	probBits    = 16
	probInit    = 1 << (probBits - 1)
	adapt       = 5
	renorm      = 1 << 24
	tail        = 5 // bytes that flush the coder

	// maxExpansion bounds the bits that a byte can stand for: the likeliest
	// outcome costs log2(65536 / (65536-31)) = 0.00068 bits.
	maxExpansion = 12000
)

// model predicts the next bit from those before it.
type model struct {
	probs   [1 << contextBits]uint16 // that the bit is 0, in 1/65536
	context uint32
}

func (m *model) reset() {
	for i := range m.probs {
		m.probs[i] = probInit
	}
	m.context = 0
}

func (m *model) learn(p *uint16, bit uint32) {
	if bit == 0 {
		*p += (1<<probBits - 1 - *p) >> adapt
	} else {
		*p -= *p >> adapt
	}
	m.context = (m.context<<1 | bit) & (1<<contextBits - 1)
}

// bitEncoder codes a string of bits. Call reset before the first bit.
type bitEncoder struct {
	model  model
	low    uint64
	width  uint32
	cache  byte
	behind int // bytes that a carry can still change: cache, then 0xff
	out    []byte

	bits, ones uint64
}

func (e *bitEncoder) reset() {
	e.model.reset()
	e.low, e.width, e.cache, e.behind = 0, 1<<32-1, 0, 0
	e.out, e.bits, e.ones = e.out[:0], 0, 0
}

func (e *bitEncoder) add(bit uint32) {
	p := &e.model.probs[e.model.context]
	bound := (e.width >> probBits) * uint32(*p)
	if bit == 0 {
		e.width = bound
	} else {
		e.low += uint64(bound)
		e.width -= bound
		e.ones++
	}
	e.bits++
	e.model.learn(p, bit)
	for e.width < renorm {
		e.width <<= 8
		e.shift()
	}
}

// shift moves the top byte of low out, holding back what a carry may change.
func (e *bitEncoder) shift() {
	if e.behind == 0 || e.low < 0xff<<24 || e.low >= 1<<32 {
		carry := byte(e.low >> 32)
		if e.behind > 0 {
			e.out = append(e.out, e.cache+carry)
			for ; e.behind > 1; e.behind-- {
				e.out = append(e.out, 0xff+carry)
			}
		}
		e.cache, e.behind = byte(e.low>>24), 0
	}
	e.behind++
	e.low = e.low & (1<<24 - 1) << 8
}

// finish gives the code of all bits; the memory is the encoder's.
func (e *bitEncoder) finish() []byte {
	if e.bits == 0 {
		return nil
	}
	for range tail {
		e.shift()
	}
	return e.out
}

// bitDecoder is the inverse. Behind the end of its input it reads zeros;
// overrun says whether it did.
type bitDecoder struct {
	model   model
	in      []byte
	code    uint32
	width   uint32
	overrun bool
}

func (d *bitDecoder) reset(in []byte) {
	d.model.reset()
	d.in, d.code, d.width, d.overrun = in, 0, 1<<32-1, false
	for range 4 {
		d.code = d.code<<8 | d.next()
	}
}

func (d *bitDecoder) next() uint32 {
	if len(d.in) == 0 {
		d.overrun = true
		return 0
	}
	b := d.in[0]
	d.in = d.in[1:]
	return uint32(b)
}

func (d *bitDecoder) bit() uint32 {
	p := &d.model.probs[d.model.context]
	bound := (d.width >> probBits) * uint32(*p)
	bit := uint32(0)
	if d.code < bound {
		d.width = bound
	} else {
		d.code -= bound
		d.width -= bound
		bit = 1
	}
	d.model.learn(p, bit)
	for d.width < renorm {
		d.width <<= 8
		d.code = d.code<<8 | d.next()
	}
	return bit
}
