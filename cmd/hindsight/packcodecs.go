package main

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

	"hindsight/cmd/hindsight/sequitur"
	"hindsight/tracefmt/app"
	"hindsight/tracefmt/ldr"
	"hindsight/tracefmt/packed"
	"hindsight/tracefmt/vpc3"
)

// packFlags are the flags of `hindsight pack` that codecs look at.
type packFlags struct {
	codec   string
	format  string
	profile string
	post    string
	level   int
	header  int
	columns []int
	program string
	out     string
}

// packCodec is a codec that `hindsight pack` offers.
type packCodec struct {
	name  string
	about string
	// flags names the flags that mean something to it.
	flags []string
	// encode starts compressing. The parameters that it gives go into the head
	// of the container, for people;
	// the streams describe themselves.
	encode func(io.Writer, *packFlags) (io.WriteCloser, map[string]string, error)
	decode func(io.Reader) (io.ReadCloser, error)
}

// packCodecs are the codecs by name, in the order in which help lists them.
func packCodecs() []packCodec {
	return []packCodec{
		{
			name: "vpc3", about: "value predictors, four streams (VPC3): PC/ED records of 4+8 bytes",
			flags:  []string{"profile", "post", "level", "header"},
			encode: encodeVPC3,
			decode: func(r io.Reader) (io.ReadCloser, error) { return vpc3.NewReader(r) },
		}, {
			name: "ldr", about: "loop detection and reduction (LD&R): block leaders, 8-byte words",
			encode: func(w io.Writer, _ *packFlags) (io.WriteCloser, map[string]string, error) {
				z, err := ldr.NewWriter(w, ldr.Options{})
				return z, nil, err
			},
			decode: func(r io.Reader) (io.ReadCloser, error) { return ldr.NewReader(r) },
		}, {
			name: "app", about: "arithmetic program paths: leaders without data (--program)",
			flags:  []string{"profile", "program"},
			encode: encodeAPP,
			decode: func(r io.Reader) (io.ReadCloser, error) { return app.NewLeadersReader(r) },
		}, {
			name: "sequitur", about: "a grammar for each column of the records, values as terminals",
			flags:  []string{"columns"},
			encode: encodeSequitur,
			decode: func(r io.Reader) (io.ReadCloser, error) { return sequitur.NewReader(r) },
		}, {
			name: "zstd", about: "Zstandard, for comparison", flags: []string{"level"},
			encode: encodeZstd, decode: decodeZstd,
		}, {
			name: "bzip2", about: "bzip2 at its best level, for comparison",
			encode: func(w io.Writer, _ *packFlags) (io.WriteCloser, map[string]string, error) {
				z, err := dsbzip2.NewWriter(w, &dsbzip2.WriterConfig{Level: dsbzip2.BestCompression})
				return z, nil, err
			},
			decode: func(r io.Reader) (io.ReadCloser, error) { return io.NopCloser(bzip2.NewReader(r)), nil },
		}, {
			name: "gzip", about: "gzip at its best level, for comparison",
			encode: func(w io.Writer, _ *packFlags) (io.WriteCloser, map[string]string, error) {
				z, err := gzip.NewWriterLevel(w, gzip.BestCompression)
				return z, nil, err
			},
			decode: func(r io.Reader) (io.ReadCloser, error) { return gzip.NewReader(r) },
		}, {
			name: "store", about: "no compression: the container's checksums alone",
			encode: func(w io.Writer, _ *packFlags) (io.WriteCloser, map[string]string, error) {
				return writeNopCloser{w}, nil, nil
			},
			decode: func(r io.Reader) (io.ReadCloser, error) { return io.NopCloser(r), nil },
		},
	}
}

type writeNopCloser struct{ io.Writer }

func (writeNopCloser) Close() error { return nil }

func findCodec(name string) (packCodec, error) {
	all := packCodecs()
	i := slices.IndexFunc(all, func(c packCodec) bool { return c.name == name })
	if i < 0 {
		return packCodec{}, fmt.Errorf("unknown codec %q: want one of %s", name, strings.Join(codecNames(), ", "))
	}
	return all[i], nil
}

func codecNames() []string {
	var names []string
	for _, c := range packCodecs() {
		names = append(names, c.name)
	}
	return names
}

func encodeVPC3(w io.Writer, f *packFlags) (io.WriteCloser, map[string]string, error) {
	opts := vpc3.Options{Level: f.level, Header: f.header}
	var ok bool
	if opts.Profile, ok = vpc3.ParseProfile(f.profile); !ok {
		return nil, nil, fmt.Errorf("--profile %q: want one of %s", f.profile, strings.Join(vpc3.Profiles(), ", "))
	}
	if opts.Post, ok = vpc3.ParsePost(f.post); !ok {
		return nil, nil, fmt.Errorf("--post %q: want zstd, bzip2 or store", f.post)
	}
	params := map[string]string{"profile": f.profile, "header": strconv.Itoa(f.header)}
	if opts.Profile == vpc3.Paper {
		params["post"] = f.post
	}
	z, err := vpc3.NewWriter(w, opts)
	return z, params, err
}

func encodeSequitur(w io.Writer, f *packFlags) (io.WriteCloser, map[string]string, error) {
	z, err := sequitur.NewWriter(w, f.columns)
	return z, map[string]string{"columns": strings.Trim(strings.ReplaceAll(fmt.Sprint(f.columns), " ", "+"), "[]")}, err
}

func encodeZstd(w io.Writer, f *packFlags) (io.WriteCloser, map[string]string, error) {
	level := zstd.SpeedBestCompression
	if f.level != 0 {
		level = zstd.EncoderLevelFromZstd(f.level)
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

// textual puts the translation of lackey's text before a codec, when the trace
// is such text.
func textual(format string, w io.WriteCloser) io.WriteCloser {
	if format != "lackey" {
		return w
	}
	return lackeyWriter{encoder: newLackeyEncoder(w), codec: w}
}

// decodePacked starts the codec that a container names.
func decodePacked(h packed.Head, r io.Reader) (io.ReadCloser, error) {
	codec, err := findCodec(h.Codec)
	if err != nil {
		return nil, err
	}
	z, err := codec.decode(r)
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
