package stream

// New compresses values with the method that suits their beginning.
func New(values []uint64) *Stream {
	var b Builder
	for _, v := range values {
		b.Append(v)
	}
	return b.Finish()
}

// NewWith compresses values with the method given, for comparisons. An unknown
// method is [Plain].
func NewWith(m Method, values []uint64) *Stream {
	if m >= numMethods {
		m = Plain
	}
	return encode(m, m.tableBits(uint64(len(values))), values).stream()
}
