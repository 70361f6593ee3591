package vpc3

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io"

	"hindsight/tracefmt/wire"
)

// numStreams is the number of streams of the paper's profile: predictors and unpredicted
// values, for the PC and for the extended data.
const numStreams = 4

// Table sizes of section 4.4, as bits of a line number.
const (
	firstBits = 16 // lines of the first-level tables of the extended data

	pcFCM1Bits = 17
	pcFCM3Bits = 19
	fcm1Bits   = 19
	dfcm1Bits  = 17
	dfcm3Bits  = 19
)

// Predictors of a program counter, in the order in which ties are broken.
const (
	pcFCM1a = iota
	pcFCM1b
	pcFCM3a
	pcFCM3b
	pcNone // no predictor is right; the value is in its own stream
)

// Predictors of extended data, in the order in which ties are broken.
const (
	edDFCM1a = iota
	edDFCM1b
	edDFCM3a
	edDFCM3b
	edL4Va
	edL4Vb
	edL4Vc
	edL4Vd
	edFCM1a
	edFCM1b
	edNone
)

// paperModel has the predictors of sections 3.3 and 4.4. A line has the most recent value
// first. The model takes 26 MB.
type paperModel struct {
	pcHash [3]uint32 // hashes of the last one, two and three PCs
	pcUses [pcNone]uint64
	edUses [edNone]uint64

	pcFCM1 [1 << pcFCM1Bits][2]uint32
	pcFCM3 [1 << pcFCM3Bits][2]uint32

	// First level, one line for each instruction.
	last     [1 << firstBits][4]uint64
	fcmHash  [1 << firstBits]uint32
	dfcmHash [1 << firstBits][3]uint32 // of the last one, two and three strides

	fcm1  [1 << fcm1Bits][2]uint64
	dfcm1 [1 << dfcm1Bits][2]uint64
	dfcm3 [1 << dfcm3Bits][2]uint64
}

// fold17 reduces v to n bits by exclusive or of its n-bit parts.
func fold17(v uint64) uint32 {
	return uint32(v^v>>17^v>>34^v>>51) & (1<<17 - 1)
}

func fold19(v uint64) uint32 {
	return uint32(v^v>>19^v>>38^v>>57) & (1<<19 - 1)
}

// advance adds a value, folded to 17 bits, to the hashes of orders one to three. A hash
// of order n is computed from the previous one of order n-1.
func advance(h *[3]uint32, folded uint32) {
	h[2] = h[1]<<1 ^ folded
	h[1] = h[0]<<1 ^ folded
	h[0] = folded
}

// updatePC adds the true PC to all tables.
func (m *paperModel) updatePC(l1, l3 *[2]uint32, pc uint32) {
	l1[1], l1[0] = l1[0], pc
	l3[1], l3[0] = l3[0], pc
	advance(&m.pcHash, fold17(uint64(pc)))
}

func (m *paperModel) linesPC() (l1, l3 *[2]uint32) {
	return &m.pcFCM1[m.pcHash[0]&(1<<pcFCM1Bits-1)], &m.pcFCM3[m.pcHash[2]&(1<<pcFCM3Bits-1)]
}

// lines are the lines that contain one instruction's predictions.
type lines struct {
	last     *[4]uint64
	fcmHash  *uint32
	dfcmHash *[3]uint32
	fcm1     *[2]uint64
	dfcm1    *[2]uint64
	dfcm3    *[2]uint64
}

func (m *paperModel) linesED(pc uint32) (l lines) {
	i := pc & (1<<firstBits - 1) // the PC modulo the table size
	l.last, l.fcmHash, l.dfcmHash = &m.last[i], &m.fcmHash[i], &m.dfcmHash[i]
	l.fcm1 = &m.fcm1[*l.fcmHash&(1<<fcm1Bits-1)]
	l.dfcm1 = &m.dfcm1[l.dfcmHash[0]&(1<<dfcm1Bits-1)]
	l.dfcm3 = &m.dfcm3[l.dfcmHash[2]&(1<<dfcm3Bits-1)]
	return l
}

// update adds the true extended data to all tables.
func (l *lines) update(ed uint64) {
	stride := ed - l.last[0]
	l.dfcm1[1], l.dfcm1[0] = l.dfcm1[0], stride
	l.dfcm3[1], l.dfcm3[0] = l.dfcm3[0], stride
	advance(l.dfcmHash, fold17(stride))
	l.fcm1[1], l.fcm1[0] = l.fcm1[0], ed
	*l.fcmHash = fold19(ed)
	*l.last = [4]uint64{ed, l.last[0], l.last[1], l.last[2]}
}

// predict returns the value of one predictor. id is not edNone.
func (l *lines) predict(id byte) uint64 {
	switch id {
	case edDFCM1a:
		return l.last[0] + l.dfcm1[0]
	case edDFCM1b:
		return l.last[0] + l.dfcm1[1]
	case edDFCM3a:
		return l.last[0] + l.dfcm3[0]
	case edDFCM3b:
		return l.last[0] + l.dfcm3[1]
	case edFCM1a:
		return l.fcm1[0]
	case edFCM1b:
		return l.fcm1[1]
	}
	return l.last[(id-edL4Va)&3]
}

// choose returns the predictor that is right about ed and was used most, the first one on
// a tie, or edNone.
func (l *lines) choose(ed uint64, uses *[edNone]uint64) byte {
	best, most := byte(edNone), uint64(0)
	base := l.last[0]
	try := func(id byte, v uint64) {
		if v == ed && (best == edNone || uses[id] > most) {
			best, most = id, uses[id]
		}
	}
	try(edDFCM1a, base+l.dfcm1[0])
	try(edDFCM1b, base+l.dfcm1[1])
	try(edDFCM3a, base+l.dfcm3[0])
	try(edDFCM3b, base+l.dfcm3[1])
	try(edL4Va, base)
	try(edL4Vb, l.last[1])
	try(edL4Vc, l.last[2])
	try(edL4Vd, l.last[3])
	try(edFCM1a, l.fcm1[0])
	try(edFCM1b, l.fcm1[1])
	return best
}

func choosePC(pc uint32, l1, l3 *[2]uint32, uses *[pcNone]uint64) byte {
	best, most := byte(pcNone), uint64(0)
	for id, v := range [pcNone]uint32{l1[0], l1[1], l3[0], l3[1]} {
		if v == pc && (best == pcNone || uses[id] > most) {
			best, most = byte(id), uses[id]
		}
	}
	return best
}

// encode predicts whole records and appends to the four streams.
func (m *paperModel) encode(records []byte, out *[numStreams][]byte) {
	pcIDs, pcs, edIDs, eds := out[0], out[1], out[2], out[3]
	for ; len(records) >= RecordSize; records = records[RecordSize:] {
		pc := binary.LittleEndian.Uint32(records)
		ed := binary.LittleEndian.Uint64(records[4:])

		l1, l3 := m.linesPC()
		id := choosePC(pc, l1, l3, &m.pcUses)
		pcIDs = append(pcIDs, id)
		if id == pcNone {
			pcs = binary.LittleEndian.AppendUint32(pcs, pc)
		} else {
			m.pcUses[id]++
		}
		m.updatePC(l1, l3, pc)

		l := m.linesED(pc)
		id = l.choose(ed, &m.edUses)
		edIDs = append(edIDs, id)
		if id == edNone {
			eds = binary.LittleEndian.AppendUint64(eds, ed)
		} else {
			m.edUses[id]++
		}
		l.update(ed)
	}
	*out = [numStreams][]byte{pcIDs, pcs, edIDs, eds}
}

// decode fills records from the streams, which contain exactly what they need. Use counts
// only matter to the encoder.
func (m *paperModel) decode(records []byte, in *[numStreams][]byte) {
	pcIDs, pcs, edIDs, eds := in[0], in[1], in[2], in[3]
	for i, id := range pcIDs {
		record := records[i*RecordSize : i*RecordSize+RecordSize]
		l1, l3 := m.linesPC()
		var pc uint32
		switch id {
		case pcFCM1a:
			pc = l1[0]
		case pcFCM1b:
			pc = l1[1]
		case pcFCM3a:
			pc = l3[0]
		case pcFCM3b:
			pc = l3[1]
		default:
			pc = binary.LittleEndian.Uint32(pcs)
			pcs = pcs[4:]
		}
		m.updatePC(l1, l3, pc)
		binary.LittleEndian.PutUint32(record, pc)

		l := m.linesED(pc)
		var ed uint64
		if id := edIDs[i]; id == edNone {
			ed = binary.LittleEndian.Uint64(eds)
			eds = eds[8:]
		} else {
			ed = l.predict(id)
		}
		l.update(ed)
		binary.LittleEndian.PutUint64(record[4:], ed)
	}
}

// paperEncoder is the engine of a Writer.
type paperEncoder struct {
	model   *paperModel
	packers [numStreams]packer
	streams [numStreams][]byte // of the current batch
}

func newPaperEncoder(opts Options) (*paperEncoder, error) {
	e := &paperEncoder{model: new(paperModel)}
	for i := range e.packers {
		var err error
		if e.packers[i], err = newPacker(opts.Post, opts.Level); err != nil {
			return nil, err
		}
	}
	return e, nil
}

func (e *paperEncoder) encode(records []byte) (made int, err error) {
	for i := range e.streams {
		e.streams[i] = e.streams[i][:0]
	}
	e.model.encode(records, &e.streams)
	for i, s := range e.streams {
		made += len(s)
		if _, err := e.packers[i].Write(s); err != nil {
			return made, fmt.Errorf("vpc3: post-compressor: %w", err)
		}
	}
	return made, nil
}

func (e *paperEncoder) cut(last bool) ([][]byte, error) {
	parts := make([][]byte, numStreams)
	for i, p := range e.packers {
		b, err := p.cut(last)
		if err != nil {
			return nil, fmt.Errorf("vpc3: post-compressor: %w", err)
		}
		parts[i] = b
	}
	return parts, nil
}

// paperDecoder is the engine of a Reader.
type paperDecoder struct {
	in      *wire.Reader
	model   *paperModel
	streams [numStreams]unpacker
	cuts    [numStreams][]byte
	buffers [numStreams][]byte // the data of a batch
}

func newPaperDecoder(in *wire.Reader, post Post) (*paperDecoder, error) {
	d := &paperDecoder{in: in, model: new(paperModel)}
	for i := range d.streams {
		var err error
		if d.streams[i], err = newUnpacker(post); err != nil {
			return nil, err
		}
	}
	return d, nil
}

func (d *paperDecoder) feed(lengths []uint64) error {
	for i, n := range lengths {
		if err := d.streams[i].settle(); err != nil {
			return d.damaged(i, err)
		}
		left := d.streams[i].left()
		if len(left) > maxLeft {
			return d.in.Fail(wire.ErrMalformed, "%d bytes of stream %d belong to no record", len(left), i)
		}
		var err error
		if d.cuts[i], err = d.in.Append(append(d.cuts[i][:0], left...), n); err != nil {
			return err
		}
		d.streams[i].feed(d.cuts[i])
	}
	return nil
}

func (d *paperDecoder) decode(records []byte) error {
	if err := d.need(len(records) / RecordSize); err != nil {
		return err
	}
	d.model.decode(records, &d.buffers)
	return nil
}

// need reads the data of n records from the streams.
func (d *paperDecoder) need(n int) error {
	for i, width := range [numStreams / 2]int{4, 8} {
		ids, none := 2*i, byte(pcNone)
		if i == 1 {
			none = edNone
		}
		if err := d.take(ids, n); err != nil {
			return err
		}
		missed := 0
		for _, id := range d.buffers[ids] {
			if id >= none {
				if id > none {
					return d.in.Fail(wire.ErrMalformed, "predictor %d in stream %d", id, ids)
				}
				missed++
			}
		}
		if err := d.take(ids+1, missed*width); err != nil {
			return err
		}
	}
	return nil
}

// take reads n bytes of a stream into its buffer.
func (d *paperDecoder) take(stream, n int) error {
	if cap(d.buffers[stream]) < n {
		d.buffers[stream] = make([]byte, max(n, batchRecords))
	}
	b := d.buffers[stream][:n]
	d.buffers[stream] = b
	if n == 0 {
		return nil
	}
	if _, err := io.ReadFull(d.streams[stream], b); err != nil {
		return d.damaged(stream, err)
	}
	return nil
}

func (d *paperDecoder) damaged(stream int, err error) error {
	return d.in.Fail(wire.ErrMalformed, "stream %d, in the chunk that ends here: %v", stream, err)
}

// maxLeft is the number of compressed bytes that a chunk may leave unread, as the marks
// of empty blocks.
const maxLeft = 64

func (d *paperDecoder) finish() error {
	for i, s := range d.streams {
		var b [1]byte
		if n, err := s.Read(b[:]); n != 0 || !errors.Is(err, io.EOF) {
			return d.damaged(i, errors.New("does not end with the trace"))
		}
	}
	return nil
}

func (d *paperDecoder) close() {
	for _, s := range d.streams {
		s.close()
	}
}
