package linux

import (
	"testing"

	"hindsight/mpsim/linux/vfs"
)

// TestQueueNotify checks that mq_notify sends its signal once, when a message arrives in an
// empty queue that nobody waits for. qemu has no mq_notify, so the expectations come from
// mq_notify(7).
func TestQueueNotify(t *testing.T) {
	g := newGuest(t, Config{})
	const usr1 = 10
	blocked := g.words(g.data, 1<<(usr1-1))
	g.must(g.main, 135, 0, blocked, 0, sigSetBytes) // SIG_BLOCK
	name := g.str(g.data+64, "queue")
	q := g.must(g.main, 180, name, vfs.OpenCreate|vfs.OpenReadWrite|openNonblock, 0o600, 0)
	text := g.str(g.data+128, "x")
	event := g.words(g.data+256, 77, usr1) // value; signal and SIGEV_SIGNAL
	pending := g.data + 512
	sent := func(want bool) {
		t.Helper()
		g.must(g.main, 136, pending, sigSetBytes)
		if got := g.get64(pending)>>(usr1-1)&1 != 0; got != want {
			t.Errorf("a signal is pending: %v, not %v", got, want)
		}
	}

	g.must(g.main, 182, q, text, 1, 0, 0)
	g.must(g.main, 184, q, event)
	g.want(-EBUSY, g.main, 184, q, event)
	g.must(g.main, 182, q, text, 1, 0, 0) // the queue was not empty
	sent(false)
	for range 2 {
		g.must(g.main, 183, q, g.data+1024, 8192, 0, 0)
	}
	g.must(g.main, 182, q, text, 1, 0, 0)
	sent(true)
	got := g.must(g.main, 137, blocked, 0, g.words(g.data+2048, 0, 0), sigSetBytes)
	if got != usr1 {
		t.Errorf("signal %d", got)
	}
	g.must(g.main, 183, q, g.data+1024, 8192, 0, 0)
	g.must(g.main, 182, q, text, 1, 0, 0) // the notification was requested once
	sent(false)
	g.must(g.main, 184, q, event)
	g.must(g.main, 184, q, 0)
	g.must(g.main, 183, q, g.data+1024, 8192, 0, 0)
	g.must(g.main, 182, q, text, 1, 0, 0)
	sent(false)
	g.want(-EBADF, g.main, 184, 99, event)
}
