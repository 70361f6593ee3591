package survey

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"

	"hindsight/analyze"
	"hindsight/analyze/report"
	"hindsight/mpsim/image"
	"hindsight/mpsim/session"
	"hindsight/mpsim/steer"
	"hindsight/mpsim/witness"
)

// Analysis finds the races in the traces of one program's runs. It may be used by several
// goroutines at once.
type Analysis struct {
	Program       *image.Space // the program of all traces; nil: each trace contains its own
	StrictAtomics bool         // plain accesses to atomic variables race
	Suppressions  []Rules
	Predict       bool           // also run what is predicted from each run
	Rerun         *session.Rerun // for predictions: what a trace does not contain of its run
	Source        func(trace string) steer.Source

	known witness.Known
}

// Rules is the text of a file of suppressions.
type Rules struct {
	Name string // of the file, for messages
	Text []byte
}

// Digest returns a name for the content of files of suppressions.
func Digest(rules []Rules) string {
	h := sha256.New()
	for _, r := range rules {
		fmt.Fprintf(h, "%d\n%s", len(r.Text), r.Text)
	}
	return hex.EncodeToString(h.Sum(nil))
}

// parse returns the suppressions, or nil if there are none. They count their matches, so
// each analysis needs its own copy.
func parse(rules []Rules) (*report.Suppressions, error) {
	if len(rules) == 0 {
		return nil, nil
	}
	all := &report.Suppressions{}
	for _, r := range rules {
		s, err := report.ParseSuppressions(r.Name, bytes.NewReader(r.Text))
		if err != nil {
			return nil, err
		}
		all.Rules = append(all.Rules, s.Rules...)
	}
	return all, nil
}

// Report finds the races of the trace in a file, and which of them are artifacts. It writes
// the schedules of predictions to the directory TRACE.schedules.
func (a *Analysis) Report(ctx context.Context, trace string) (*report.Report, error) {
	return a.report(ctx, trace, true)
}

// Brief finds the races of a trace without looking for artifacts.
func (a *Analysis) Brief(ctx context.Context, trace string) (*report.Report, error) {
	return a.report(ctx, trace, false)
}

func (a *Analysis) report(ctx context.Context, trace string, explain bool) (*report.Report, error) {
	o := analyze.RaceOptions{StrictAtomics: a.StrictAtomics}
	if !explain {
		o.Artifacts = analyze.ArtifactsOff
	}
	var err error
	if o.Suppressions, err = parse(a.Suppressions); err != nil {
		return nil, err
	}
	t, err := analyze.Open(trace)
	if err != nil {
		return nil, err
	}
	defer t.Close()
	if a.Program != nil {
		t.UseProgram(a.Program)
	}
	if a.Predict {
		o.Witnesses = &witness.Runner{Rerun: a.Rerun, Known: &a.known}
	}
	rep, err := t.Races(ctx, o)
	if err == nil && explain && a.Predict {
		err = steer.KeepWitnesses(ctx, t.Recorded(), a.Rerun, a.Source(trace), trace+".schedules", rep)
	}
	return rep, err
}

// Fingerprints returns the fingerprints of the races and the predicted deadlocks of a
// report.
func Fingerprints(rep *report.Report) []string {
	var prints []string
	for i := range rep.Races {
		prints = append(prints, rep.Races[i].Fingerprint)
	}
	for i := range rep.Deadlocks {
		prints = append(prints, rep.Deadlocks[i].Fingerprint)
	}
	return prints
}
