package stream

// trialLength is the number of values on which all methods are compared; a shorter
// stream is compared completely.
const trialLength = 4096

// smallStream is the length below which a stream stays plain, because a predictor would
// save less than opening it costs.
const smallStream = 32

// Builder compresses one stream of values as they come. The zero value is ready. After
// the trial prefix it stores only compressed values and one table. A Builder belongs to
// one goroutine.
type Builder struct {
	trial []uint64 // values before the choice
	coder *coder   // after the choice
	plain plainCost
}

// Append adds a value at the end of the stream.
func (b *Builder) Append(v uint64) {
	b.plain.put(v)
	if b.coder != nil {
		b.coder.put(v)
		return
	}
	b.trial = append(b.trial, v)
	if len(b.trial) == trialLength {
		b.coder = choose(b.trial)
		b.trial = nil
	}
}

// Finish returns the stream and empties the Builder.
func (b *Builder) Finish() *Stream {
	c := b.coder
	if c == nil {
		c = choose(b.trial)
	}
	s := c.stream()
	if s.method != Plain && uint64(len(s.appendBody(nil))) >= b.plain.size() {
		s = s.as(Plain, 0) // the prefix was not representative
	}
	*b = Builder{}
	return s
}

func encode(m Method, tableBits uint, values []uint64) *coder {
	c := newCoder(m, tableBits)
	for _, v := range values {
		c.put(v)
	}
	return c
}

// choose encodes the prefix with every method and returns the coder with the shortest
// binary form, ready for more.
func choose(prefix []uint64) *coder {
	best := encode(Plain, 0, prefix)
	if len(prefix) < smallStream {
		return best
	}
	least := len(best.stream().appendBody(nil))
	for m := Plain + 1; m < numMethods; m++ {
		c := encode(m, m.tableBits(uint64(len(prefix))), prefix)
		if size := len(c.stream().appendBody(nil)); size < least {
			best, least = c, size
		}
	}
	return best
}

// as encodes the values of s with another method.
func (s *Stream) as(m Method, tableBits uint) *Stream {
	c := newCoder(m, tableBits)
	for v := range s.All() {
		c.put(v)
	}
	return c.stream()
}
