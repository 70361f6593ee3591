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

	"hindsight/analyze/annotate"
	"hindsight/analyze/contention"
	"hindsight/analyze/report"
	"hindsight/analyze/sharing"
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
		Long: `view serves a page about a trace to this machine, at an address that it
prints, until it is interrupted. It has the races, ranked, with both call stacks
and both places in the source; a timeline of threads and strands; the source
with execution counts; what threads waited for; and, when the trace has values
(run --record wet, hindsight wet), who wrote a value and where it went.

-o FILE.html writes the same as one file that loads nothing from elsewhere, to
send or to keep beside a build. Of a long run it has less detail: the timeline
to a coarser resolution, and slices around the first races.

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
	flags.Var(&f.memory, "max-memory", "memory of the analysis: bytes, or with K, M or G")
	cli.CompleteDir(cmd, "source-dir")
	return cmd
}

func (f *viewFlags) run(ctx context.Context, std cli.Streams, file string) error {
	if err := outfile.Check(f.out, std.Besides(file)); err != nil {
		return err
	}
	v, err := openViewed(file)
	if err != nil {
		return err
	}
	defer v.close()
	page := view.New(f.data(std, v, file))
	if f.out != "" {
		return std.WriteTo(ctx, f.out, func(w io.Writer) error { return page.WriteFile(ctx, w) }, file)
	}
	return serveView(ctx, std, page)
}

// viewedObjects bounds the variables and locks in tables of a page.
const viewedObjects = 100

// data is what the page shows.
func (f *viewFlags) data(std cli.Streams, v *values, file string) view.Data {
	data := view.Data{
		Title: filepath.Base(file), Facts: view.Facts(v.trace, buildinfo.Version()), Sources: &annotate.Sources{Dirs: f.sources},
		Races: func(ctx context.Context) (*report.Report, error) {
			defer cli.Waiting(std.Err, "finding races")()
			return findRacesBy(ctx, v.trace, file, &inquiry{incomplete: true})
		},
	}
	if v.img == nil {
		return data
	}
	data.Trace, data.Image = v.trace, v.img
	data.Contention = func(ctx context.Context) (*contention.Report, error) {
		return findContention(ctx, v.trace, file, viewedObjects)
	}
	if summary, err := v.trace.ArchSummary(); err == nil && summary != nil {
		data.Sharing = func(ctx context.Context) (*sharing.Report, error) {
			return findSharing(ctx, v.trace, file, viewedObjects, 0)
		}
	}
	if v.graph == nil {
		return data
	}
	data.Slice = func(ctx context.Context, q view.Question) (*annotate.Report, error) {
		defer cli.Waiting(std.Err, "following dependences")()
		s := sliceFlags{at: fmt.Sprintf("%s:%d", q.File, q.Line), instance: q.Instance, direction: "backward", deps: "both", throughThreads: true, sort: "distance"}
		if q.Forward {
			s.direction = "forward"
		}
		opts, err := s.options()
		if err != nil {
			return nil, err
		}
		opts.Flow = v.flow
		rep := v.report(file, f.sources)
		if q.Race != nil {
			return rep, s.aroundRace(ctx, v, opts, q.Race, rep)
		}
		return rep, s.from(ctx, v, opts, rep)
	}
	return data
}

// slicePage shows a slice.
func slicePage(v *values, rep *annotate.Report) *view.Page {
	return view.New(view.Data{
		Title: rep.At + " in " + filepath.Base(rep.Info.File), Facts: view.Facts(v.trace, rep.Info.Version), Trace: v.trace, Image: v.img,
		Sources: rep.Sources, Asked: rep,
	})
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
