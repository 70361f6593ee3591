package tracefmt

import (
	"runtime"
	"sync/atomic"

	"github.com/klauspost/compress/zstd"
)

// Part is a block for [Writer.AppendAll].
type Part struct {
	Kind    Kind
	Thread  uint32
	Payload func() []byte // called once, on any goroutine
}

// partsAtOnce is the number of payloads that exist at the same time in
// [Writer.AppendAll].
const partsAtOnce = 3

// AppendAll is [Writer.Append] for several blocks, in order. Two goroutines build the
// payloads and compress them. The second encoder takes some 35 MB, which the Writer keeps
// until it is closed.
func (w *Writer) AppendAll(parts []Part) error {
	if w.enc == nil || len(parts) < 2 || runtime.GOMAXPROCS(0) == 1 {
		for _, p := range parts {
			if err := w.Append(p.Kind, p.Thread, p.Payload()); err != nil {
				return err
			}
		}
		return nil
	}
	if w.second == nil {
		var err error
		if w.second, err = newEncoder(zstd.SpeedBestCompression); err != nil {
			return w.fail(err)
		}
	}
	ready := make([]chan *Packed, len(parts))
	for i := range ready {
		ready[i] = make(chan *Packed, 1)
	}
	var next atomic.Int64
	room := make(chan struct{}, partsAtOnce)
	for _, enc := range []*zstd.Encoder{w.enc, w.second} {
		go func() {
			for {
				room <- struct{}{}
				i := int(next.Add(1)) - 1
				if i >= len(parts) {
					<-room
					return
				}
				payload := parts[i].Payload()
				p := &Packed{raw: uint32(min(len(payload), MaxPayload+1))}
				if len(payload) <= MaxPayload {
					p.stored, p.codec = compress(enc, nil, payload)
				}
				ready[i] <- p
			}
		}()
	}
	var failed error
	for i, p := range parts {
		packed := <-ready[i] // also after an error, because the encoders must be idle on return
		<-room
		if failed == nil {
			failed = w.appendOpen(p.Kind, p.Thread, packed)
		}
	}
	return failed
}

// appendOpen is [Writer.Append] for a packed block of the open epoch.
func (w *Writer) appendOpen(kind Kind, thread uint32, p *Packed) error {
	if !kind.ofEpoch() {
		return errNoBlockHere(kind)
	}
	w.open++
	return w.appendPacked(kind, w.epoch, thread, p)
}

// appendPacked writes a packed block.
func (w *Writer) appendPacked(kind Kind, epoch, thread uint32, p *Packed) error {
	if err := w.admit(kind, int(p.raw)); err != nil {
		return err
	}
	var room [blockHeaderSize]byte
	w.buf = append(append(w.buf[:0], room[:]...), p.stored...)
	_, err := w.put(Handle{Kind: kind, Epoch: epoch, Thread: thread, Raw: p.raw, Codec: p.codec})
	return err
}
