package codecs

import (
	"bytes"
	"errors"
	"io"

	"hindsight/tracefmt/rawtrace"
)

func newLackeyEncoder(w io.Writer) *rawtrace.LackeyEncoder { return rawtrace.NewLackeyEncoder(w) }

// lackeyWriter translates lackey's text to records for a codec.
type lackeyWriter struct {
	encoder *rawtrace.LackeyEncoder
	codec   io.WriteCloser
}

func (w lackeyWriter) Write(p []byte) (int, error) { return w.encoder.Write(p) }

func (w lackeyWriter) Close() error {
	if err := w.encoder.Close(); err != nil {
		return err
	}
	return w.codec.Close()
}

// lackeyReader translates the records of a codec to lackey's text.
type lackeyReader struct {
	codec   io.ReadCloser
	decoder *rawtrace.LackeyDecoder
	text    bytes.Buffer
	buf     []byte
	err     error
}

func newLackeyReader(codec io.ReadCloser) *lackeyReader {
	r := &lackeyReader{codec: codec, buf: make([]byte, 1<<15)}
	r.decoder = rawtrace.NewLackeyDecoder(&r.text)
	return r
}

func (r *lackeyReader) Read(p []byte) (int, error) {
	for r.text.Len() == 0 {
		if r.err != nil {
			return 0, r.err
		}
		n, err := r.codec.Read(r.buf)
		_, derr := r.decoder.Write(r.buf[:n])
		if errors.Is(err, io.EOF) && derr == nil {
			derr = r.decoder.Close()
		}
		if r.err = derr; derr == nil {
			r.err = err
		}
	}
	return r.text.Read(p)
}

func (r *lackeyReader) Close() error { return r.codec.Close() }
