package main

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"github.com/spf13/cobra"

	"hindsight/cdr"
	"hindsight/mpsim/image"
	"hindsight/tracefmt/outfile"
)

// placeText is a frame as reports have it: function file:line.
func placeText(f image.Frame) string {
	name := f.Function
	if name == "" {
		name = "??"
	}
	if f.File == "" {
		return name
	}
	return fmt.Sprintf("%s %s:%d", name, f.Base(), f.Line)
}

// completeTrace completes names of trace files.
func completeTrace(*cobra.Command, []string, string) ([]string, cobra.ShellCompDirective) {
	return []string{"hst"}, cobra.ShellCompDirectiveFilterFileExt
}

// openTrace opens a trace. Of a recording that was killed before anything of
// the run could be read it says where the beginning is.
func openTrace(file string) (*cdr.Trace, error) {
	t, err := cdr.Open(file)
	if errors.Is(err, os.ErrNotExist) {
		if _, serr := os.Stat(file + outfile.Partial); serr == nil {
			return nil, fmt.Errorf("%w (%s%s is of a recording that goes on, or was killed before its first epoch was written)", err, file, outfile.Partial)
		}
	}
	if err == nil {
		t.LookIn(os.Getenv(imagesVariable))
		t.LookIn(imagesOf(t, file))
	}
	return t, err
}

// imagesOf is the directory that has the images of a trace; "" if the trace has them.
func imagesOf(t *cdr.Trace, file string) string {
	dir := t.Info().Images
	if dir == "" || filepath.IsAbs(dir) {
		return dir
	}
	return filepath.Join(filepath.Dir(file), dir)
}

// imagesVariable names a directory of images (run --images) for those who read
// traces.
const imagesVariable = "HINDSIGHT_IMAGES"
