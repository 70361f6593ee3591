package synclog

import (
	"fmt"
	"math/rand/v2"
	"testing"

	"hindsight/tracefmt/event"
)

// logged is an event of a thread.
type logged struct {
	event.Event
	Thread event.ThreadID
}

// syncStrings returns sequences of events: regular ones, and ones that no predictor can
// predict.
func syncStrings() map[string][]logged {
	rnd := rand.New(rand.NewPCG(3, 4))
	all := map[string][]logged{"none": nil}
	add := func(name string, th event.ThreadID, e event.Event) {
		all[name] = append(all[name], logged{Event: e, Thread: th})
	}
	for i := range 3000 {
		th := event.ThreadID(i / 7 % 3)
		add("turns", th, event.Event{Kind: event.MutexLock, PC: 0x1000, Obj: 0x5000})
		add("strides", th*5, event.Event{Kind: event.MutexUnlock, Mode: event.Returns, PC: uint64(0x1000 + i%3*4), Obj: uint64(i%3)<<20 + uint64(i)*40, Arg: uint64(i / 100)})
		add("noise", event.ThreadID(rnd.IntN(40)), event.Event{
			Kind: event.Kind(rnd.IntN(int(event.NumKinds))), Mode: event.Mode(rnd.IntN(256)), Size: rnd.Uint32(),
			PC: rnd.Uint64(), Obj: rnd.Uint64() >> rnd.IntN(64), Arg: rnd.Uint64() >> rnd.IntN(64),
		})
		add("extremes", event.ThreadID(i&1), event.Event{Obj: -uint64(i & 1), Arg: 1 << 63 * uint64(i>>1&1), PC: -uint64(i >> 2 & 1)})
	}
	for th := range event.ThreadID(300) {
		add("threads", th, event.Event{Kind: event.MutexLock, Obj: uint64(th)})
	}
	// Two threads do nearly the same in each step, with random objects.
	objects := make([]uint64, 500)
	for i := range objects {
		objects[i] = uint64(rnd.IntN(2000)) * 56
	}
	for i := range 8000 {
		k := i % len(objects)
		objects[k] += uint64(rnd.IntN(2)) * 56
		add("steps", event.ThreadID(k/250), event.Event{Kind: event.MutexLock, PC: 0x10, Obj: objects[k]})
		add("steps", event.ThreadID(k/250), event.Event{Kind: event.MutexUnlock, PC: 0x20, Obj: objects[k]})
	}
	return all
}

// encodeEvents returns a sync block as a recorder writes it, and the threads as its
// commit block lists them.
func encodeEvents(t testing.TB, events []logged) ([]byte, []Thread) {
	var s Recorder
	count := map[event.ThreadID]uint64{}
	for i := range events {
		e := &events[i]
		s.Add(e.Thread, &e.Event)
		count[e.Thread]++
	}
	var threads []Thread
	for id := range event.ThreadID(1000) {
		if n := count[id]; n > 0 {
			threads = append(threads, Thread{ID: id, Events: n})
		}
	}
	b, err := s.Encode(threads)
	if err != nil {
		t.Fatal(err)
	}
	return b, threads
}

func TestRoundTrip(t *testing.T) {
	for name, events := range syncStrings() {
		b, threads := encodeEvents(t, events)
		c, err := Replay(b, threads)
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		for i := 0; ; i++ {
			th, e, ok, err := c.Next()
			if err != nil {
				t.Fatalf("%s, event %d: %v", name, i, err)
			}
			if !ok {
				if i != len(events) {
					t.Fatalf("%s: %d events of %d", name, i, len(events))
				}
				break
			}
			if th != events[i].Thread || e != events[i].Event {
				t.Fatalf("%s, event %d: thread %d %+v, want %+v", name, i, th, e, events[i])
			}
		}
	}
}

// TestSizes checks that predictable events take next to no space, and that in a step that
// resembles the previous one an object takes little more than what is new in it.
func TestSizes(t *testing.T) {
	all := syncStrings()
	for name, most := range map[string]float64{"turns": 0.3, "strides": 2, "steps": 2.5} {
		b, _ := encodeEvents(t, all[name])
		if got := float64(8*len(b)) / float64(len(all[name])); got > most {
			t.Errorf("%s: %.3f bits an event, want at most %v", name, got, most)
		}
	}
}

// TestDamage checks that a damaged block yields an error or other events, and nothing
// worse.
func TestDamage(t *testing.T) {
	rnd := rand.New(rand.NewPCG(5, 6))
	for name, events := range syncStrings() {
		b, threads := encodeEvents(t, events)
		for i := range 60 {
			bad := append([]byte(nil), b...)
			if i%2 == 0 {
				bad = bad[:len(bad)*i/60]
			} else {
				bad[rnd.IntN(len(bad))] ^= 1 << rnd.IntN(8)
			}
			c, err := Replay(bad, threads)
			n := 0
			for ok := err == nil; ok; n++ {
				_, _, ok, err = c.Next()
			}
			if err == nil && n-1 != len(events) {
				t.Fatalf("%s: %d events without an error", name, n-1)
			}
			if i%2 == 0 && err == nil && len(events) > 0 {
				t.Errorf("%s: cut at %d unnoticed", name, len(bad))
			}
		}
	}
}

func TestFindLag(t *testing.T) {
	rnd := rand.New(rand.NewPCG(1, 1))
	for _, lag := range []int{0, 50, 333, 1200} {
		objects := make([]uint64, 4000)
		for i := range objects {
			objects[i] = uint64(rnd.IntN(300))
			if lag > 0 && i >= lag && rnd.IntN(3) > 0 {
				objects[i] = objects[i-lag]
			}
		}
		if got := findLag(objects); got != lag {
			t.Errorf("lag %d, found %d", lag, got)
		}
	}
}

func BenchmarkLog(b *testing.B) {
	events := syncStrings()["steps"]
	payload, threads := encodeEvents(b, events)
	b.Run("write", func(b *testing.B) {
		for b.Loop() {
			encodeEvents(b, events)
		}
		b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N*len(events)), "ns/event")
	})
	b.Run("read", func(b *testing.B) {
		for b.Loop() {
			c, err := Replay(payload, threads)
			for ok := err == nil; ok; {
				_, _, ok, err = c.Next()
			}
			if err != nil {
				b.Fatal(fmt.Errorf("replay: %w", err))
			}
		}
		b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N*len(events)), "ns/event")
	})
}
