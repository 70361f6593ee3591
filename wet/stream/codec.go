package stream

import (
	"encoding/binary"
	"errors"
	"fmt"

	"hindsight/tracefmt/wire"
)

// ErrPosition says that a cursor was moved past the end.
var ErrPosition = errors.New("no such position")

const version = 1

// The forms of a list of numbers.
const (
	formFixed  = 0 // of one width
	formVarint = 1 // each as LEB128; for codes: runs
)

// AppendBinary appends the binary form, which the package comment describes.
func (s *Stream) AppendBinary(dst []byte) []byte {
	dst = append(dst, version, byte(s.method))
	dst = binary.AppendUvarint(dst, s.n)
	return s.appendBody(dst)
}

func (s *Stream) appendBody(dst []byte) []byte {
	if s.method.family() == familyContext {
		dst = append(dst, byte(s.bits))
	}
	if s.method != Plain {
		dst = s.appendCodes(dst)
		dst = binary.AppendUvarint(dst, s.missed.n)
	}
	return appendNumbers(dst, &s.missed)
}

// appendCodes writes the codes as runs or as bits, whichever is shorter.
func (s *Stream) appendCodes(dst []byte) []byte {
	start := len(dst)
	dst = append(dst, formVarint)
	limit := byteLen(s.n, s.codes.width)
	for i := uint64(0); i < s.n && uint64(len(dst)-start-1) <= limit; {
		code, run := s.codes.at(i), uint64(1)
		for i+run < s.n && s.codes.at(i+run) == code {
			run++
		}
		dst = binary.AppendUvarint(dst, (run-1)<<s.codes.width|code)
		i += run
	}
	if uint64(len(dst)-start-1) <= limit {
		return dst
	}
	return s.codes.appendBits(append(dst[:start], formFixed))
}

// appendNumbers writes p at one width or as LEB128, whichever is shorter.
func appendNumbers(dst []byte, p *packed) []byte {
	fixed := uvarintLen(p.base) + 1 + byteLen(p.n, p.width)
	total := uint64(0)
	for i := uint64(0); i < p.n && total < fixed; i++ {
		total += uvarintLen(p.at(i))
	}
	if total < fixed {
		dst = append(dst, formVarint)
		for i := range p.n {
			dst = binary.AppendUvarint(dst, p.at(i))
		}
		return dst
	}
	dst = append(dst, formFixed)
	dst = binary.AppendUvarint(dst, p.base)
	dst = append(dst, byte(p.width))
	return p.appendBits(dst)
}

// Limits are the limits of what [Decode] accepts.
type Limits struct {
	// Values bounds the length of a stream; 0 means 2^26. Runs cost nothing in the
	// input, but at most half a byte per value in memory; other values take at most 8
	// bytes in memory for each byte of the input. The first cursor of a context method,
	// not Decode, may take 40 more bytes per value for a moment, and 20 for the life of
	// the stream.
	Values uint64
}

// Decode reads one stream from the front of src, and returns what follows it. The input
// is not trusted, but checksums are the container's task. An error wraps one of the
// sentinels of this package.
func Decode(src []byte, limits Limits) (s *Stream, rest []byte, err error) {
	if limits.Values == 0 {
		limits.Values = 1 << 26
	}
	limits.Values = min(limits.Values, 1<<48) // so that sizes in bits do not overflow
	d := decoder{src: src, limit: limits.Values}
	s, err = d.stream()
	if err != nil {
		return nil, src, fmt.Errorf("offset %d: %w", d.at, err)
	}
	return s, src[d.at:], nil
}

type decoder struct {
	src   []byte
	at    int
	limit uint64
}

func (d *decoder) byte() (byte, error) {
	if d.at == len(d.src) {
		return 0, wire.ErrTruncated
	}
	d.at++
	return d.src[d.at-1], nil
}

func (d *decoder) uvarint() (uint64, error) {
	v, n := binary.Uvarint(d.src[d.at:])
	if n == 0 {
		return 0, wire.ErrTruncated
	}
	if n < 0 {
		return 0, fmt.Errorf("%w: number of more than 64 bits", wire.ErrMalformed)
	}
	d.at += n
	return v, nil
}

// fixed reads n numbers of one width.
func (d *decoder) fixed(n, base uint64, width uint) (packed, error) {
	size := byteLen(n, width)
	if size > uint64(len(d.src)-d.at) {
		return packed{}, wire.ErrTruncated
	}
	p := fromBits(d.src[d.at:d.at+int(size)], n, base, width)
	d.at += int(size)
	return p, nil
}

func (d *decoder) stream() (*Stream, error) {
	v, err := d.byte()
	if err != nil {
		return nil, err
	}
	if v != version {
		return nil, fmt.Errorf("%w: %d", wire.ErrVersion, v)
	}
	m, err := d.byte()
	if err != nil {
		return nil, err
	}
	s := &Stream{method: Method(m)}
	if s.method >= numMethods {
		return nil, fmt.Errorf("%w: %v", wire.ErrMalformed, s.method)
	}
	if s.n, err = d.uvarint(); err != nil {
		return nil, err
	}
	if s.n > d.limit {
		return nil, fmt.Errorf("%w: %d values, at most %d", wire.ErrTooLarge, s.n, d.limit)
	}
	return s, d.body(s)
}

func (d *decoder) body(s *Stream) error {
	if s.method.family() == familyContext {
		b, err := d.byte()
		if err != nil {
			return err
		}
		if b < minTableBits || b > maxTableBits {
			return fmt.Errorf("%w: table of %d bits", wire.ErrMalformed, b)
		}
		s.bits = uint(b)
	}
	misses := s.n
	if s.method == Plain {
		s.codes.seal()
	} else {
		if err := d.codes(s); err != nil {
			return err
		}
		var err error
		if misses, err = d.uvarint(); err != nil {
			return err
		}
		if err := s.checkCodes(misses); err != nil {
			return err
		}
	}
	var err error
	s.missed, err = d.numbers(misses)
	return err
}

func (d *decoder) codes(s *Stream) error {
	form, err := d.byte()
	if err != nil {
		return err
	}
	width := s.method.codeBits()
	switch form {
	case formFixed:
		s.codes, err = d.fixed(s.n, 0, width)
		return err
	case formVarint:
	default:
		return fmt.Errorf("%w: codes of form %d", wire.ErrMalformed, form)
	}
	s.codes = packed{width: width}
	for s.codes.n < s.n {
		v, err := d.uvarint()
		if err != nil {
			return err
		}
		run := v >> width // the length minus one
		if run >= s.n-s.codes.n {
			return fmt.Errorf("%w: run of codes beyond the end", wire.ErrMalformed)
		}
		for range run + 1 {
			s.codes.push(v & (1<<width - 1))
		}
	}
	s.codes.seal()
	return nil
}

// checkCodes checks that codes lead to existing symbols.
func (s *Stream) checkCodes(misses uint64) error {
	last := s.method.family() == familyLast
	seen := uint64(0)
	for i := range s.n {
		code := s.codes.at(i)
		if code == 0 {
			seen++
		} else if last && code > seen {
			return fmt.Errorf("%w: prediction %d of %d at value %d", wire.ErrMalformed, code, seen, i)
		}
	}
	if seen != misses {
		return fmt.Errorf("%w: %d symbols for %d misses", wire.ErrMalformed, misses, seen)
	}
	return nil
}

func (d *decoder) numbers(n uint64) (packed, error) {
	form, err := d.byte()
	if err != nil {
		return packed{}, err
	}
	switch form {
	case formFixed:
		base, err := d.uvarint()
		if err != nil {
			return packed{}, err
		}
		width, err := d.byte()
		if err != nil {
			return packed{}, err
		}
		if width > 64 {
			return packed{}, fmt.Errorf("%w: numbers of %d bits", wire.ErrMalformed, width)
		}
		return d.fixed(n, base, uint(width))
	case formVarint:
		if n > uint64(len(d.src)-d.at) {
			return packed{}, wire.ErrTruncated
		}
		values := make([]uint64, n)
		for i := range values {
			if values[i], err = d.uvarint(); err != nil {
				return packed{}, err
			}
		}
		return pack(values), nil
	}
	return packed{}, fmt.Errorf("%w: numbers of form %d", wire.ErrMalformed, form)
}
