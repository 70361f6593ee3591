package view

import (
	"context"
	"fmt"
	"io"
)

// WriteFile writes the page as one file with its answers in it.
func (p *Page) WriteFile(ctx context.Context, w io.Writer) error {
	d, err := newDocument()
	if err != nil {
		return err
	}
	keys, err := p.keys(ctx)
	if err != nil {
		return err
	}
	return d.write(w, p.data.Title, d.policy, keys, func(key string) (any, error) {
		answer, err := p.Answer(ctx, key)
		if h, ok := answer.(*Head); ok {
			h.Static = true
		}
		return answer, err
	})
}

// keys are those of the answers that a file has.
func (p *Page) keys(ctx context.Context) ([]string, error) {
	keys := []string{"head"}
	if p.data.Races != nil {
		keys = append(keys, "races")
	}
	if p.data.Trace != nil {
		keys = append(keys, "files")
		s, err := p.sources(ctx)
		if err != nil {
			return nil, err
		}
		for i := range s.files {
			if s.files[i].Own {
				keys = append(keys, fmt.Sprintf("source/%d", i))
			}
		}
	}
	return keys, nil
}
