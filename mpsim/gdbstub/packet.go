package gdbstub

import (
	"bufio"
	"errors"
	"fmt"
	"io"
)

// maxPacket bounds the content of a packet, in bytes. The stub announces it (PacketSize).
const maxPacket = 0x4000

// Bytes with a meaning in the protocol.
const (
	packetStart   = '$'
	packetEnd     = '#'
	escape        = '}'
	escapeFlip    = 0x20
	runLength     = '*'
	acknowledge   = '+'
	refuse        = '-'
	interruptByte = 0x03
)

// message is what a debugger sends: a packet, an acknowledgement or an interrupt.
type message struct {
	kind byte   // packetStart, acknowledge, refuse or interruptByte
	body []byte // of a packet, with escapes undone
	sum  bool   // of a packet: the checksum is right
}

// readMessage reads the next message and skips anything else. The error is that of the
// reader, or says that a packet is too long.
func readMessage(r *bufio.Reader) (message, error) {
	for {
		c, err := r.ReadByte()
		if err != nil {
			return message{}, err
		}
		switch c {
		case acknowledge, refuse, interruptByte:
			return message{kind: c}, nil
		case packetStart:
			return readPacket(r)
		}
	}
}

// readPacket reads a packet after its '$'.
func readPacket(r *bufio.Reader) (message, error) {
	m := message{kind: packetStart}
	var sum uint8
	for escaped := false; ; {
		c, err := r.ReadByte()
		if err != nil {
			return m, unexpected(err)
		}
		switch {
		case c == packetEnd && !escaped:
			var digits [2]byte
			if _, err := io.ReadFull(r, digits[:]); err != nil {
				return m, unexpected(err)
			}
			want, ok := hexByte(digits[:])
			m.sum = ok && want == sum
			return m, nil
		case c == packetStart && !escaped: // the last one was truncated
			m.body, sum = m.body[:0], 0
			continue
		case c == escape && !escaped:
			sum, escaped = sum+c, true
			continue
		}
		sum += c
		if escaped {
			c, escaped = c^escapeFlip, false
		}
		if len(m.body) == maxPacket {
			return m, fmt.Errorf("a packet of more than %d bytes", maxPacket)
		}
		m.body = append(m.body, c)
	}
}

func unexpected(err error) error {
	if errors.Is(err, io.EOF) {
		return io.ErrUnexpectedEOF
	}
	return err
}

// appendPacket appends a packet with this content.
func appendPacket(out, body []byte) []byte {
	out = append(out, packetStart)
	begin := len(out)
	for _, c := range body {
		switch c {
		case packetStart, packetEnd, escape, runLength:
			out = append(out, escape, c^escapeFlip)
		default:
			out = append(out, c)
		}
	}
	var sum uint8
	for _, c := range out[begin:] {
		sum += c
	}
	return fmt.Appendf(out, "%c%02x", packetEnd, sum)
}

const hexDigits = "0123456789abcdef"

func appendHex(out []byte, bytes ...byte) []byte {
	for _, b := range bytes {
		out = append(out, hexDigits[b>>4], hexDigits[b&15])
	}
	return out
}

// appendRegister appends a register of size bytes in the target's order.
func appendRegister(out []byte, v uint64, size int) []byte {
	for range size {
		out = appendHex(out, byte(v))
		v >>= 8
	}
	return out
}

func hexDigit(c byte) (uint64, bool) {
	switch {
	case c >= '0' && c <= '9':
		return uint64(c - '0'), true
	case c|0x20 >= 'a' && c|0x20 <= 'f':
		return uint64(c|0x20-'a') + 10, true
	}
	return 0, false
}

func hexByte(p []byte) (uint8, bool) {
	v, rest, ok := hexNumber(string(p))
	return uint8(v), ok && rest == "" && len(p) == 2
}

// hexNumber reads a number at the beginning of s, of at most 64 bits.
func hexNumber(s string) (v uint64, rest string, ok bool) {
	n := 0
	for ; n < len(s) && n < 17; n++ {
		d, digit := hexDigit(s[n])
		if !digit {
			break
		}
		v = v<<4 | d
	}
	return v, s[n:], n > 0 && n <= 16
}

// unhex decodes pairs of digits.
func unhex(s string) ([]byte, bool) {
	if len(s)%2 != 0 {
		return nil, false
	}
	out := make([]byte, 0, len(s)/2)
	for ; s != ""; s = s[2:] {
		b, ok := hexByte([]byte(s[:2]))
		if !ok {
			return nil, false
		}
		out = append(out, b)
	}
	return out, true
}

// twoNumbers reads "a,b".
func twoNumbers(s string) (a, b uint64, rest string, ok bool) {
	if a, s, ok = hexNumber(s); !ok || s == "" || s[0] != ',' {
		return 0, 0, s, false
	}
	b, rest, ok = hexNumber(s[1:])
	return a, b, rest, ok
}
