package counter

import (
	"context"
	"testing"
	"testing/synctest"
	"time"
)

// TestBubbleOrder: what goroutines of a bubble did until they stopped comes before
// the return of Wait, and of Test.
func TestBubbleOrder(t *testing.T) {
	last := 0
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		done, stopped, called := false, 0, false
		go func() { <-ctx.Done(); done = true }()
		go func() { stopped = 1; time.Sleep(time.Hour); last = 1 }()
		time.AfterFunc(time.Second, func() { called = true })
		time.Sleep(2 * time.Second)
		synctest.Wait()
		if !done || !called || stopped != 1 {
			t.Error(done, called, stopped)
		}
		time.Sleep(time.Hour)
	})
	if last != 1 {
		t.Error(last)
	}
}

// TestBubbleRace: the time of a bubble, by itself, orders no two of its goroutines.
func TestBubbleRace(t *testing.T) {
	synctest.Test(t, func(*testing.T) {
		n := 0
		go func() { n = 1 }()
		go func() { time.Sleep(time.Second); n = 2 }()
		time.Sleep(time.Minute)
		synctest.Wait()
		_ = n
	})
}
