package view

import (
	"bufio"
	"context"
	"fmt"
	"io"
)

// Limits of what a page in one file has. The page that is served has all.
const (
	fileLevels     = 5       // of the timeline: 4^4 windows of the run at most
	fileLanePages  = 4       // of lanes
	fileWindows    = 2 << 20 // bytes of windows, about
	bytesPerWindow = 60      // of an interval or cell in JSON, about
)

// WriteFile writes the page as one file with its answers in it, as far as they
// are not too many.
func (p *Page) WriteFile(ctx context.Context, w io.Writer) error {
	d, err := newDocument()
	if err != nil {
		return err
	}
	out := bufio.NewWriterSize(w, 64<<10)
	err = d.write(out, p.data.Title, d.policy, func(add func(string, any) error) error {
		f := &fileWriter{page: p, ctx: ctx, add: add}
		h := p.head()
		h.Static = true
		if err := add("head", h); err != nil {
			return err
		}
		for _, part := range h.Parts {
			if write := fileParts[part]; write != nil {
				if err := write(f); err != nil {
					return err
				}
			}
		}
		return nil
	})
	if err != nil {
		return err
	}
	return out.Flush()
}

// fileWriter puts answers into a file.
type fileWriter struct {
	page *Page
	ctx  context.Context
	add  func(key string, answer any) error
}

// fileParts write what the parts of a page need.
var fileParts = map[string]func(*fileWriter) error{
	"races":    func(f *fileWriter) error { _, err := f.put("races"); return err },
	"source":   (*fileWriter).sources,
	"timeline": (*fileWriter).timeline,
}

// put writes the answer under a key.
func (f *fileWriter) put(key string) (any, error) {
	answer, err := f.page.Answer(f.ctx, key)
	if err != nil {
		return nil, err
	}
	return answer, f.add(key, answer)
}

// sources writes the program's own files.
func (f *fileWriter) sources() error {
	files, err := f.put("files")
	if err != nil {
		return err
	}
	for i, x := range files.([]File) {
		if !x.Own {
			continue
		}
		if _, err := f.put(fmt.Sprintf("source/%d", i)); err != nil {
			return err
		}
	}
	return nil
}

// timeline writes windows, level by level, until they show everything or are
// too many.
func (f *fileWriter) timeline() error {
	answer, err := f.put("timeline")
	if err != nil {
		return err
	}
	tl := answer.(*Timeline)
	pages := min((len(tl.Lanes)+pageLanes-1)/pageLanes, fileLanePages)
	left := fileWindows
	type window struct{ n, page int }
	var open []window
	for page := range pages {
		open = append(open, window{0, page})
	}
	for level := 0; level < min(tl.Levels, fileLevels); level++ {
		var deeper []window
		for _, x := range open {
			if left <= 0 {
				return nil
			}
			answer, err := f.put(windowKey(level, x.n, x.page))
			if err != nil {
				return err
			}
			w := answer.(*Window)
			size, whole := w.size()
			left -= size
			if !whole {
				for i := range levelFactor {
					deeper = append(deeper, window{x.n*levelFactor + i, x.page})
				}
			}
		}
		open = deeper
	}
	return nil
}

// size is about how many bytes a window takes, and whether it shows everything
// that there is.
func (w *Window) size() (bytes int, whole bool) {
	whole = uint64(len(w.Edges)) == w.AllEdges
	bytes = len(w.Edges) * bytesPerWindow
	for i := range w.Lanes {
		l := &w.Lanes[i]
		bytes += (len(l.Intervals) + len(l.Cells)) * bytesPerWindow
		whole = whole && l.Complete
	}
	return bytes, whole
}
