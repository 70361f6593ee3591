package session

import (
	"os"

	"hindsight/cdr/format"
	"hindsight/cdr/recorder"
	"hindsight/mpsim/image"
	"hindsight/mpsim/intent"
	"hindsight/tracefmt"
)

// ReadSources reads what the source files of the program in file say about atomic accesses.
// It reads the files that exist and are older than the program.
func ReadSources(space *image.Space, file string) {
	if info, err := os.Stat(file); err == nil && space.Main.Go() == "" {
		space.Notes = intent.ReadSources(space.Main, info.ModTime())
	}
}

// keepNotes writes the notes on the program's sources into the trace. A rerun uses those of
// the first run.
func (r *Run) keepNotes(space *image.Space, opts *recorder.Options) error {
	space.Notes = r.Image.Notes
	if space.Notes == nil {
		return nil
	}
	payload, err := space.Notes.Encode()
	if err != nil {
		return err
	}
	others := opts.Extra
	opts.Extra = func(end bool) (list []format.Extra) {
		if others != nil {
			list = others(end)
		}
		if end {
			list = append(list, format.Extra{Kind: tracefmt.KindNotes, Payload: payload})
		}
		return list
	}
	return nil
}
