package archinfo

// Count returns the number of bits of a stream, and how many of them are 1.
func (h *History) Count(s Stream) (bits, ones uint64) {
	return h.streams[s].bits, h.streams[s].ones
}
