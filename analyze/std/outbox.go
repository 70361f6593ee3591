package std

import (
	"cmp"
	"slices"

	"hindsight/tracefmt/event"
)

// outbox has the messages that strands must send, by the epochs whose end sends them. The
// first walk along S_synch finds them, and the second sends them.
type outbox struct {
	letters [][]letter // by strand
	next    []int      // of letters, to send
	missed  int        // epochs that never ended
}

// letter is a message whose sender is known. These 16 bytes for each edge that is not a
// mutex's are the only memory of an export that grows with the length of a run.
type letter struct{ epoch, message uint64 }

// put adds a message that strand s sends at the end of an epoch.
func (o *outbox) put(s event.StrandID, epoch, message uint64) {
	for len(o.letters) <= int(s) {
		o.letters = append(o.letters, nil)
	}
	o.letters[s] = append(o.letters[s], letter{epoch, message})
}

// sort prepares the outbox for take.
func (o *outbox) sort() {
	o.next = make([]int, len(o.letters))
	for _, list := range o.letters {
		slices.SortFunc(list, func(a, b letter) int { return cmp.Or(cmp.Compare(a.epoch, b.epoch), cmp.Compare(a.message, b.message)) })
	}
}

// take returns the messages that strand s sends at the end of an epoch. The epochs of a
// strand must ascend.
func (o *outbox) take(s event.StrandID, epoch uint64) []letter {
	if int(s) >= len(o.letters) {
		return nil
	}
	list := o.letters[s]
	for o.next[s] < len(list) && list[o.next[s]].epoch < epoch {
		o.next[s]++
		o.missed++
	}
	from := o.next[s]
	for o.next[s] < len(list) && list[o.next[s]].epoch == epoch {
		o.next[s]++
	}
	return list[from:o.next[s]]
}

// left returns the number of messages that were not sent.
func (o *outbox) left() int {
	n := o.missed
	for s, list := range o.letters {
		n += len(list) - o.next[s]
	}
	return n
}
