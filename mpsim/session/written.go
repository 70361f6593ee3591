package session

import (
	"fmt"
	"os"

	"hindsight/mpsim"
)

// Written says where the files that the guest writes go.
type Written struct {
	Writable string // scratch layer over the root directory; "": the guest writes to /tmp only
	Save     string // where the files that it wrote are kept; "": nowhere
}

// over is the directory that the guest sees over its root; "" while it is not there.
func (w *Written) over() string {
	if info, err := os.Stat(w.Writable); err != nil || !info.IsDir() {
		return ""
	}
	return w.Writable
}

// Check creates the directories, so that an error shows before the run and not after it.
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

// Keep copies the files that a run wrote to where they are to be kept.
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
