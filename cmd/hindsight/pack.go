package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"hindsight/cmd/internal/cli"
	"hindsight/cmd/internal/codecs"
	"hindsight/tracefmt/numtext"
	"hindsight/tracefmt/outfile"
	"hindsight/tracefmt/packed"
)

// packSuffix ends the names of packed traces.
const packSuffix = ".hpk"

// packFlags are the flags of `hindsight pack`.
type packFlags struct {
	codecs.Options
	codec string
	out   string
}

var packFormats = []string{"raw", "lackey"}

func newPack(std cli.Streams) *cobra.Command {
	var f packFlags
	var about strings.Builder
	for _, c := range codecs.All() {
		fmt.Fprintf(&about, "  %-9s %s\n", c.Name, c.About)
	}
	cmd := &cobra.Command{
		Use:   "pack [flags] [FILE]",
		Short: "Compress a raw trace with one of the papers' codecs",
		Long: `pack compresses the raw trace FILE (docs/raw-formats.md) to FILE.hpk. When FILE
is - or absent, it compresses standard input to standard output. unpack returns
exactly the same bytes; the container has their length and checksum. Both use
bounded memory and work in pipes.

Codecs:
` + about.String(),
		Example: `  hindsight pack --codec vpc3 stores.pced            # stores.pced.hpk
  valgrind --tool=lackey --trace-mem=yes --log-fd=1 ./a.out |
      hindsight pack --format lackey -o a.hpk         # text, kept to the byte
  hindsight unpack a.hpk | less`,
		Args: cobra.MaximumNArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			return f.pack(cmd, std, firstArg(args))
		},
	}
	flags := cmd.Flags()
	flags.StringVar(&f.codec, "codec", "vpc3", "codec: "+strings.Join(codecs.Names(), ", "))
	flags.StringVar(&f.Format, "format", "raw", "format of FILE: raw (binary), or lackey (Valgrind's text, packed as PC/ED records)")
	flags.StringVar(&f.Profile, "profile", "paper", "vpc3: set of predictors; app: paper, or improved")
	flags.StringVar(&f.Post, "post", "zstd", "vpc3: compressor of the streams: zstd, bzip2, store")
	flags.IntVar(&f.Level, "level", 0, "vpc3, zstd: level of zstd, 1 to 22 (0: choose a good one)")
	flags.IntVar(&f.Header, "header", 0, "vpc3: bytes before the first record")
	flags.IntSliceVar(&f.Columns, "columns", []int{4, 8}, "sequitur: widths of a record's columns in bytes")
	flags.StringVarP(&f.out, "output", "o", "", "packed `FILE`, - for standard output")
	flags.StringVar(&f.Program, "program", "", "app: the ELF `FILE` that was traced; unpack does not need it")
	cli.Complete(cmd, "codec", codecs.Names()...)
	cli.Complete(cmd, "format", packFormats...)
	return cmd
}

func firstArg(args []string) string {
	if len(args) == 0 {
		return "-"
	}
	return args[0]
}

func (f *packFlags) pack(cmd *cobra.Command, std cli.Streams, file string) error {
	codec, err := codecs.Find(f.codec)
	if err != nil {
		return err
	}
	if err := cli.CheckFormat(f.Format, packFormats...); err != nil {
		return err
	}
	for _, name := range []string{"profile", "post", "level", "header", "columns", "program"} {
		if cmd.Flags().Changed(name) && !strings.Contains(" "+strings.Join(codec.Flags, " ")+" ", " "+name+" ") {
			return fmt.Errorf("--%s has no meaning for codec %s", name, codec.Name)
		}
	}
	if f.Level < 0 || f.Level > 22 {
		return fmt.Errorf("--level %d: want 0 to 22", f.Level)
	}
	job := &packJob{std: std, in: file, out: f.out}
	if f.out == "" && file != "-" {
		job.out = file + packSuffix
	}
	return job.run(cmd.Context(), func(in io.Reader, out io.Writer) error {
		// The codec starts first, because the head contains its parameters. Its output
		// waits in the forwarder.
		to := new(forwarder)
		z, params, err := codec.Encode(to, &f.Options)
		if err != nil {
			return err
		}
		if params == nil {
			params = map[string]string{}
		}
		params["format"] = f.Format
		w, err := packed.NewWriter(out, packed.Head{Codec: codec.Name, Params: params}, func(frames io.Writer) (io.WriteCloser, error) {
			return codecs.Textual(f.Format, z), to.start(frames)
		})
		if err != nil {
			return err
		}
		if err := job.copy(cmd.Context(), w, in, "packed"); err != nil {
			return err
		}
		if err := w.Close(); err != nil {
			return err
		}
		job.summary(w.Length(), w.Size())
		return nil
	})
}

// forwarder keeps what is written to it until it has a destination.
type forwarder struct {
	early []byte
	to    io.Writer
}

func (f *forwarder) Write(p []byte) (int, error) {
	if f.to == nil {
		f.early = append(f.early, p...)
		return len(p), nil
	}
	return f.to.Write(p)
}

func (f *forwarder) start(to io.Writer) error {
	f.to = to
	_, err := to.Write(f.early)
	f.early = nil
	return err
}

func newUnpack(std cli.Streams) *cobra.Command {
	var out string
	var test bool
	cmd := &cobra.Command{
		Use:   "unpack [flags] [FILE]",
		Short: "Restore a raw trace that pack compressed",
		Long: `unpack writes the raw trace that FILE was packed from, to standard output or to
the file of -o. It reads standard input when FILE is - or absent. If the input
is damaged, unpack ends with an error and leaves no file. --test only checks.`,
		Example: `  hindsight unpack -o stores.pced stores.pced.hpk
  hindsight unpack --test *.hpk`,
		RunE: func(cmd *cobra.Command, args []string) error {
			if len(args) == 0 {
				args = []string{"-"}
			}
			if len(args) > 1 && !test {
				return errors.New("only one FILE can be unpacked at a time")
			}
			for _, file := range args {
				job := &packJob{std: std, in: file, out: out, discard: test, text: true}
				if err := job.run(cmd.Context(), func(in io.Reader, out io.Writer) error { return job.unpack(cmd.Context(), in, out) }); err != nil {
					return err
				}
			}
			return nil
		},
	}
	cmd.Flags().StringVarP(&out, "output", "o", "", "raw `FILE` (default standard output)")
	cmd.Flags().BoolVar(&test, "test", false, "write nothing, only check")
	return cmd
}

func (j *packJob) unpack(ctx context.Context, in io.Reader, out io.Writer) error {
	r, err := packed.NewReader(in, codecs.DecodePacked)
	if err != nil {
		return err
	}
	defer r.Close()
	return j.copy(ctx, out, r, "unpacked")
}

// packJob packs or unpacks one file.
type packJob struct {
	std     cli.Streams
	in, out string   // - or, for out, empty: a standard stream
	reads   []string // further files that work reads
	discard bool     // only read
	text    bool     // the output may go to a terminal
}

// run opens the input and the output. An output file gets its name only when it is
// complete.
func (j *packJob) run(ctx context.Context, work func(in io.Reader, out io.Writer) error) (err error) {
	in, out := j.std.In, j.std.Out
	if j.in != "-" {
		f, err := os.Open(j.in)
		if err != nil {
			return err
		}
		defer f.Close()
		in = f
	}
	defer func() {
		if err != nil && j.in != "-" {
			err = fmt.Errorf("%s: %w", j.in, err)
		}
	}()
	switch {
	case j.discard:
		return work(in, io.Discard)
	case j.out == "" || j.out == "-":
		if !j.text && cli.IsTerminal(out) {
			return errors.New("packed data is not written to a terminal: give -o FILE")
		}
		return work(in, out)
	}
	return outfile.Write(ctx, j.out, j.std.Besides(append(j.reads, j.in)...), func(out io.Writer) error { return work(in, out) })
}

// copy copies everything, and shows its progress on a terminal.
func (j *packJob) copy(ctx context.Context, dst io.Writer, src io.Reader, verb string) error {
	watched := cli.IsTerminal(j.std.Err)
	buf := make([]byte, 1<<18)
	var done int64
	next := time.Now().Add(time.Second / 2)
	for {
		if err := ctx.Err(); err != nil {
			return err
		}
		n, err := src.Read(buf)
		if n > 0 {
			if _, werr := dst.Write(buf[:n]); werr != nil {
				return werr
			}
			done += int64(n)
		}
		if watched && time.Now().After(next) {
			fmt.Fprintf(j.std.Err, "\r\x1b[K%s %s", verb, numtext.Bytes(done))
			next = time.Now().Add(time.Second / 4)
		}
		if err != nil {
			if watched {
				fmt.Fprint(j.std.Err, "\r\x1b[K")
			}
			if errors.Is(err, io.EOF) {
				return nil
			}
			return err
		}
	}
}

// summary prints the result on standard error, if that is a terminal.
func (j *packJob) summary(raw uint64, size int64) {
	if !cli.IsTerminal(j.std.Err) || size == 0 {
		return
	}
	fmt.Fprintf(j.std.Err, "hindsight: %s became %s, ratio %.1f\n", numtext.Bytes(int64(raw)), numtext.Bytes(size), float64(raw)/float64(size))
}
