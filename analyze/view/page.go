package view

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strconv"
	"strings"

	"hindsight/analyze/annotate"
	"hindsight/analyze/contention"
	"hindsight/analyze/report"
	"hindsight/analyze/sharing"
	"hindsight/analyze/timeline"
	"hindsight/cdr"
	"hindsight/mpsim/image"
)

// ErrNoAnswer says that a page has no answer for a key.
var ErrNoAnswer = errors.New("the page has no such part")

// Data supplies the contents of a page. Its functions are called by one goroutine at a
// time. A function without arguments is called once, unless it fails.
type Data struct {
	Title string // name of the trace
	Facts []Fact
	// Races returns the races of the run, explained as far as possible.
	Races func(context.Context) (*report.Report, error)
	// Trace and Image are the run and its program. If they are nil, there is no source.
	Trace *cdr.Trace
	// Contention and Sharing return what threads waited for, and which memory they
	// shared. They are nil if that is not known.
	Contention func(context.Context) (*contention.Report, error)
	Sharing    func(context.Context) (*sharing.Report, error)
	// Slice computes a slice. It is nil if the trace has no values.
	Slice func(context.Context, Question) (*annotate.Report, error)
	// Asked is a slice that the page is about. If it is nil, the page is about the run.
	Asked   *annotate.Report
	Image   *image.Space
	Sources *annotate.Sources // nil: only the places in the debug information
}

// Fact is a line about the run.
type Fact struct {
	Name  string `json:"name"`
	Value string `json:"value"`
}

// Page answers the requests of a browser about a trace.
type Page struct {
	data Data
	turn chan struct{} // holds one token, for the goroutine that uses data

	races    *report.Report
	source   *sources
	timeline *timeline.Timeline
}

// New returns a page.
func New(data Data) *Page {
	p := &Page{data: data, turn: make(chan struct{}, 1)}
	if p.data.Sources == nil {
		p.data.Sources = &annotate.Sources{}
	}
	p.turn <- struct{}{}
	return p
}

// Head is the answer under the key "head", which every page begins with.
type Head struct {
	Title  string   `json:"title"`
	Facts  []Fact   `json:"facts"`
	Parts  []string `json:"parts"`  // names of tabs, in order
	Slices bool     `json:"slices"` // slices can be requested
	Static bool     `json:"static"`

	Contention bool `json:"contention"`
	Sharing    bool `json:"sharing"`
}

func (p *Page) head() *Head {
	h := &Head{Title: p.data.Title, Facts: p.data.Facts, Slices: p.data.Slice != nil, Contention: p.data.Contention != nil, Sharing: p.data.Sharing != nil}
	for _, part := range []struct {
		name string
		has  bool
	}{
		{"slice", p.data.Asked != nil}, {"races", p.data.Races != nil}, {"timeline", p.data.Trace != nil && p.data.Asked == nil},
		{"source", p.data.Trace != nil}, {"slice", p.data.Slice != nil && p.data.Asked == nil},
		{"sharing", p.data.Contention != nil || p.data.Sharing != nil}, {"run", true},
	} {
		if part.has {
			h.Parts = append(h.Parts, part.name)
		}
	}
	return h
}

// Answer returns the answer for a key, as a value for package encoding/json. The error is
// ErrNoAnswer for an unknown key, or that of ctx if it ends first.
func (p *Page) Answer(ctx context.Context, key string) (any, error) {
	select {
	case <-p.turn:
		defer func() { p.turn <- struct{}{} }()
	case <-ctx.Done():
		return nil, ctx.Err()
	}
	name, rest, _ := strings.Cut(key, "/")
	make := answers[name]
	if make == nil {
		return nil, noAnswer(key)
	}
	return make(p, ctx, rest)
}

// answers computes the answers by the first part of their key. rest is what follows.
var answers = map[string]func(p *Page, ctx context.Context, rest string) (any, error){
	"head":  func(p *Page, _ context.Context, _ string) (any, error) { return p.head(), nil },
	"races": func(p *Page, ctx context.Context, _ string) (any, error) { return p.racesAnswer(ctx) },
	"files": func(p *Page, ctx context.Context, _ string) (any, error) {
		s, err := p.sources(ctx)
		if err != nil {
			return nil, err
		}
		return s.files, nil
	},
	"source": func(p *Page, ctx context.Context, rest string) (any, error) {
		s, err := p.sources(ctx)
		if err != nil {
			return nil, err
		}
		n, err := strconv.Atoi(rest)
		if err != nil || n < 0 || n >= len(s.files) {
			return nil, noAnswer("source/" + rest)
		}
		return s.source(n), nil
	},
	"timeline": func(p *Page, ctx context.Context, _ string) (any, error) { return p.timelineAnswer(ctx) },
	"window":   func(p *Page, ctx context.Context, rest string) (any, error) { return p.window(ctx, rest) },
	"contention": func(p *Page, ctx context.Context, _ string) (any, error) {
		return asJSON(ctx, "contention", p.data.Contention)
	},
	"sharing": func(p *Page, ctx context.Context, _ string) (any, error) {
		return asJSON(ctx, "sharing", p.data.Sharing)
	},
	"slice": func(p *Page, ctx context.Context, rest string) (any, error) { return p.slice(ctx, rest) },
}

// asJSON converts a report that has its own JSON form to an answer.
func asJSON[R interface{ WriteJSON(io.Writer) error }](ctx context.Context, key string, find func(context.Context) (R, error)) (any, error) {
	if find == nil {
		return nil, noAnswer(key)
	}
	rep, err := find(ctx)
	if err != nil {
		return nil, err
	}
	var text bytes.Buffer
	err = rep.WriteJSON(&text)
	return json.RawMessage(text.Bytes()), err
}

func (p *Page) racesAnswer(ctx context.Context) (*Races, error) {
	rep, err := p.report(ctx)
	if err != nil {
		return nil, err
	}
	return racesOf(rep), nil
}

// Close waits until the page no longer uses its data. After that, it answers no more
// requests.
func (p *Page) Close() { <-p.turn }

func noAnswer(key string) error { return fmt.Errorf("%q: %w", key, ErrNoAnswer) }

// report finds the races, once.
func (p *Page) report(ctx context.Context) (*report.Report, error) {
	if p.data.Races == nil {
		return nil, noAnswer("races")
	}
	if p.races == nil {
		rep, err := p.data.Races(ctx)
		if err != nil {
			return nil, err
		}
		p.races = rep
	}
	return p.races, nil
}

// sources counts executions, once.
func (p *Page) sources(ctx context.Context) (*sources, error) {
	if p.data.Trace == nil {
		return nil, noAnswer("files")
	}
	if p.source == nil {
		s, err := findSources(ctx, p.data.Trace, p.data.Image, p.data.Sources)
		if err != nil {
			return nil, err
		}
		p.source = s
	}
	return p.source, nil
}
