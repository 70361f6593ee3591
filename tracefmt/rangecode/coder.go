package rangecode

// MinWidth is the smallest width of the interval when a decision begins.
const MinWidth = 1 << 24

// tail is the number of bytes that flush the coder.
const tail = 5

// Encoder codes decisions. Call Reset before the first.
type Encoder struct {
	low    uint64
	width  uint32
	cache  byte
	behind int // bytes that a carry can still change: cache, then 0xff
	out    []byte
}

// Reset begins a new string of decisions.
func (e *Encoder) Reset() {
	e.low, e.width, e.cache, e.behind = 0, 1<<32-1, 0, 0
	e.out = e.out[:0]
}

// Width returns the present width of the interval.
func (e *Encoder) Width() uint32 { return e.width }

// Len returns the number of bytes that no carry can change any more.
func (e *Encoder) Len() int { return len(e.out) }

// Encode codes a decision. below selects the part of the interval under bound, which is
// more than 0 and less than Width.
func (e *Encoder) Encode(bound uint32, below bool) {
	if below {
		e.width = bound
	} else {
		e.low += uint64(bound)
		e.width -= bound
	}
	for e.width < MinWidth {
		e.width <<= 8
		e.shift()
	}
}

// shift outputs the top byte of low, and holds back what a carry may change.
func (e *Encoder) shift() {
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

// Finish returns the code of all decisions since Reset. The memory belongs to the encoder
// and is valid until the next Reset.
func (e *Encoder) Finish() []byte {
	for range tail {
		e.shift()
	}
	return e.out
}

// Decoder is the inverse. Call Reset before the first decision.
type Decoder struct {
	in      []byte
	code    uint32
	width   uint32
	overrun bool
}

// Reset begins a new string of decisions, whose code is in.
func (d *Decoder) Reset(in []byte) {
	d.in, d.code, d.width, d.overrun = in, 0, 1<<32-1, false
	for range 4 {
		d.code = d.code<<8 | d.next()
	}
}

func (d *Decoder) next() uint32 {
	if len(d.in) == 0 {
		d.overrun = true
		return 0
	}
	b := d.in[0]
	d.in = d.in[1:]
	return uint32(b)
}

// Width returns the present width of the interval.
func (d *Decoder) Width() uint32 { return d.width }

// Decode reports whether the decision took the part under bound.
func (d *Decoder) Decode(bound uint32) (below bool) {
	if d.code < bound {
		d.width = bound
		below = true
	} else {
		d.code -= bound
		d.width -= bound
	}
	for d.width < MinWidth {
		d.width <<= 8
		d.code = d.code<<8 | d.next()
	}
	return below
}

// Overrun reports whether more was read than the input has. Decoding the code of an
// [Encoder] reads exactly to its end.
func (d *Decoder) Overrun() bool { return d.overrun }

// Rest returns the number of bytes that were not needed.
func (d *Decoder) Rest() int { return len(d.in) }
