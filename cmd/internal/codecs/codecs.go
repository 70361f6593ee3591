// Package codecs lists the codecs of raw traces by name: those of the
// trace-compression papers, and general compressors. `hindsight pack` offers
// them and `papertables` compares them.
package codecs

import (
	"compress/bzip2"
	"compress/gzip"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"

	dsbzip2 "github.com/dsnet/compress/bzip2"
	"github.com/klauspost/compress/zstd"

	"hindsight/cmd/internal/sequitur"
	"hindsight/tracefmt/app"
	"hindsight/tracefmt/ldr"
	"hindsight/tracefmt/packed"
	"hindsight/tracefmt/vpc3"
)

// Options are the options of all codecs. Each codec uses some of them; see [Codec.Flags].
type Options struct {
	Format  string // of the trace: raw or lackey
	Profile string // vpc3: set of predictors; app: paper or improved
	Post    string // vpc3: compressor of the streams
	Level   int    // of zstd, 1 to 22; 0: a good one
	Header  int    // vpc3: bytes before the first record
	Columns []int  // sequitur: widths in bytes of the columns of a record
	Program string // app: the ELF file that was traced; "": none
}

// Codec is a way to compress a raw trace.
type Codec struct {
	Name  string
	About string // a line for people
	// Flags are the names of the options that the codec uses.
	Flags []string
	// Encode starts compressing. The returned parameters are stored in the head of the
	// container for people. The streams describe themselves.
	Encode func(io.Writer, *Options) (io.WriteCloser, map[string]string, error)
	Decode func(io.Reader) (io.ReadCloser, error)
}

// All returns the codecs in the order of the help text.
func All() []Codec {
	return []Codec{
		{
			Name: "vpc3", About: "value predictors, four streams (VPC3): PC/ED records of 4+8 bytes",
			Flags:  []string{"profile", "post", "level", "header"},
			Encode: encodeVPC3,
			Decode: func(r io.Reader) (io.ReadCloser, error) { return vpc3.NewReader(r) },
		}, {
			Name: "ldr", About: "loop detection and reduction (LD&R): block leaders, 8-byte words",
			Encode: func(w io.Writer, _ *Options) (io.WriteCloser, map[string]string, error) {
				z, err := ldr.NewWriter(w, ldr.Options{})
				return z, nil, err
			},
			Decode: func(r io.Reader) (io.ReadCloser, error) { return ldr.NewReader(r) },
		}, {
			Name: "app", About: "arithmetic program paths: leaders without data (--program)",
			Flags:  []string{"profile", "program"},
			Encode: encodeAPP,
			Decode: func(r io.Reader) (io.ReadCloser, error) { return app.NewLeadersReader(r) },
		}, {
			Name: "sequitur", About: "a grammar for each column of the records, values as terminals",
			Flags:  []string{"columns"},
			Encode: encodeSequitur,
			Decode: func(r io.Reader) (io.ReadCloser, error) { return sequitur.NewReader(r) },
		}, {
			Name: "zstd", About: "Zstandard, for comparison", Flags: []string{"level"},
			Encode: EncodeZstd, Decode: decodeZstd,
		}, {
			Name: "bzip2", About: "bzip2 at its best level, for comparison",
			Encode: func(w io.Writer, _ *Options) (io.WriteCloser, map[string]string, error) {
				z, err := dsbzip2.NewWriter(w, &dsbzip2.WriterConfig{Level: dsbzip2.BestCompression})
				return z, nil, err
			},
			Decode: func(r io.Reader) (io.ReadCloser, error) { return io.NopCloser(bzip2.NewReader(r)), nil },
		}, {
			Name: "gzip", About: "gzip at its best level, for comparison",
			Encode: func(w io.Writer, _ *Options) (io.WriteCloser, map[string]string, error) {
				z, err := gzip.NewWriterLevel(w, gzip.BestCompression)
				return z, nil, err
			},
			Decode: func(r io.Reader) (io.ReadCloser, error) { return gzip.NewReader(r) },
		}, {
			Name: "store", About: "no compression: the container's checksums alone",
			Encode: func(w io.Writer, _ *Options) (io.WriteCloser, map[string]string, error) {
				return writeNopCloser{w}, nil, nil
			},
			Decode: func(r io.Reader) (io.ReadCloser, error) { return io.NopCloser(r), nil },
		},
	}
}

type writeNopCloser struct{ io.Writer }

func (writeNopCloser) Close() error { return nil }

// Find returns the codec of that name.
func Find(name string) (Codec, error) {
	all := All()
	i := slices.IndexFunc(all, func(c Codec) bool { return c.Name == name })
	if i < 0 {
		return Codec{}, fmt.Errorf("unknown codec %q: want one of %s", name, strings.Join(Names(), ", "))
	}
	return all[i], nil
}

// Names returns the names of all codecs.
func Names() []string {
	var names []string
	for _, c := range All() {
		names = append(names, c.Name)
	}
	return names
}

func encodeVPC3(w io.Writer, f *Options) (io.WriteCloser, map[string]string, error) {
	opts := vpc3.Options{Level: f.Level, Header: f.Header}
	var ok bool
	if opts.Profile, ok = vpc3.ParseProfile(f.Profile); !ok {
		return nil, nil, fmt.Errorf("--profile %q: want one of %s", f.Profile, strings.Join(vpc3.Profiles(), ", "))
	}
	if opts.Post, ok = vpc3.ParsePost(f.Post); !ok {
		return nil, nil, fmt.Errorf("--post %q: want zstd, bzip2 or store", f.Post)
	}
	params := map[string]string{"profile": f.Profile, "header": strconv.Itoa(f.Header)}
	if opts.Profile == vpc3.Paper {
		params["post"] = f.Post
	}
	z, err := vpc3.NewWriter(w, opts)
	return z, params, err
}

func encodeSequitur(w io.Writer, f *Options) (io.WriteCloser, map[string]string, error) {
	z, err := sequitur.NewWriter(w, f.Columns)
	return z, map[string]string{"columns": strings.Trim(strings.ReplaceAll(fmt.Sprint(f.Columns), " ", "+"), "[]")}, err
}

// EncodeZstd starts Zstandard in one goroutine.
func EncodeZstd(w io.Writer, f *Options) (io.WriteCloser, map[string]string, error) {
	level := zstd.SpeedBestCompression
	if f.Level != 0 {
		level = zstd.EncoderLevelFromZstd(f.Level)
	}
	z, err := zstd.NewWriter(w, zstd.WithEncoderLevel(level), zstd.WithEncoderConcurrency(1), zstd.WithZeroFrames(true))
	return z, nil, err
}

func decodeZstd(r io.Reader) (io.ReadCloser, error) {
	z, err := zstd.NewReader(r, zstd.WithDecoderConcurrency(1), zstd.WithDecoderMaxWindow(64<<20), zstd.WithDecoderMaxMemory(128<<20))
	if err != nil {
		return nil, err
	}
	return z.IOReadCloser(), nil
}

// Textual adds the translation of lackey's text in front of a codec, if the trace is such
// text.
func Textual(format string, w io.WriteCloser) io.WriteCloser {
	if format != "lackey" {
		return w
	}
	return lackeyWriter{encoder: newLackeyEncoder(w), codec: w}
}

// DecodePacked starts the codec that a container names.
func DecodePacked(h packed.Head, r io.Reader) (io.ReadCloser, error) {
	codec, err := Find(h.Codec)
	if err != nil {
		return nil, err
	}
	z, err := codec.Decode(r)
	if err != nil {
		return nil, err
	}
	switch format := h.Params["format"]; format {
	case "", "raw":
		return z, nil
	case "lackey":
		return newLackeyReader(z), nil
	default:
		return nil, fmt.Errorf("unknown trace format %q", format)
	}
}
