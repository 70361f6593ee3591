package session

import (
	"fmt"
	"os"

	"hindsight/mpsim"
)

// Written says where the files go that the guest writes.
type Written struct {
	Writable string // scratch layer over the root directory; "": the guest can write only to /tmp
	Save     string // directory for the files that it wrote; "": they are not kept
}

// over returns the directory that hides the guest's root, or "" if it does not exist.
func (w *Written) over() string {
	if info, err := os.Stat(w.Writable); err != nil || !info.IsDir() {
		return ""
	}
	return w.Writable
}

// Check creates the directories, so that errors are found before the run and not after it.
func (w *Written) Check() error {
	for _, dir := range []string{w.Writable, w.Save} {
		if dir == "" {
			continue
		}
		if err := os.MkdirAll(dir, 0o755); err != nil {
			return fmt.Errorf("files of the guest: %w", err)
		}
	}
	return nil
}

// Keep copies the files that a run wrote to their destination.
func (w *Written) Keep(res *mpsim.Result) error {
	for _, to := range []struct {
		dir       string
		temporary bool
	}{{w.Writable, false}, {w.Save, true}} {
		if to.dir == "" || res == nil {
			continue
		}
		if err := res.Written.Save(to.dir, to.temporary); err != nil {
			return fmt.Errorf("files that the guest wrote: %w", err)
		}
	}
	return nil
}
