package report

import (
	"fmt"

	"hindsight/tracefmt/numtext"
)

// Prediction is the result of the run of a predicted race's witness.
type Prediction struct {
	// Shown says that the accesses raced in that run. If not, Diverged says what happened
	// instead.
	Shown    bool
	Diverged string
	// Reversed says that the witness takes critical sections in another order than the
	// recorded run did.
	Reversed bool
	// Schedule is the text form of the witness, or nil if there is none.
	Schedule []byte
	// Rerun says in which file the schedule is, once it is written, and how to run it.
	Rerun *Rerun
}

// jsonPrediction is the form of a prediction in JSON and SARIF.
type jsonPrediction struct {
	State    string `json:"state"` // shown or diverged
	Diverged string `json:"diverged,omitempty"`
	Reversed bool   `json:"reversed"`
	Schedule string `json:"schedule,omitempty"` // file
	Command  string `json:"command,omitempty"`
}

func jsonOfPrediction(p *Prediction) *jsonPrediction {
	if p == nil {
		return nil
	}
	out := &jsonPrediction{State: "diverged", Diverged: p.Diverged, Reversed: p.Reversed}
	if p.Shown {
		out.State = "shown"
	}
	if p.Rerun != nil {
		out.Schedule, out.Command = p.Rerun.Schedule, p.Rerun.Command
	}
	return out
}

// text describes the prediction in a sentence without its end.
func (p *Prediction) text() string {
	sections := ""
	if p.Reversed {
		sections = ", which takes critical sections in another order"
	}
	if p.Shown {
		return "predicted and shown: the recorded run orders the accesses; a run under another schedule" + sections + " raced"
	}
	return "predicted, replay diverged: " + p.Diverged
}

// Predict stores the results of predictions, in the order of the races from which the
// report was built. nil is a race that the run itself showed. Races that no witness run
// showed move from Races to Unshown.
func (r *Report) Predict(of []*Prediction) {
	if len(of) == 0 {
		return
	}
	r.predicted = true
	kept := r.Races[:0:0]
	for _, x := range r.Races {
		x.Prediction = of[x.index]
		if x.Prediction != nil && !x.Prediction.Shown {
			r.Unshown = append(r.Unshown, x)
		} else {
			kept = append(kept, x)
		}
	}
	r.Races = kept
	r.number()
	for i := range r.Unshown {
		r.Unshown[i].ID = fmt.Sprintf("P%d", i+1)
		r.Unshown[i].Group = r.Unshown[i].ID
	}
}

// prediction says that a predicted race was shown, and how to see it.
func (t *text) prediction(g *groupOf) {
	p := g.lead.Prediction
	if p == nil || g.observed {
		return
	}
	t.printf("  Prediction: %s\n", p.text())
	if p.Rerun != nil {
		t.printf("    %s\n", p.Rerun.Command)
	}
	t.printf("\n")
}

// unshown lists the predicted races whose witnesses did not race.
func (t *text) unshown() {
	for i := range t.rep.Unshown {
		x := &t.rep.Unshown[i]
		g := groupOf{lead: x}
		t.printf("%s  %s  %s: %s\n", x.ID, x.Location.Words(), g.where(), x.Prediction.text())
	}
	if t.rep.predicted {
		shown := 0
		for i := range t.rep.Races {
			if p := t.rep.Races[i].Prediction; p != nil {
				shown++
			}
		}
		t.printf("hindsight: %s of other schedules shown, %s only predicted (no warnings)\n",
			numtext.Plural(uint64(shown), "race"), numtext.Plural(uint64(len(t.rep.Unshown)), "race"))
	}
}
