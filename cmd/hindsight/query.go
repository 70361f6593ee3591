package main

import (
	"bufio"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"iter"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"hindsight/analyze"
	"hindsight/cmd/internal/cli"
)

// queryKinds are the kinds of queries, with the flags that only some of them have.
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
		Use:   "query [flags] TRACE cf|values|addrs|writes",
		Short: "Show step by step what happened, from a trace with values",
		Long: `query shows what a run did. The run must have been recorded with values (run
--record wet, or hindsight wet). The answer is lines of tab-separated columns,
in the order of the run:

  cf      the paths that a thread executed: thread, time (the number of the path
          execution), how often it had executed that path before, addresses of
          the path's basic blocks, place in the source
  values  the values that a place wrote to registers: thread, time, value,
          address of the instruction, place
  addrs   what a place accessed: thread, time, address, bytes, what is at that
          address, address of the instruction, place
  writes  who wrote a variable or an address: thread, time, address, bytes,
          value (- if the trace does not have it), address of the instruction,
          place

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
	flags.StringVar(&f.thread, "thread", "", "only thread `T`, as 2 or T2")
	flags.Int64Var(&f.from, "from", -1, "cf: begin at this `TIME` of the thread (default: its first; with --backward, its last)")
	flags.BoolVar(&f.backward, "backward", false, "cf: go back in time")
	flags.StringVar(&f.at, "at", "", "values, addrs: `SPEC` of the place")
	flags.StringVar(&f.to, "to", "", "writes: `SPEC` of the variable or address")
	flags.Uint64Var(&f.size, "size", 0, "writes: number of `BYTES` from there on (default: the size of the variable)")
	flags.Uint64Var(&f.limit, "limit", 0, "print at most this number of lines (0: all)")
	flags.StringVarP(&f.out, "output", "o", "", "write to `FILE`")
	return cmd
}

func queryNames() (names []string) {
	for _, k := range queryKinds {
		names = append(names, k.name)
	}
	return names
}

// check returns an error for flags that are missing or belong to another query.
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
	t, err := openTrace(ctx, std, file, withValues, nil)
	if err != nil {
		return fmt.Errorf("%s: %w", file, err)
	}
	defer t.Close()
	if _, err := t.HasValues(); err != nil {
		return fmt.Errorf("%s: %w", file, err)
	}
	if err := checkSources(t.Program, nil, f.out); err != nil {
		return fmt.Errorf("%s: %w", file, err)
	}
	err = std.WriteTo(ctx, f.out, func(w io.Writer) error {
		l := &lines{Writer: bufio.NewWriterSize(w, 64<<10), ended: ctx.Err, limit: f.limit}
		err := f.ask(t, l, kind)
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

func (f *queryFlags) ask(t *analyze.Trace, l *lines, kind string) error {
	q := analyze.Query{At: cmp.Or(f.at, f.to), Thread: f.thread, Backward: f.backward, Size: f.size}
	if f.from >= 0 {
		from := uint64(f.from)
		q.From = &from
	}
	switch kind {
	case "cf":
		return each(t.ControlFlow(q), l.path)
	case "values":
		return each(t.Values(q), func(s analyze.ValueStep) error {
			return l.line("T%d\t%d\t%#x\t%#x\t%s", s.Thread, s.Time, s.Value, s.PC, s.Place)
		})
	case "addrs":
		return each(t.Addrs(q), func(s analyze.AccessStep) error {
			return l.line("T%d\t%d\t%#x\t%d\t%s\t%#x\t%s", s.Thread, s.Time, s.Address, s.Size, cmp.Or(s.Object, "-"), s.PC, s.Place)
		})
	}
	return each(t.Writes(q), func(s analyze.AccessStep) error {
		value := "-"
		if s.HasValue {
			value = fmt.Sprintf("%#x", s.Value)
		}
		return l.line("T%d\t%d\t%#x\t%d\t%s\t%#x\t%s", s.Thread, s.Time, s.Address, s.Size, value, s.PC, s.Place)
	})
}

// each calls use for each step of an answer.
func each[T any](steps iter.Seq2[T, error], use func(T) error) error {
	for s, err := range steps {
		if err != nil {
			return err
		}
		if err := use(s); err != nil {
			return err
		}
	}
	return nil
}

// errEnough says that --limit was reached.
var errEnough = errors.New("enough")

// lines is the answer to a query.
type lines struct {
	*bufio.Writer
	ended func() error // returns an error if the query was interrupted
	n     uint64
	limit uint64
}

// line writes a line. The error is errEnough after the last line, or that of ended.
func (l *lines) line(format string, args ...any) error {
	fmt.Fprintf(l, format, args...)
	if err := l.WriteByte('\n'); err != nil {
		return err
	}
	if l.n++; l.n == l.limit {
		return errEnough
	}
	if l.n&0xfff == 0 {
		return l.ended()
	}
	return nil
}

func (l *lines) path(s analyze.PathStep) error {
	blocks := make([]string, len(s.Blocks))
	for i, pc := range s.Blocks {
		blocks[i] = fmt.Sprintf("%#x", pc)
	}
	return l.line("T%d\t%d\t%d\t%s\t%s", s.Thread, s.Time, s.K, cmp.Or(strings.Join(blocks, ","), "-"), s.Place)
}
