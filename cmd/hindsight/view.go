package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"path/filepath"
	"time"

	"github.com/spf13/cobra"

	"hindsight/analyze"
	"hindsight/analyze/annotate"
	"hindsight/analyze/contention"
	"hindsight/analyze/report"
	"hindsight/analyze/sharing"
	"hindsight/analyze/slice"
	"hindsight/analyze/std"
	"hindsight/analyze/view"
	"hindsight/cmd/internal/cli"
	"hindsight/tracefmt/buildinfo"
	"hindsight/tracefmt/outfile"
)

// viewFlags are the flags of `hindsight view`.
type viewFlags struct {
	out     string
	sources []string
	memory  byteSize
}

func newView(std cli.Streams) *cobra.Command {
	f := viewFlags{memory: defaultAnalysisMemory}
	cmd := &cobra.Command{
		Use:   "view [flags] TRACE",
		Short: "Show a trace in the browser",
		Long: `view serves a page about a trace on this machine, at an address that it prints,
until it is interrupted. The page shows the races, ranked, with both call stacks
and both places in the source; a timeline of threads and strands; the source
with execution counts; and what threads waited for. If the trace has values (run
--record wet, hindsight wet), it also shows who wrote a value and where the
value went.

-o FILE.html writes the page as a single file that loads nothing from elsewhere,
to send or to keep with a build. For a long run this file has less detail: a
coarser timeline, and slices only around the first races.

A link that ends in #R3 opens race R3. The ? on the page lists the keys.`,
		Example: `  hindsight view bank.hst
  hindsight view --source-dir src bank.hst
  hindsight view -o bank.html bank.hst`,
		Args:              cobra.ExactArgs(1),
		ValidArgsFunction: completeTrace,
		RunE: func(cmd *cobra.Command, args []string) error {
			ctx, stop := f.memory.within(cmd.Context())
			defer stop()
			if err := f.run(ctx, std, args[0]); err != nil {
				return fmt.Errorf("%s: %w", args[0], err)
			}
			return nil
		},
	}
	flags := cmd.Flags()
	flags.StringVarP(&f.out, "output", "o", "", "write the page to `FILE` instead of serving it")
	flags.StringArrayVar(&f.sources, "source-dir", nil, "`DIR` to look for source files in; may be repeated")
	flags.Var(&f.memory, "max-memory", "memory for the analysis: bytes, or with K, M or G")
	cli.CompleteDir(cmd, "source-dir")
	return cmd
}

func (f *viewFlags) run(ctx context.Context, std cli.Streams, file string) error {
	if err := outfile.Check(f.out, std.Besides(file)); err != nil {
		return err
	}
	t, err := openTrace(ctx, std, file, withValues, nil)
	if err != nil {
		return err
	}
	defer t.Close()
	if err := t.HasRun(); err != nil {
		return err
	}
	data, err := f.data(std, t)
	if err != nil {
		return err
	}
	page := view.New(*data)
	if f.out != "" {
		return std.WriteTo(ctx, f.out, func(w io.Writer) error { return page.WriteFile(ctx, w) }, file)
	}
	return serveView(ctx, std, page)
}

// viewedObjects bounds the variables and locks in tables of a page.
const viewedObjects = 100

// data is what the page shows.
func (f *viewFlags) data(stdio cli.Streams, t *analyze.Trace) (*view.Data, error) {
	data := &view.Data{
		Title: filepath.Base(t.Name()), Facts: view.Facts(t.Recorded(), buildinfo.Version()), Sources: &annotate.Sources{Dirs: f.sources},
		Races: func(ctx context.Context) (*report.Report, error) {
			defer cli.Waiting(stdio.Err, "finding races")()
			return t.Races(ctx, analyze.RaceOptions{})
		},
	}
	names, err := std.ImportedNames(t.Recorded())
	if err != nil || names != nil {
		return data, err // of an imported run there is no program
	}
	img, err := t.Program()
	if err != nil {
		return nil, err
	}
	data.Trace, data.Image = t.Recorded(), img
	data.Contention = func(ctx context.Context) (*contention.Report, error) {
		return t.Contention(ctx, analyze.ContentionOptions{Top: viewedObjects})
	}
	if summary, err := t.Recorded().ArchSummary(); err == nil && summary != nil {
		data.Sharing = func(ctx context.Context) (*sharing.Report, error) {
			return t.Sharing(ctx, analyze.SharingOptions{Top: viewedObjects})
		}
	}
	var none *analyze.NoValuesError
	if _, err := t.HasValues(); errors.As(err, &none) {
		return data, nil
	} else if err != nil {
		return nil, err
	}
	data.Slice = func(ctx context.Context, q view.Question) (*annotate.Report, error) {
		defer cli.Waiting(stdio.Err, "following dependences")()
		o := analyze.SliceOptions{Instance: q.Instance, Around: q.Race, SourceDirs: f.sources}
		if q.Race == nil {
			o.At = fmt.Sprintf("%s:%d", q.File, q.Line)
		}
		if q.Forward {
			o.Direction = slice.Forward
		}
		return t.Slice(ctx, o)
	}
	return data, nil
}

// slicePage shows a slice.
func slicePage(t *analyze.Trace, rep *annotate.Report) (*view.Page, error) {
	img, err := t.Program()
	if err != nil {
		return nil, err
	}
	return view.New(view.Data{
		Title: rep.At + " in " + filepath.Base(rep.Info.File), Facts: view.Facts(t.Recorded(), rep.Info.Version), Trace: t.Recorded(), Image: img,
		Sources: rep.Sources, Asked: rep,
	}), nil
}

// serveView serves a page until ctx ends.
func serveView(ctx context.Context, std cli.Streams, page *view.Page) error {
	token := view.Token()
	handler, err := page.Handler(token)
	if err != nil {
		return err
	}
	listener, err := (&net.ListenConfig{}).Listen(ctx, "tcp", "127.0.0.1:0")
	if err != nil {
		return err
	}
	const patience = 10 * time.Second // with a browser that says nothing
	server := &http.Server{Handler: handler, ReadHeaderTimeout: patience, BaseContext: func(net.Listener) context.Context { return ctx }}
	defer context.AfterFunc(ctx, func() { server.Close() })()
	fmt.Fprintf(std.Out, "http://%s/%s/\n", listener.Addr(), token)
	fmt.Fprintln(std.Err, "hindsight: the page is at the address above, for this machine only; interrupt (Ctrl-C) to stop")
	go func() { _, _ = page.Answer(ctx, "races") }() // the first question, asked before the browser does
	if err := server.Serve(listener); !errors.Is(err, http.ErrServerClosed) {
		return err
	}
	page.Close()
	return nil
}
