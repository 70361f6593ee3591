// Package packed is the container of compressed raw traces. It names the codec and its
// parameters, contains the codec's output in checksummed frames, and ends with the length
// and the checksum of the original. It does not know the codecs. It is written and read
// in one pass and needs no length in advance, so both ends may be pipes.
//
//	magic    "HPAK"
//	version  1 byte, 1
//	codec    uvarint length (1 to 32), bytes: lower-case letters, digits, -
//	params   uvarint length (at most 4096), bytes: key=value, separated by spaces
//	check    4 bytes, CRC-32C of all before
//	frames   uvarint length (1 to 2^20), payload, 4 bytes CRC-32C of the payload
//	end      a zero byte, then
//	         8 bytes length of the original
//	         4 bytes CRC-32C of the original
//	         4 bytes CRC-32C of the twelve bytes before
//
// Fixed-size numbers are little-endian. Nothing may follow. A [Writer] and a [Reader]
// belong to one goroutine each. Closing one leaves the underlying stream open.
package packed
