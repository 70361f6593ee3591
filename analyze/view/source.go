package view

import (
	"cmp"
	"context"
	"path"
	"regexp"
	"slices"

	"hindsight/analyze/annotate"
	"hindsight/analyze/report"
	"hindsight/cdr"
	"hindsight/cdr/format"
	"hindsight/mpsim/image"
	"hindsight/tracefmt/event"
)

type threadID = event.ThreadID

// File is a source file with code of the program: an element of the answer under the key
// "files". The text of file n is under "source/n".
type File struct {
	Path     string `json:"path"`
	Own      bool   `json:"own,omitempty"` // the user's own, and not a library's header
	Executed int    `json:"executed"`      // lines that were executed
	Code     int    `json:"code"`          // lines with code
}

// Source is the text of a file, and how often its lines were executed.
type Source struct {
	Chunks []Chunk `json:"chunks"` // empty if the text was not found
	// Counts are triples [line, executions, number of threads]. Lines without code have
	// none.
	Counts [][3]uint64 `json:"counts"`
}

// Chunk is a sequence of lines of a file.
type Chunk struct {
	From  int      `json:"from"` // number of the first line, from 1
	Lines []string `json:"lines"`
}

// sources are the files of a program, with execution counts.
type sources struct {
	files  []File
	counts []map[int]lineCount // by file
	text   *annotate.Sources
}

type lineCount struct {
	times   uint64
	threads uint64
}

// Limits of the code whose lines are looked up.
const (
	maxCode     = 8 << 20 // bytes
	ctxInterval = 4096    // instructions between checks of the context
)

// readable matches names of source files.
var readable = regexp.MustCompile(`(?i)\.(c|h|cc|hh|cpp|hpp|cxx|hxx|c\+\+|h\+\+|ipp|inl|tcc|inc|def|go|s|f|for|f90|f95|f03|f08|y|l|rs|d)$|/include/([^.]+/)*[^./]+$`)

// Readable reports whether the name that a trace has for a source file looks like one.
// Other files are not read, because a malicious trace could name any file on the reader's
// machine.
func Readable(name string) bool { return readable.MatchString(name) }

// pcCount is how often an instruction was executed.
type pcCount struct{ times, threads uint64 }

// findSources counts how often each line of the user's code was executed.
func findSources(ctx context.Context, t *cdr.Trace, img *image.Space, text *annotate.Sources) (*sources, error) {
	counts, err := countInstructions(ctx, t, img)
	if err != nil {
		return nil, err
	}
	type key struct {
		file string
		line int
	}
	lines := map[key]lineCount{}
	pcs, err := userCode(ctx, img, counts)
	if err != nil {
		return nil, err
	}
	for i, pc := range pcs {
		if i%ctxInterval == 0 && ctx.Err() != nil {
			return nil, ctx.Err()
		}
		frames := img.Frames(pc)
		if len(frames) == 0 || frames[0].Line == 0 || frames[0].File == "" {
			continue
		}
		k := key{path.Clean(frames[0].File), frames[0].Line}
		c, n := lines[k], counts[pc]
		lines[k] = lineCount{max(c.times, n.times), max(c.threads, n.threads)}
	}
	s := &sources{text: text, files: []File{}}
	index := map[string]int{}
	for k := range lines {
		if _, ok := index[k.file]; !ok {
			index[k.file] = 0
			s.files = append(s.files, File{Path: k.file, Own: report.OwnFile(k.file)})
		}
	}
	slices.SortFunc(s.files, func(a, b File) int {
		if a.Own != b.Own {
			if a.Own {
				return -1
			}
			return 1
		}
		return cmp.Compare(a.Path, b.Path)
	})
	s.counts = make([]map[int]lineCount, len(s.files))
	for i := range s.files {
		index[s.files[i].Path] = i
		s.counts[i] = map[int]lineCount{}
	}
	for k, c := range lines {
		f := &s.files[index[k.file]]
		f.Code++
		if c.times > 0 {
			f.Executed++
		}
		s.counts[index[k.file]][k.line] = c
	}
	return s, nil
}

// countInstructions counts the executions of the user's instructions.
func countInstructions(ctx context.Context, t *cdr.Trace, img *image.Space) (map[uint64]pcCount, error) {
	counts := map[uint64]pcCount{}
	if t.Info().Mode == format.ModeDOR {
		return counts, nil
	}
	for _, th := range t.Threads() {
		if ctx.Err() != nil {
			return nil, ctx.Err()
		}
		own := map[uint64]uint64{}
		for b, err := range t.Executions(th.ID) {
			if err != nil {
				return nil, err
			}
			if !img.User(b.PC) {
				continue
			}
			for pc := range instructions(img, b.PC, uint64(b.Bytes)) {
				own[pc] += b.Times
			}
		}
		for pc, n := range own {
			c := counts[pc]
			counts[pc] = pcCount{c.times + n, c.threads + 1}
		}
	}
	return counts, nil
}

// instructions returns the addresses of the instructions in some bytes of code.
func instructions(img *image.Space, pc, bytes uint64) func(func(uint64) bool) {
	return func(yield func(uint64) bool) {
		code := img.Code(pc, int(bytes))
		for at := 0; at+1 < len(code); {
			if !yield(pc + uint64(at)) {
				return
			}
			size := 2
			if code[at]&3 == 3 {
				size = 4
			}
			at += size
		}
	}
}

// userCode returns the instructions of the user's functions, in order.
func userCode(ctx context.Context, img *image.Space, counts map[uint64]pcCount) ([]uint64, error) {
	var pcs []uint64
	total := uint64(0)
	for _, m := range img.Images() {
		last := uint64(0)
		for _, s := range m.Symbols() {
			if s.Addr < last || !img.User(s.Addr) {
				continue
			}
			if ctx.Err() != nil {
				return nil, ctx.Err()
			}
			end := m.FuncEnd(s.Addr)
			if end <= s.Addr {
				continue
			}
			if total += end - s.Addr; total > maxCode {
				break
			}
			for pc := range instructions(img, s.Addr, end-s.Addr) {
				pcs = append(pcs, pc)
			}
			last = end
		}
	}
	for pc := range counts { // beyond the limit, and code without a symbol
		pcs = append(pcs, pc)
	}
	slices.Sort(pcs)
	return slices.Compact(pcs), nil
}

// source returns the answer about file n.
func (s *sources) source(n int) *Source {
	out := &Source{Chunks: []Chunk{}, Counts: [][3]uint64{}}
	if Readable(s.files[n].Path) {
		if lines := s.text.Lines(s.files[n].Path); lines != nil {
			out.Chunks = append(out.Chunks, Chunk{1, lines})
		}
	}
	for line, c := range s.counts[n] {
		out.Counts = append(out.Counts, [3]uint64{uint64(line), c.times, c.threads})
	}
	slices.SortFunc(out.Counts, func(a, b [3]uint64) int { return cmp.Compare(a[0], b[0]) })
	return out
}

// around returns the parts of a file that are near some lines.
func (s *Source) around(lines map[int]bool, near int) *Source {
	out := &Source{Chunks: []Chunk{}, Counts: s.Counts}
	kept := func(n int) bool {
		for d := -near; d <= near; d++ {
			if lines[n+d] {
				return true
			}
		}
		return false
	}
	for _, c := range s.Chunks {
		for i, text := range c.Lines {
			n := c.From + i
			if !kept(n) {
				continue
			}
			if last := len(out.Chunks) - 1; last >= 0 && out.Chunks[last].From+len(out.Chunks[last].Lines) == n {
				out.Chunks[last].Lines = append(out.Chunks[last].Lines, text)
			} else {
				out.Chunks = append(out.Chunks, Chunk{n, []string{text}})
			}
		}
	}
	return out
}
