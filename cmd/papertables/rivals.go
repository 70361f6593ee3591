package main

import (
	"compress/gzip"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strings"
	"time"

	"hindsight/cmd/internal/codecs"
)

// rival is a compressor in a comparison: a program if it is installed, or else a codec of
// this program.
type rival struct {
	name string // as in the tables
	// Words of the programs that compress and decompress standard input.
	compress, decompress []string
	codec                string         // of pack; "" if only the program will do
	flags                codecs.Options // of the codec
	program              bool           // the program is installed
}

func gzipRival(level string) rival {
	return rival{name: "gzip " + level, compress: []string{"gzip", level, "-c"}, decompress: []string{"gzip", "-dc"}, codec: "gzip"}
}

func bzip2Rival() rival {
	return rival{name: "bzip2 -9", compress: []string{"bzip2", "-9", "-c"}, decompress: []string{"bzip2", "-dc"}, codec: "bzip2"}
}

func xzRival() rival {
	return rival{name: "xz -9", compress: []string{"xz", "-9", "-T1", "-c"}, decompress: []string{"xz", "-dc"}}
}

func zstdRival(flags ...string) rival {
	return rival{
		name:       strings.Join(append([]string{"zstd"}, flags...), " "),
		compress:   append([]string{"zstd", "-q", "-T1", "-c"}, flags...),
		decompress: []string{"zstd", "-q", "-dc", "--long=27"},
		codec:      "zstd", flags: codecs.Options{Level: 22},
	}
}

// packRival returns a codec of this program.
func packRival(name, codec string, flags codecs.Options) rival {
	return rival{name: name, codec: codec, flags: flags}
}

// find looks for the programs. The note says what replaces a missing one.
func (r *rival) find() (note string) {
	if len(r.compress) == 0 {
		return ""
	}
	if _, err := exec.LookPath(r.compress[0]); err == nil {
		r.program = true
		return ""
	}
	if r.codec == "" {
		return r.name + " is not installed: its column is empty."
	}
	return fmt.Sprintf("%s is not installed: the Go codec at its best level replaces it.", r.name)
}

// there reports whether the rival can take part.
func (r *rival) there() bool { return r.program || r.codec != "" }

// pack compresses src and returns the processor time it took.
func (r *rival) pack(ctx context.Context, dst io.Writer, src io.Reader) (time.Duration, error) {
	if r.program {
		return filter(ctx, r.compress, dst, src)
	}
	return timed(func() error {
		var z io.WriteCloser
		var err error
		if r.codec == "gzip" && strings.HasSuffix(r.name, "-6") {
			z, err = gzip.NewWriterLevel(dst, gzip.DefaultCompression)
		} else {
			var codec codecs.Codec
			if codec, err = codecs.Find(r.codec); err == nil {
				z, _, err = codec.Encode(dst, &r.flags)
			}
		}
		if err != nil {
			return err
		}
		if err := copyContext(ctx, z, src); err != nil {
			return err
		}
		return z.Close()
	})
}

// unpack decompresses src and returns the processor time it took.
func (r *rival) unpack(ctx context.Context, dst io.Writer, src io.Reader) (time.Duration, error) {
	if r.program {
		return filter(ctx, r.decompress, dst, src)
	}
	return timed(func() error {
		codec, err := codecs.Find(r.codec)
		if err != nil {
			return err
		}
		z, err := codec.Decode(src)
		if err != nil {
			return err
		}
		defer z.Close()
		return copyContext(ctx, dst, z)
	})
}

// filter runs a program between two streams.
func filter(ctx context.Context, words []string, dst io.Writer, src io.Reader) (time.Duration, error) {
	cmd := exec.CommandContext(ctx, words[0], words[1:]...)
	var said strings.Builder
	cmd.Stdin, cmd.Stdout, cmd.Stderr = src, dst, &said
	if err := cmd.Run(); err != nil {
		return 0, fmt.Errorf("%s: %w: %s", strings.Join(words, " "), err, strings.TrimSpace(said.String()))
	}
	return cmd.ProcessState.UserTime() + cmd.ProcessState.SystemTime(), nil
}

// timed measures the processor time of work if that is known, and otherwise the wall
// time.
func timed(work func() error) (time.Duration, error) {
	wall := time.Now()
	start, ok := cpuTime()
	err := work()
	if end, _ := cpuTime(); ok {
		return end - start, err
	}
	return time.Since(wall), err
}

// copyContext is io.Copy that can be interrupted.
func copyContext(ctx context.Context, dst io.Writer, src io.Reader) error {
	buf := make([]byte, 1<<18)
	for {
		if err := ctx.Err(); err != nil {
			return err
		}
		n, err := src.Read(buf)
		if n > 0 {
			if _, werr := dst.Write(buf[:n]); werr != nil {
				return werr
			}
		}
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return err
		}
	}
}

// byteCount counts the bytes that are written to it.
type byteCount int64

func (c *byteCount) Write(p []byte) (int, error) {
	*c += byteCount(len(p))
	return len(p), nil
}

// measured is the result of a rival on a trace.
type measured struct {
	ratio            float64
	packMB, unpackMB float64 // 10⁶ bytes of the raw trace a second
}

// measure compresses and decompresses a file with a rival.
func (r *rival) measure(ctx context.Context, file, scratch string) (m measured, err error) {
	raw, err := os.Open(file)
	if err != nil {
		return m, err
	}
	defer raw.Close()
	st, err := raw.Stat()
	if err != nil {
		return m, err
	}
	out, err := os.Create(scratch)
	if err != nil {
		return m, err
	}
	defer out.Close()
	size := new(byteCount)
	packed, err := r.pack(ctx, io.MultiWriter(out, size), raw)
	if err != nil {
		return m, err
	}
	if _, err := out.Seek(0, io.SeekStart); err != nil {
		return m, err
	}
	back := new(byteCount)
	unpacked, err := r.unpack(ctx, back, out)
	if err != nil {
		return m, err
	}
	if int64(*back) != st.Size() {
		return m, fmt.Errorf("%s restored %d bytes of %d", r.name, *back, st.Size())
	}
	mb := float64(st.Size()) / mega
	return measured{
		ratio:    float64(st.Size()) / float64(*size),
		packMB:   mb / max(packed.Seconds(), 1e-3),
		unpackMB: mb / max(unpacked.Seconds(), 1e-3),
	}, nil
}
