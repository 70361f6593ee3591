package view

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"

	"hindsight/analyze/annotate"
	"hindsight/analyze/report"
	"hindsight/analyze/timeline"
	"hindsight/cdr"
	"hindsight/mpsim/image"
)

// ErrNoAnswer says that a page has nothing under a key.
var ErrNoAnswer = errors.New("the page has no such part")

// Data is where a page gets its contents from. Its functions are called by one
// goroutine at a time, each successful one that has no argument once.
type Data struct {
	Title string // names the trace
	Facts []Fact
	// Races are those of the run, explained as far as is known.
	Races func(context.Context) (*report.Report, error)
	// Trace and Image are the run and its program; nil: there is no source.
	Trace   *cdr.Trace
	Image   *image.Space
	Sources *annotate.Sources // nil: where the debug information says
}

// Fact is a line of what is said about the run.
type Fact struct {
	Name  string `json:"name"`
	Value string `json:"value"`
}

// Page answers what a browser asks about a trace.
type Page struct {
	data Data
	turn chan struct{} // holds one token: whose turn it is to use data

	races    *report.Report
	source   *sources
	timeline *timeline.Timeline
}

// New makes a page.
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
	Parts  []string `json:"parts"` // names of tabs, in order
	Static bool     `json:"static"`
}

func (p *Page) head() *Head {
	h := &Head{Title: p.data.Title, Facts: p.data.Facts}
	if p.data.Races != nil {
		h.Parts = append(h.Parts, "races")
	}
	if p.data.Trace != nil {
		h.Parts = append(h.Parts, "timeline", "source")
	}
	h.Parts = append(h.Parts, "run")
	return h
}

// Answer returns what the page shows under a key, as a value for package
// encoding/json. The error is ErrNoAnswer for a key that means nothing, or that
// of ctx when it ends first.
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

// answers make the answers by the first part of their key; rest is what follows.
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
}

func (p *Page) racesAnswer(ctx context.Context) (*Races, error) {
	rep, err := p.report(ctx)
	if err != nil {
		return nil, err
	}
	return racesOf(rep), nil
}

func noAnswer(key string) error { return fmt.Errorf("%q: %w", key, ErrNoAnswer) }

// report finds the races once.
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

// sources counts executions once.
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
