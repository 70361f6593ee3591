package order

import (
	"context"
	"math/rand/v2"
	"testing"

	"hindsight/analyze/internal/madeup"
	"hindsight/analyze/race"
	"hindsight/analyze/replay"
	"hindsight/tracefmt/event"
)

// TestInstancesAgainstAll checks that the instances of all pairs of a run are those that
// happens-before, as a matrix, does not order, and that the others are ordered, with a
// release and an acquire between them.
func TestInstancesAgainstAll(t *testing.T) {
	placeOf := func(m *madeup.Moment) race.Place {
		if m.Site.Access == event.Write {
			return race.Place{PC: m.Site.PC, Op: replay.Write}
		}
		return race.Place{PC: m.Site.PC, Op: replay.Read}
	}
	races, orders := 0, 0
	for seed := range uint64(300) {
		m := madeup.Program(rand.New(rand.NewPCG(seed, 7)).IntN, 20+int(seed%20))
		if seed%2 == 0 {
			m = madeup.Sections(rand.New(rand.NewPCG(seed, 8)), 3)
		}
		all := m.Linear()
		_, hb, _ := madeup.Orders(all)
		want, first := map[key]int{}, map[key]bool{} // instances; whether one is ordered
		for j := range all {
			for i := range j {
				if !all[i].Conflicts(&all[j]) {
					continue
				}
				if k := keyOf(placeOf(&all[i]), placeOf(&all[j])); !hb[i][j] {
					want[k]++
				} else if _, is := want[k]; !is {
					want[k], first[k] = 0, true
				} else {
					first[k] = true
				}
			}
		}
		var pairs [][2]race.Place
		var questions []Question
		for k := range want {
			pairs = append(pairs, [2]race.Place{k.a, k.b})
			questions = append(questions, Question{[2]func(race.Place, uint64) bool{
				func(p race.Place, _ uint64) bool { return p == k.a }, func(p race.Place, _ uint64) bool { return p == k.b },
			}})
		}
		const many = 1000
		found, err := Instances(context.Background(), m, Options{}, pairs, many)
		if err != nil {
			t.Fatal(err)
		}
		answers, err := Settle(context.Background(), m, Options{}, questions)
		if err != nil {
			t.Fatal(err)
		}
		for i, p := range pairs {
			k := keyOf(p[0], p[1])
			races += want[k]
			if len(found[i]) != want[k] {
				t.Fatalf("seed %d: %v: %d instances, want %d", seed, k, len(found[i]), want[k])
			}
			a := &answers[i]
			if want[k] > 0 != a.Races && !first[k] || a.Races && want[k] == 0 {
				t.Fatalf("seed %d: %v: races %v, want %d", seed, k, a.Races, want[k])
			}
			if want[k] > 0 {
				continue
			}
			orders++
			if a.Later == nil || a.Release == nil || a.Acquire == nil || a.Release.Thread != a.Earlier.Thread || a.Acquire.Thread != a.Later.Thread || a.Release.Seq >= a.Acquire.Seq {
				t.Fatalf("seed %d: %v: %+v", seed, k, a)
			}
		}
	}
	if races < 100 || orders < 100 {
		t.Errorf("%d races, %d ordered", races, orders)
	}
}
