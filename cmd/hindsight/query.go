package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"path"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"hindsight/analyze/slice"
	"hindsight/cmd/internal/cli"
	"hindsight/mpsim/image"
	"hindsight/tracefmt/event"
	"hindsight/wet"
)

// queryKinds are the questions, and the flags that each has besides those of
// all.
var queryKinds = []struct {
	name  string
	flags []string
}{
	{"cf", []string{"from", "backward"}},
	{"values", []string{"at"}},
	{"addrs", []string{"at"}},
	{"writes", []string{"to", "size"}},
}

// queryFlags are the flags of `hindsight query`.
type queryFlags struct {
	thread   string
	from     int64
	backward bool
	at       string
	to       string
	size     uint64
	limit    uint64
	out      string
}

func newQuery(std cli.Streams) *cobra.Command {
	var f queryFlags
	cmd := &cobra.Command{
		Use:   "query TRACE cf|values|addrs|writes [flags]",
		Short: "Ask a trace with values what happened, step by step",
		Long: `query reads what a run did that was recorded with values (run --record wet, or
hindsight wet). The answer is lines of columns separated by tabs, in the order
of the run:

  cf      the paths that a thread executed: thread, time (the number of the path
          execution), how often it had executed that path before, addresses of
          the path's basic blocks, place in the source
  values  what a place left in registers: thread, time, value, address of the
          instruction, place
  addrs   what a place accessed: thread, time, address, bytes, what is there,
          address of the instruction, place
  writes  who wrote a variable or an address: thread, time, address, bytes,
          value (- where the trace does not have it), address of the
          instruction, place

` + specHelp,
		Example: `  hindsight query bank.wet.hst cf --thread 1 --from 500 --backward --limit 20
  hindsight query bank.wet.hst values --at bank.c:62 --thread T2
  hindsight query bank.wet.hst addrs --at transfer
  hindsight query bank.wet.hst writes --to balance+16`,
		Args: cobra.ExactArgs(2),
		ValidArgsFunction: func(cmd *cobra.Command, args []string, word string) ([]string, cobra.ShellCompDirective) {
			if len(args) == 1 {
				return queryNames(), cobra.ShellCompDirectiveNoFileComp
			}
			return completeTrace(cmd, args, word)
		},
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := f.check(cmd, args[1]); err != nil {
				return err
			}
			return f.answer(cmd.Context(), std, args[0], args[1])
		},
	}
	flags := cmd.Flags()
	flags.StringVar(&f.thread, "thread", "", "only of thread `T`, as 2 or T2")
	flags.Int64Var(&f.from, "from", -1, "cf: begin at this `TIME` of the thread (default its first, with --backward its last)")
	flags.BoolVar(&f.backward, "backward", false, "cf: go back in time")
	flags.StringVar(&f.at, "at", "", "values, addrs: `SPEC` of the place")
	flags.StringVar(&f.to, "to", "", "writes: `SPEC` of the variable or address")
	flags.Uint64Var(&f.size, "size", 0, "writes: `BYTES` from there on (default those of the variable)")
	flags.Uint64Var(&f.limit, "limit", 0, "so many lines at most (0: all)")
	flags.StringVarP(&f.out, "output", "o", "", "write to `FILE`")
	return cmd
}

func queryNames() (names []string) {
	for _, k := range queryKinds {
		names = append(names, k.name)
	}
	return names
}

// check finds flags that are of another question, or missing.
func (f *queryFlags) check(cmd *cobra.Command, kind string) error {
	at := slices.Index(queryNames(), kind)
	if at < 0 {
		return fmt.Errorf("query %q: want one of %s", kind, strings.Join(queryNames(), ", "))
	}
	for _, k := range queryKinds {
		for _, flag := range k.flags {
			if cmd.Flags().Changed(flag) && !slices.Contains(queryKinds[at].flags, flag) {
				return fmt.Errorf("--%s is for query %s, not for %s", flag, k.name, kind)
			}
		}
	}
	switch {
	case (kind == "values" || kind == "addrs") && f.at == "":
		return fmt.Errorf("query %s needs a place: --at SPEC", kind)
	case kind == "writes" && f.to == "":
		return errors.New("query writes needs a variable or an address: --to SPEC")
	}
	return nil
}

// answer opens the trace and writes the answer.
func (f *queryFlags) answer(ctx context.Context, std cli.Streams, file, kind string) error {
	v, err := openValues(file)
	if err != nil {
		return fmt.Errorf("%s: %w", file, err)
	}
	defer v.close()
	err = std.WriteTo(ctx, f.out, func(w io.Writer) error {
		l := &lines{Writer: bufio.NewWriterSize(w, 64<<10), ctx: ctx, limit: f.limit, img: v.img, names: map[uint64]string{}}
		err := f.ask(v, l, kind)
		if errors.Is(err, errEnough) {
			err = nil
		}
		return errors.Join(err, l.Flush())
	}, file)
	if err != nil {
		return fmt.Errorf("%s: %w", file, err)
	}
	return nil
}

func (f *queryFlags) ask(v *values, l *lines, kind string) error {
	thread, err := v.thread(f.thread)
	if err != nil {
		return err
	}
	switch kind {
	case "cf":
		return l.flow(v, thread, f.from, f.backward)
	case "writes":
		return f.writes(v, l, thread)
	}
	t, err := slice.NewResolver(v.img).Resolve(v.graph, f.at)
	if err != nil {
		return specError(err)
	}
	if len(t.PCs) == 0 {
		return fmt.Errorf("%s is a variable; ask who wrote it (query writes --to %s), or give a line or a function", f.at, f.at)
	}
	if kind == "values" {
		return l.values(v, t, thread)
	}
	return l.addrs(v, t, thread)
}

// errEnough says that --limit is reached.
var errEnough = errors.New("enough")

// lines is the answer to a query.
type lines struct {
	*bufio.Writer
	ctx   context.Context
	n     uint64
	limit uint64
	img   *image.Space
	names map[uint64]string // places by address
}

// line writes one; the error is errEnough after the last, or the context's.
func (l *lines) line(format string, args ...any) error {
	fmt.Fprintf(l, format, args...)
	if err := l.WriteByte('\n'); err != nil {
		return err
	}
	if l.n++; l.n == l.limit {
		return errEnough
	}
	if l.n&0xfff == 0 {
		return l.ctx.Err()
	}
	return nil
}

// place names an instruction by its line, or its function.
func (l *lines) place(pc uint64) string {
	if s, ok := l.names[pc]; ok {
		return s
	}
	s := fmt.Sprintf("%#x", pc)
	if frames := l.img.Frames(pc); len(frames) > 0 {
		s = frames[0].Function
		if frames[0].Line > 0 {
			s += fmt.Sprintf(" %s:%d", path.Base(frames[0].File), frames[0].Line)
		}
	}
	l.names[pc] = s
	return s
}

// flow writes the control flow of one thread, or of all one after the other.
func (l *lines) flow(v *values, one int, from int64, backward bool) error {
	for _, th := range v.graph.Threads() {
		if one != slice.AllThreads && th.ID != event.ThreadID(one) || th.Times == 0 {
			continue
		}
		at := uint64(max(from, 0))
		if from < 0 && backward {
			at = th.Times - 1
		}
		if at >= th.Times {
			return fmt.Errorf("--from %d: T%d has times 0 to %d", from, th.ID, th.Times-1)
		}
		for e, err := range slice.ControlFlow(v.graph, th.ID, at, backward) {
			if err != nil {
				return err
			}
			if err := l.execution(v.graph, th.ID, e); err != nil {
				return err
			}
		}
	}
	return nil
}

func (l *lines) execution(g *wet.Graph, th event.ThreadID, e wet.Execution) error {
	n := g.Node(e.Node)
	if n.Kind != wet.NodePath {
		what := n.Kind.String()
		if s, ok := l.img.Func(n.Callee); ok && n.Kind == wet.NodeCall {
			what += " of " + s.Demangled()
		}
		return l.line("T%d\t%d\t%d\t-\t%s", th, e.Time, e.K, what)
	}
	blocks := ""
	for i, b := range n.Blocks {
		if i > 0 {
			blocks += ","
		}
		blocks += fmt.Sprintf("%#x", b.PC)
	}
	return l.line("T%d\t%d\t%d\t%s\t%s", th, e.Time, e.K, blocks, l.place(n.Blocks[0].PC))
}

func (l *lines) values(v *values, t *slice.Target, thread int) error {
	for p, err := range slice.ValuesAt(v.graph, t.PCs, thread) {
		if err != nil {
			return err
		}
		if err := l.line("T%d\t%d\t%#x\t%#x\t%s", p.Thread, p.Time, p.Value, p.PC, l.place(p.PC)); err != nil {
			return err
		}
	}
	return nil
}

func (l *lines) addrs(v *values, t *slice.Target, thread int) error {
	for p, err := range slice.AddrsAt(v.graph, t.PCs, thread) {
		if err != nil {
			return err
		}
		if err := l.line("T%d\t%d\t%#x\t%d\t%s\t%#x\t%s", p.Thread, p.Time, p.Addr, p.Size,
			dash(v.img.ObjectPathSize(p.Addr, uint64(p.Size))), p.PC, l.place(p.PC)); err != nil {
			return err
		}
	}
	return nil
}

func (f *queryFlags) writes(v *values, l *lines, thread int) error {
	t, err := slice.NewResolver(v.img).Resolve(v.graph, f.to)
	if err != nil {
		return specError(err)
	}
	if t.Size == 0 {
		return fmt.Errorf("%s is code; ask what it produced (query values --at %s), or give a variable or an address", f.to, f.to)
	}
	if f.size > 0 {
		t.Size = f.size
	}
	for w, err := range slice.WritesTo(v.graph, t.Addr, t.Size) {
		if err != nil {
			return err
		}
		if thread != slice.AllThreads && w.Thread != event.ThreadID(thread) {
			continue
		}
		value := "-"
		if w.HasValue {
			value = fmt.Sprintf("%#x", w.Value)
		}
		if err := l.line("T%d\t%d\t%#x\t%d\t%s\t%#x\t%s", w.Thread, w.Time, w.Addr, w.Size, value, w.PC, l.place(w.PC)); err != nil {
			return err
		}
	}
	return nil
}

// dash is a column that may be empty.
func dash(s string) string {
	if s == "" {
		return "-"
	}
	return s
}
