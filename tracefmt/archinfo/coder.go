package archinfo

import "hindsight/tracefmt/rangecode"

// Bits are coded by package rangecode, with probabilities of 16 bits that move a 32nd of
// the way towards each outcome.
const (
	contextBits = 12
	probBits    = 16
	probInit    = 1 << (probBits - 1)
	adapt       = 5

	// maxExpansion limits the number of bits that a byte can stand for. The likeliest
	// outcome costs log2(65536 / (65536-31)) = 0.00068 bits.
	maxExpansion = 12000
)

// model predicts the next bit from the preceding ones.
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
	model model
	coder rangecode.Encoder

	bits, ones uint64
}

func (e *bitEncoder) reset() {
	e.model.reset()
	e.coder.Reset()
	e.bits, e.ones = 0, 0
}

func (e *bitEncoder) add(bit uint32) {
	p := &e.model.probs[e.model.context]
	e.coder.Encode((e.coder.Width()>>probBits)*uint32(*p), bit == 0)
	e.bits++
	e.ones += uint64(bit)
	e.model.learn(p, bit)
}

// finish returns the code of all bits. The memory belongs to the encoder.
func (e *bitEncoder) finish() []byte {
	if e.bits == 0 {
		return nil
	}
	return e.coder.Finish()
}

// bitDecoder is the inverse of bitEncoder. After the end of its input it reads zeros.
type bitDecoder struct {
	model model
	coder rangecode.Decoder
}

func (d *bitDecoder) reset(in []byte) {
	d.model.reset()
	d.coder.Reset(in)
}

func (d *bitDecoder) bit() uint32 {
	p := &d.model.probs[d.model.context]
	bit := uint32(1)
	if d.coder.Decode((d.coder.Width() >> probBits) * uint32(*p)) {
		bit = 0
	}
	d.model.learn(p, bit)
	return bit
}
