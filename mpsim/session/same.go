package session

import (
	"errors"
	"fmt"
	"iter"
	"os"

	"hindsight/cdr"
	"hindsight/cdr/format"
	"hindsight/tracefmt"
	"hindsight/tracefmt/event"
	"hindsight/tracefmt/numtext"
)

// ErrOtherRun says that a rerun differs from the run in the trace.
var ErrOtherRun error = &OptionError{
	Options: []string{"stdin", "root", "limits"},
	Err:     errors.New("the rerun is not the run in the trace; give it the same standard input, files and limits"),
}

// CheckSame compares a trace with that of a rerun. The error is [ErrOtherRun] if they
// differ.
func CheckSame(t *cdr.Trace, oldFile, newFile string, part *Window) error {
	n, err := cdr.OpenFile(newFile)
	if err != nil {
		return err
	}
	defer n.Close()
	meta, again := t.Info(), n.Info()
	if meta.Complete && again.Complete && meta.Outcome != nil && again.Outcome != nil {
		if err := sameOutcome(meta.Outcome, again.Outcome); err != nil {
			return err
		}
	}
	if part != nil && part.From >= again.Outcome.Insts {
		return optionErrorf("from", "instruction %d is after the end of the run, which has %s instructions", part.From, numtext.Grouped(again.Outcome.Insts))
	}
	if meta.Mode == format.ModeSchedule {
		return nil // nothing more is known about it
	}
	if same, err := sameBlocks(oldFile, newFile); err != nil || same {
		return err
	}
	return SameSteps(t, n)
}

// sameOutcome compares the ends of two runs.
func sameOutcome(a, b *event.Outcome) error {
	if a.Insts != b.Insts || a.Threads != b.Threads || a.Status != b.Status && a.Message == b.Message {
		return fmt.Errorf("%w: it ended after %s instructions with status %d, then %s and %d",
			ErrOtherRun, numtext.Grouped(a.Insts), a.Status, numtext.Grouped(b.Insts), b.Status)
	}
	return nil
}

// sameBlocks reports whether two files contain the same control flow, addresses and events,
// as they do if both runs were recorded in the same way.
func sameBlocks(a, b string) (bool, error) {
	fa, ra, err := openBlocks(a)
	if err != nil {
		return false, err
	}
	defer fa.Close()
	fb, rb, err := openBlocks(b)
	if err != nil {
		return false, err
	}
	defer fb.Close()
	ha, hb := runBlocks(ra), runBlocks(rb)
	if len(ha) != len(hb) {
		return false, nil
	}
	for i := range ha {
		if ha[i].Kind != hb[i].Kind || ha[i].Thread != hb[i].Thread || ha[i].Raw != hb[i].Raw {
			return false, nil
		}
		pa, err := ra.Read(ha[i])
		if err != nil {
			return false, err
		}
		pb, err := rb.Read(hb[i])
		if err != nil || string(pa) != string(pb) {
			return false, err
		}
	}
	return true, nil
}

func openBlocks(file string) (*os.File, *tracefmt.Reader, error) {
	f, err := os.Open(file)
	if err != nil {
		return nil, nil, err
	}
	st, err := f.Stat()
	if err == nil {
		var r *tracefmt.Reader
		if r, err = tracefmt.NewReader(f, st.Size(), tracefmt.ReaderOptions{}); err == nil {
			return f, r, nil
		}
	}
	f.Close()
	return nil, nil, err
}

func runBlocks(r *tracefmt.Reader) (list []tracefmt.Handle) {
	for _, h := range r.Blocks() {
		switch h.Kind {
		case tracefmt.KindTables, tracefmt.KindControl, tracefmt.KindData, tracefmt.KindSync:
			list = append(list, h)
		}
	}
	return list
}

// SameSteps compares two traces access by access and event by event. If t is incomplete,
// only the part that it contains is compared.
func SameSteps(t, again *cdr.Trace) error {
	cut := !t.Info().Complete
	if len(again.Threads()) < len(t.Threads()) {
		return fmt.Errorf("%w: it has %d threads, then %d", ErrOtherRun, len(t.Threads()), len(again.Threads()))
	}
	err := lockstep(t.Events(), again.Events(), cut, func(a, b format.Event, n uint64) error {
		if a.Event != b.Event || a.Thread != b.Thread || a.Index != b.Index {
			return fmt.Errorf("%w: ordered event %d is %v of T%d, then %v of T%d", ErrOtherRun, n, a.Kind, a.Thread, b.Kind, b.Thread)
		}
		return nil
	})
	for i, th := range t.Threads() {
		if err != nil {
			return err
		}
		if o := again.Threads()[i]; !cut && (o.Insts != th.Insts || o.Blocks != th.Blocks) {
			return fmt.Errorf("%w: T%d executed %s instructions, then %s", ErrOtherRun, th.ID, numtext.Grouped(th.Insts), numtext.Grouped(o.Insts))
		}
		if t.Info().Keep != again.Info().Keep {
			continue
		}
		err = lockstep(t.Steps(th.ID), again.Steps(th.ID), cut, func(a, b cdr.Step, n uint64) error {
			if a.IsEvent == b.IsEvent && (a.IsEvent || a.Address == b.Address && t.Site(a.Site) == again.Site(b.Site)) {
				return nil
			}
			return fmt.Errorf("%w: step %s of T%d differs", ErrOtherRun, numtext.Grouped(n), th.ID)
		})
	}
	return err
}

// errLength says that a rerun has more or fewer steps.
var errLength = fmt.Errorf("%w: one of them is longer", ErrOtherRun)

// lockstep compares two sequences. With cut, the first may end earlier.
func lockstep[T any](a, b iter.Seq2[T, error], cut bool, compare func(x, y T, n uint64) error) error {
	next, stop := iter.Pull2(b)
	defer stop()
	n := uint64(0)
	for x, err := range a {
		if err != nil {
			return err
		}
		y, err, ok := next()
		if err != nil {
			return err
		}
		if !ok {
			return errLength
		}
		if err := compare(x, y, n); err != nil {
			return err
		}
		n++
	}
	if _, err, ok := next(); !cut && (ok || err != nil) {
		return errors.Join(errLength, err)
	}
	return nil
}
