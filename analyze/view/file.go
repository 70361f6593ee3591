package view

import (
	"bufio"
	"context"
	"fmt"
	"io"

	"hindsight/analyze/report"
)

// Limits of the contents of a page in one file. A page that is served has everything.
const (
	fileLevels    = 5       // of the timeline: at most 4^4 windows of the run
	fileLanePages = 4       // of lanes
	fileWindows   = 2 << 20 // bytes of windows
	fileSources   = 8 << 20 // bytes of whole source files
	fileSlices    = 4 << 20 // bytes of slices
	fileRaces     = 24      // groups of races with slices
	nearLines     = 3       // lines shown around highlighted ones, in files that are not included whole
)

// WriteFile writes the page as one file with its answers, up to the limits above.
func (p *Page) WriteFile(ctx context.Context, w io.Writer) error {
	d, err := newDocument()
	if err != nil {
		return err
	}
	out := bufio.NewWriterSize(w, 64<<10)
	err = d.write(out, p.data.Title, d.policy, func(add adder) error {
		f := &fileWriter{page: p, add: add, lit: map[string]map[int]bool{}}
		h := p.head()
		h.Static = true
		if _, err := add("head", h); err != nil {
			return err
		}
		for _, write := range []func(*fileWriter, context.Context) error{(*fileWriter).races, (*fileWriter).timeline, (*fileWriter).slices, (*fileWriter).sources, (*fileWriter).tables} {
			if err := write(f, ctx); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		return err
	}
	return out.Flush()
}

// fileWriter adds answers to a file.
type fileWriter struct {
	page *Page
	add  adder
	lit  map[string]map[int]bool // lines that something refers to, by path
}

// put writes the answer under a key.
func (f *fileWriter) put(ctx context.Context, key string) (answer any, bytes int, err error) {
	answer, err = f.page.Answer(ctx, key)
	if err != nil {
		return nil, 0, err
	}
	bytes, err = f.add(key, answer)
	return answer, bytes, err
}

func (f *fileWriter) light(path string, line int) {
	if f.lit[path] == nil {
		f.lit[path] = map[int]bool{}
	}
	f.lit[path][line] = true
}

func (f *fileWriter) races(ctx context.Context) error {
	if f.page.data.Races == nil {
		return nil
	}
	_, _, err := f.put(ctx, "races")
	return err
}

func (f *fileWriter) tables(ctx context.Context) error {
	if f.page.data.Contention != nil {
		if _, _, err := f.put(ctx, "contention"); err != nil {
			return err
		}
	}
	if f.page.data.Sharing == nil {
		return nil
	}
	_, _, err := f.put(ctx, "sharing")
	return err
}

// sources writes the program's own files. Of other files, and of those beyond the limit,
// it writes the lines that something refers to.
func (f *fileWriter) sources(ctx context.Context) error {
	if f.page.data.Trace == nil {
		return nil
	}
	answer, _, err := f.put(ctx, "files")
	if err != nil {
		return err
	}
	left := fileSources
	for i, x := range answer.([]File) {
		whole := x.Own && left > 0 && (f.page.data.Asked == nil || f.lit[x.Path] != nil)
		if !whole && f.lit[x.Path] == nil {
			continue
		}
		key := fmt.Sprintf("source/%d", i)
		answer, err := f.page.Answer(ctx, key)
		if err != nil {
			return err
		}
		if !whole {
			answer = answer.(*Source).around(f.lit[x.Path], nearLines)
		}
		bytes, err := f.add(key, answer)
		if err != nil {
			return err
		}
		left -= bytes
	}
	return nil
}

// timeline writes windows, level by level, until they show everything or reach the limit.
func (f *fileWriter) timeline(ctx context.Context) error {
	if f.page.data.Trace == nil || f.page.data.Asked != nil {
		return nil
	}
	answer, _, err := f.put(ctx, "timeline")
	if err != nil {
		return err
	}
	tl := answer.(*Timeline)
	type window struct{ n, page int }
	var open []window
	for page := range min((len(tl.Lanes)+pageLanes-1)/pageLanes, fileLanePages) {
		open = append(open, window{0, page})
	}
	left := fileWindows
	for level := 0; level < min(tl.Levels, fileLevels); level++ {
		var deeper []window
		for _, x := range open {
			if left <= 0 {
				return nil
			}
			answer, bytes, err := f.put(ctx, windowKey(level, x.n, x.page))
			if err != nil {
				return err
			}
			left -= bytes
			if !answer.(*Window).whole() {
				for i := range levelFactor {
					deeper = append(deeper, window{x.n*levelFactor + i, x.page})
				}
			}
		}
		open = deeper
	}
	return nil
}

// whole reports whether a window shows everything that there is.
func (w *Window) whole() bool {
	for i := range w.Lanes {
		if !w.Lanes[i].Complete {
			return false
		}
	}
	return uint64(len(w.Edges)) == w.AllEdges
}

// slices writes the slice that the page is about, or those around the first races and of
// their lines.
func (f *fileWriter) slices(ctx context.Context) error {
	left := fileSlices
	put := func(key string) error {
		answer, err := f.page.Answer(ctx, key)
		if ctx.Err() != nil {
			return ctx.Err()
		}
		if err != nil || left <= 0 {
			return nil // the page does not offer it
		}
		for _, sheet := range answer.(*Slice).Sheets {
			for i := range sheet.Rows {
				if r := &sheet.Rows[i]; r.File != "" {
					f.light(r.File, r.Line)
				}
			}
		}
		bytes, err := f.add(key, answer)
		left -= bytes
		return err
	}
	if f.page.data.Asked != nil {
		return put("slice/asked")
	}
	if f.page.data.Slice == nil || f.page.data.Races == nil {
		return nil
	}
	s, err := f.page.sources(ctx)
	if err != nil {
		return err
	}
	index := map[string]int{}
	for i := range s.files {
		index[s.files[i].Path] = i
	}
	done := map[string]bool{}
	for _, g := range f.page.races.Ranked()[:min(len(f.page.races.Ranked()), fileRaces)] {
		keys := []string{"slice/race/" + g.Lead.ID}
		for _, a := range []*report.Access{&g.Lead.Accesses[1], &g.Lead.Accesses[0]} {
			if n, ok := index[a.Top.Path]; ok && a.Top.Line > 0 {
				keys = append(keys, fmt.Sprintf("slice/backward/%d/%d/last", n, a.Top.Line), fmt.Sprintf("slice/forward/%d/%d/last", n, a.Top.Line))
			}
		}
		for _, key := range keys {
			if done[key] || left <= 0 {
				continue
			}
			done[key] = true
			if err := put(key); err != nil {
				return err
			}
		}
	}
	return nil
}
