package cdr

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"hindsight/tracefmt/outfile"
)

// OpenFile opens a trace that a user named, and looks for its images in the directories
// that the trace and HINDSIGHT_IMAGES name. If the recording was killed before any of the
// run was written to the file, the error says which file has the beginning.
func OpenFile(file string) (*Trace, error) {
	t, err := Open(file)
	if errors.Is(err, os.ErrNotExist) {
		if _, serr := os.Stat(file + outfile.Partial); serr == nil {
			return nil, fmt.Errorf("%w (%s%s belongs to a recording that is still running, or that was killed before its first epoch was written)", err, file, outfile.Partial)
		}
	}
	if err == nil {
		t.LookIn(os.Getenv(imagesVariable))
		t.LookIn(t.ImagesFrom(file))
	}
	return t, err
}

// ImagesFrom returns the directory of the images of a trace, or "" if the trace contains
// them.
func (t *Trace) ImagesFrom(file string) string {
	dir := t.Info().Images
	if dir == "" || filepath.IsAbs(dir) {
		return dir
	}
	return filepath.Join(filepath.Dir(file), dir)
}

// imagesVariable is the environment variable that names a directory of images (see run
// --images).
const imagesVariable = "HINDSIGHT_IMAGES"
