package session

import (
	"errors"
	"io/fs"
	"path/filepath"

	"hindsight/tracefmt"
	"hindsight/tracefmt/outfile"
)

// errGuestFile says that the trace would overwrite a file that the run may read.
var errGuestFile = errors.New("the trace would overwrite a file of the directory that the program sees as /; write it to another file")

// refuse returns an error if the trace would overwrite a source file of the program, or a
// file that the program may read, i.e. any file below Root that is not a trace.
func (r *Run) refuse(old fs.FileInfo) error {
	if old.Size() == 0 || tracefmt.IsTrace(r.Out) {
		return nil
	}
	if r.Root != "" {
		below, err := isBelow(r.Root, r.Out)
		if err != nil {
			return err
		}
		if below {
			return errGuestFile
		}
	}
	if r.Image != nil && r.Image.IsSource(old, nil) {
		return outfile.ErrSource
	}
	return nil
}

// isBelow reports whether a file is in or below a directory, after following links.
func isBelow(dir, file string) (bool, error) {
	for _, p := range []*string{&dir, &file} {
		whole, err := filepath.EvalSymlinks(*p)
		if err == nil {
			whole, err = filepath.Abs(whole)
		}
		if err != nil {
			return false, err
		}
		*p = whole
	}
	rel, err := filepath.Rel(dir, file)
	return err == nil && filepath.IsLocal(rel), nil
}
