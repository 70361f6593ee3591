package vpc3

import (
	"encoding/binary"
	"math/bits"

	"hindsight/tracefmt/wire"
)

// mixPrefix is the number of records that are compressed in several ways, to choose the
// best one.
const mixPrefix = 1 << 16

// mixShifts are the shifts that are tried. The first one is usually best.
var mixShifts = [...]byte{5, 3, 8}

// mixedEncoder is the engine of a Writer.
type mixedEncoder struct {
	m      *mixedModel // nil until the parameters are chosen
	prefix []byte      // the records until then
}

func (e *mixedEncoder) encode(records []byte) (int, error) {
	if e.m == nil {
		e.prefix = append(e.prefix, records...)
		if len(e.prefix) < mixPrefix*RecordSize {
			return 0, nil
		}
		e.choose()
		return e.m.Len(), nil
	}
	before := e.m.Len()
	e.m.records(records)
	return e.m.Len() - before, nil
}

// choose compresses the prefix in several ways and continues with the best.
func (e *mixedEncoder) choose() {
	records := len(e.prefix) / RecordSize
	p := mixParams{smaller: byte(max(0, min(bits.Len(mixPrefix)-1-bits.Len(uint(records)), mixSmallest)))}
	for _, p.pcShift = range mixShifts {
		m := newMixedModel(p, false)
		m.Begin([]byte{p.smaller, p.pcShift}, nil)
		m.records(e.prefix)
		if e.m == nil || m.Len() < e.m.Len() {
			e.m = m
		}
	}
	e.prefix = nil
}

// records codes whole records.
func (m *mixedModel) records(b []byte) {
	for ; len(b) >= RecordSize; b = b[RecordSize:] {
		m.record(binary.LittleEndian.Uint32(b), binary.LittleEndian.Uint64(b[4:]))
	}
}

func (e *mixedEncoder) cut(last bool) ([][]byte, error) {
	if last {
		return [][]byte{nil}, nil
	}
	if e.m == nil {
		e.choose()
	}
	if e.m.run.open {
		e.m.endRun()
	}
	b := e.m.End()
	// The next chunk must not overwrite b before it has been used.
	e.m.Begin(nil, nil)
	return [][]byte{b}, nil
}

// mixedDecoder is the engine of a Reader.
type mixedDecoder struct {
	in  *wire.Reader
	m   *mixedModel // nil until the parameters are read
	cut []byte
}

func (d *mixedDecoder) feed(lengths []uint64) error {
	if err := d.finish(); err != nil {
		return err
	}
	var err error
	if d.cut, err = d.in.Append(d.cut[:0], lengths[0]); err != nil {
		return err
	}
	in := d.cut
	if len(in) == 0 {
		return nil
	}
	if d.m == nil {
		if len(in) < 2 {
			return d.in.Fail(wire.ErrMalformed, "the parameters of the predictors are cut off")
		}
		p := mixParams{in[0], in[1]}
		if !p.valid() {
			return d.in.Fail(wire.ErrMalformed, "parameters %d and %d of the predictors", in[0], in[1])
		}
		d.m, in = newMixedModel(p, true), in[2:]
	}
	d.m.run.open, d.m.run.left = false, 0 // a run ends with its chunk
	d.m.Begin(nil, in)
	return nil
}

func (d *mixedDecoder) decode(records []byte) error {
	if len(d.cut) == 0 {
		return d.in.Fail(wire.ErrMalformed, "a chunk of no bytes")
	}
	for ; len(records) > 0; records = records[RecordSize:] {
		pc, ed := d.m.record(0, 0)
		binary.LittleEndian.PutUint32(records, pc)
		binary.LittleEndian.PutUint64(records[4:], ed)
	}
	if d.m.Overrun() {
		return d.in.Fail(wire.ErrMalformed, "the chunk that ends here is too short for its records")
	}
	return nil
}

func (d *mixedDecoder) finish() error {
	if d.m == nil {
		return nil
	}
	if n := d.m.Rest(); n > 0 {
		return d.in.Fail(wire.ErrMalformed, "%d bytes too many in the chunk before", n)
	}
	return nil
}

func (d *mixedDecoder) close() {}
