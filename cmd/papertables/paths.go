package main

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"math"
	"os"
	"slices"
	"strconv"
	"time"

	"hindsight/cdr"
	"hindsight/cmd/internal/codecs"
	"hindsight/cmd/internal/shell"
	"hindsight/examples"
	"hindsight/mpsim/session"
	"hindsight/tracefmt/app"
	"hindsight/wpp"
	"hindsight/wpp/cfg"
)

// paperWorkloads are single-threaded programs with branches on data, in addition to the
// kernels, in the tables of "Arithmetic Program Paths".
var paperWorkloads = []string{"compiler", "interpreter", "sort"}

// flowRun is the control flow of a run, on which codecs are compared.
type flowRun struct {
	name      string
	shell     shell.Shell
	threads   [][]uint64 // the basic blocks that each thread ran
	paths     [][]wpp.Terminal
	blocks    int
	branches  int
	distinct  int // paths
	instances int // of paths
	insts     uint64
}

// bitBytes returns the size of the bit trace.
func (r *flowRun) bitBytes() float64 { return float64(r.branches) / 8 }

// pathBytes returns the size of the trace of acyclic paths: two bytes each, as in the
// paper, or four where they do not do.
func (r *flowRun) pathBytes() float64 {
	if r.distinct > 1<<16 {
		return 4 * float64(r.instances)
	}
	return 2 * float64(r.instances)
}

// flowRun records a program's control flow.
func (c *comparison) flowRun(ctx context.Context, name string) (*flowRun, error) {
	r, err := c.recording(name, c.threads[0])
	if err != nil {
		return nil, err
	}
	if p, ok := examples.Lookup(name); ok && p.HundredMillion != nil && !c.small && slices.Contains(paperWorkloads, name) {
		r.Args = p.HundredMillion
	}
	r.Mode, r.Out = "cor", c.file("flow.hst")
	done, err := r.Record(ctx, session.Streams{Out: io.Discard, Err: io.Discard})
	if err != nil {
		return nil, err
	}
	if done.Interrupted {
		return nil, ctx.Err()
	}
	defer os.Remove(r.Out)
	trace, err := cdr.OpenFile(r.Out)
	if err != nil {
		return nil, err
	}
	defer trace.Close()
	program := cfg.New(r.Image)
	run := &flowRun{name: name, shell: shell.New(program), insts: done.Insts}
	paths := shell.NewPaths(program)
	for _, th := range trace.Threads() {
		var pcs []uint64
		for pc, err := range trace.Blocks(th.ID) {
			if err != nil {
				return nil, err
			}
			pcs = append(pcs, pc)
		}
		terms, branches := paths.Of(pcs)
		run.threads, run.paths = append(run.threads, pcs), append(run.paths, terms)
		run.blocks, run.branches, run.instances = run.blocks+len(pcs), run.branches+branches, run.instances+len(terms)
	}
	run.distinct = paths.Len()
	return run, nil
}

// flowCost is the result of a codec on a run.
type flowCost struct {
	bytes       int
	there, back time.Duration
}

// app compresses the run as arithmetic program paths, and decompresses it if play is set.
func (r *flowRun) app(o app.Options, play bool) (cost flowCost, err error) {
	for _, pcs := range r.threads {
		var out bytes.Buffer
		spent, err := timed(func() error {
			e, err := app.NewEncoder(&out, r.shell, o)
			if err != nil {
				return err
			}
			for _, pc := range pcs {
				if err := e.Block(pc); err != nil {
					return err
				}
			}
			return e.Close()
		})
		if err != nil {
			return cost, err
		}
		cost.bytes, cost.there = cost.bytes+out.Len(), cost.there+spent
		if !play {
			continue
		}
		spent, err = timed(func() error { return playBack(&out, r.shell, pcs) })
		if err != nil {
			return cost, err
		}
		cost.back += spent
	}
	return cost, nil
}

// playBack decodes a stream and compares it with the blocks that ran.
func playBack(in io.Reader, s app.Shell, want []uint64) error {
	d, err := app.NewDecoder(in, s)
	if err != nil {
		return err
	}
	for i, pc := range want {
		if got, err := d.Next(); err != nil || got != pc {
			return fmt.Errorf("block %d came back as %#x, not %#x: %w", i, got, pc, err)
		}
	}
	return nil
}

// wpp compresses the run's paths by Sequitur. The size is that of the grammars
// in the smaller of our binary form and zstd's of it.
func (r *flowRun) wpp() (cost flowCost, err error) {
	for _, terms := range r.paths {
		var form []byte
		spent, _ := timed(func() error {
			var b wpp.Builder
			for _, t := range terms {
				b.Append(t)
			}
			form = b.Grammar().AppendBinary(nil)
			return nil
		})
		size := new(byteCount)
		z, _, err := codecs.EncodeZstd(size, &codecs.Options{})
		if err == nil {
			_, err = z.Write(form)
		}
		if err == nil {
			err = z.Close()
		}
		if err != nil {
			return cost, err
		}
		cost.bytes, cost.there = cost.bytes+min(len(form), int(*size)), cost.there+spent
	}
	return cost, nil
}

// ratio returns the compression of the bit trace.
func (r *flowRun) ratio(bytes int) float64 { return r.bitBytes() / float64(bytes) }

// contexts measures the paper's predictor with every pair of even history lengths up to
// 14 in total, and returns the best.
func (c *comparison) contexts(ctx context.Context, r *flowRun, sweep *table) (l, g int, best float64, err error) {
	for local := 0; local <= 14; local += 2 {
		row := []any{r.name, local}
		for global := 0; global <= 14; global += 2 {
			if local+global > 14 {
				row = append(row, "")
				continue
			}
			if err := ctx.Err(); err != nil {
				return 0, 0, 0, err
			}
			c.progress(fmt.Sprintf("fse2005: %s, l=%d g=%d", r.name, local, global))
			cost, err := r.app(app.Options{Local: orNone(local), Global: orNone(global)}, false)
			if err != nil {
				return 0, 0, 0, err
			}
			ratio := r.ratio(cost.bytes)
			row = append(row, ratio)
			if ratio > best {
				l, g, best = local, global, ratio
			}
		}
		sweep.add(row...)
	}
	return l, g, best, nil
}

// orNone says zero bits as app.Options does.
func orNone(bits int) int {
	if bits == 0 {
		return app.None
	}
	return bits
}

// arithmetic measures Tables 1 to 3 of "Arithmetic Program Paths".
func (c *comparison) arithmetic(ctx context.Context) ([]*table, error) {
	tables := []*table{subjectsTable(), c.ratiosTable(), sweepTable(), timesTable()}
	var ratios, speeds, improved []float64
	for _, name := range c.flows() {
		c.progress("fse2005: " + name)
		r, err := c.flowRun(ctx, name)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", name, err)
		}
		m, err := c.arithmeticRows(ctx, r, tables)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", name, err)
		}
		ratios, speeds, improved = append(ratios, m[0]), append(speeds, m[1]), append(improved, m[2])
	}
	tables[1].add("mean of APP/WPP", "", "", "", geoMean(ratios), geoMean(improved), "", "")
	tables[3].add("geometric mean", "", "", "", "", geoMean(speeds), "", "")
	for _, p := range publishedAPP() {
		name := "paper's " + p.program
		tables[0].add(name, p.seconds+" s", p.bits+" MB", p.paths+" MB", p.size, p.edges)
		tables[1].add(name, p.l, p.g, p.best, p.seven, "", p.wpp, "")
		tables[3].add(name, p.appTime, "", p.wppTime, "", p.faster, each(p.appTime, p.bits, 8), each(p.wppTime, p.paths, 0.5))
	}
	return tables, nil
}

// arithmeticRows measures one program. It returns the ratios of APP to WPP in
// size (the paper's APP), in speed, and in size (improved).
func (c *comparison) arithmeticRows(ctx context.Context, r *flowRun, tables []*table) (m [3]float64, err error) {
	tables[0].add(r.name, fmt.Sprintf("%.1f M", float64(r.insts)/1e6), fmt.Sprintf("%.2f MB", r.bitBytes()/mega),
		fmt.Sprintf("%.2f MB", r.pathBytes()/mega), r.pathBytes()/r.bitBytes(), float64(r.branches)/float64(r.instances))
	l, g, best, err := c.contexts(ctx, r, tables[2])
	if err != nil {
		return m, err
	}
	seven, err := r.app(app.Options{}, true)
	if err != nil {
		return m, err
	}
	ours, err := r.app(app.Improved(), true)
	if err != nil {
		return m, err
	}
	grammar, err := r.wpp()
	if err != nil {
		return m, err
	}
	wppRatio := r.ratio(grammar.bytes)
	framing, err := r.framing(app.Improved())
	if err != nil {
		return m, err
	}
	if x := r.ratio(seven.bytes); x > best {
		l, g, best = 7, 7, x
	}
	tables[1].add(r.name, l, g, best, r.ratio(seven.bytes), r.ratio(ours.bytes), wppRatio,
		within(max(r.ratio(ours.bytes-framing), best)/wppRatio))
	faster := grammar.there.Seconds() / max(seven.there.Seconds(), 1e-6)
	tables[3].add(r.name, seven.there.Seconds(), ours.there.Seconds(), grammar.there.Seconds(), seven.back.Seconds(), faster,
		float64(seven.there.Nanoseconds())/float64(r.branches), float64(grammar.there.Nanoseconds())/float64(r.instances))
	return [3]float64{r.ratio(seven.bytes) / wppRatio, faster, r.ratio(ours.bytes) / wppRatio}, nil
}

// each returns nanoseconds per item, for a number of seconds, megabytes and items per
// byte. It returns NaN if that is not a number.
func each(seconds, megabytes string, things float64) float64 {
	s, err := strconv.ParseFloat(seconds, 64)
	mb, err2 := strconv.ParseFloat(megabytes, 64)
	if err != nil || err2 != nil {
		return math.NaN()
	}
	return s * 1e9 / (mb * mega * things)
}

// framing is the size of a run's streams without content: header, checksums, index.
// Grammars have none of that.
func (r *flowRun) framing(o app.Options) (int, error) {
	var out bytes.Buffer
	e, err := app.NewEncoder(&out, r.shell, o)
	if err == nil {
		err = e.Close()
	}
	return out.Len() * len(r.threads), err
}

// within reports whether a compression is within a tenth of Sequitur's.
func within(ratio float64) string {
	switch {
	case math.IsNaN(ratio):
		return ""
	case ratio > 1:
		return "better"
	case ratio >= 0.9:
		return "within 10 %"
	}
	return "WORSE"
}

func subjectsTable() *table {
	return &table{
		id: "fse2005-1", title: "ESEC/FSE 2005 (APP), Table 1: bit traces and acyclic paths",
		notes: []string{"For the paper's programs, instructions is the running time. An acyclic path takes two bytes. The paper's programs are compiled without optimisation, and its conditionals are those of the source. Ours are branches of optimised code, including the C library's."},
		head:  []string{"program", "instructions", "bit trace", "acyclic paths", "paths/bits", "edges per path"},
	}
}

func (c *comparison) ratiosTable() *table {
	return &table{
		id: "fse2005-2", title: "ESEC/FSE 2005 (APP), Table 2: compression of the bit trace",
		notes: []string{
			fmt.Sprintf("Kernels with %d threads, one stream per thread; workloads of one thread. Best: over even l and g up to 14 together (next table), and 7 and 7. Improved: beyond the paper, app.Improved().", c.threads[0]),
			"WPP: Sequitur over the same paths, one grammar per thread, in our binary form with or without zstd, whichever is smaller; the definitions of paths are not counted. against WPP: the better of best and improved, without header, checksums and index (some 50 bytes per stream), because the grammars have none.",
		},
		head: []string{"program", "best l", "best g", "APP best", "APP l=g=7", "APP improved", "WPP", "against WPP"},
	}
}

func sweepTable() *table {
	t := &table{
		id: "fse2005-l,g", title: "ESEC/FSE 2005 (APP): compression of the bit trace by bits of local (down) and global (across) history",
		head: []string{"program", "l"},
	}
	for g := 0; g <= 14; g += 2 {
		t.head = append(t.head, fmt.Sprintf("g=%d", g))
	}
	return t
}

func timesTable() *table {
	return &table{
		id: "fse2005-3", title: "ESEC/FSE 2005 (APP), Table 3: time to compress, seconds of processor time",
		notes: []string{
			"From blocks (APP) and from paths (WPP) in memory. The paper's APP is inside the program, so its time includes the program's run. Its WPP is the Sequitur of that time.",
			"For the paper, ns per branch and ns per path are the seconds of Table 3 divided by the sizes of Table 1. Where APP gains less on WPP here, compare which of the two became faster.",
		},
		head: []string{"program", "APP l=g=7", "APP improved", "WPP", "APP l=g=7 played back", "times faster (l=g=7)", "APP ns per branch", "WPP ns per path"},
	}
}

// flows returns the programs whose control flow is compared.
func (c *comparison) flows() []string {
	return slices.Concat(c.kernels, c.workloads)
}
