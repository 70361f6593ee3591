package pass

import (
	"sync"
	"sync/atomic"
)

// A pass over the run sends its accesses, in the order of units, to workers that each
// process their own part of memory. All workers get all items.

type itemKind uint8

const (
	ItemRun    itemKind = iota // executions of a site, times at each of count addresses
	ItemExtent                 // bytes accessed
	ItemEvent                  // an event that is an access
	ItemCut                    // memory begins a new life
)

// Item is something that happens to memory.
type Item struct {
	Kind   itemKind
	Write  bool
	Lane   Lane
	Unit   int32  // index of batch.units
	Access uint32 // index of the accesses of the run
	Bits   int32  // 1 + index of batch.bits, of the single block of an extent, see fold.Extent; 0: none
	Base   uint64
	Stride uint64
	Count  uint64
	Size   uint64 // bytes of each of count blocks, of an event or of what begins a new life
	// times of a run, index of the event, or 1-based position of the cut in S_synch
	Number uint64
}

// Batch has a number of items in order and, for each worker, those that it must process.
type Batch struct {
	Units   []Unit
	Clocks  []uint64
	Bits    [][]uint64
	Items   [][]Item
	All     int          // items
	Horizon *Horizon     // of a moment before the first item
	left    atomic.Int32 // workers that have not processed it
}

func (b *Batch) reset() {
	clear(b.Bits)
	b.Units, b.Clocks, b.Bits, b.All, b.Horizon = b.Units[:0], b.Clocks[:0], b.Bits[:0], 0, nil
	for i := range b.Items {
		b.Items[i] = b.Items[i][:0]
	}
}

// Taker processes the items of a pass.
type Taker interface {
	// Take processes items of a batch. It must not keep the batch.
	Take(b *Batch, items []Item) error
}

// Crew has the workers of a pass.
type Crew struct {
	takers  []Taker
	in      []chan *Batch
	free    chan *Batch
	pending sync.WaitGroup // batches times workers
	workers sync.WaitGroup
	mu      sync.Mutex
	err     error
}

// ahead is how many batches a worker may be behind.
const ahead = 4

// NewCrew starts the workers. A single worker runs in the calling goroutine.
func NewCrew(takers []Taker) *Crew {
	c := &Crew{takers: takers, free: make(chan *Batch, ahead+2)}
	if len(takers) == 1 {
		return c
	}
	for i, t := range takers {
		in := make(chan *Batch, ahead)
		c.in = append(c.in, in)
		c.workers.Go(func() {
			failed := false
			for b := range in {
				if !failed {
					if err := t.Take(b, b.Items[i]); err != nil {
						failed = true
						c.fail(err)
					}
				}
				c.release(b)
				c.pending.Done()
			}
		})
	}
	return c
}

// Fresh returns an empty batch.
func (c *Crew) Fresh() *Batch {
	select {
	case b := <-c.free:
		b.reset()
		return b
	default:
		return &Batch{Items: make([][]Item, len(c.takers))}
	}
}

// release records that the worker has processed the batch.
func (c *Crew) release(b *Batch) {
	if b.left.Add(-1) > 0 {
		return
	}
	select {
	case c.free <- b:
	default:
	}
}

func (c *Crew) fail(err error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.err == nil {
		c.err = err
	}
}

func (c *Crew) failed() error {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.err
}

// Put sends a batch to the workers. The batch must not be changed any more.
func (c *Crew) Put(b *Batch) error {
	if len(c.takers) == 1 {
		b.left.Store(1)
		err := c.takers[0].Take(b, b.Items[0])
		c.release(b)
		return err
	}
	c.pending.Add(len(c.in))
	b.left.Store(int32(len(c.in)))
	for _, in := range c.in {
		in <- b
	}
	return c.failed()
}

// Wait returns when all batches are processed.
func (c *Crew) Wait() { c.pending.Wait() }

// Stop ends the workers.
func (c *Crew) Stop() error {
	for _, in := range c.in {
		close(in)
	}
	c.workers.Wait()
	return c.failed()
}
