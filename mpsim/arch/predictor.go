package arch

import "math/bits"

// predictor is gshare (McFarling, "Combining Branch Predictors", WRL TN-36, 1993, section
// 7): two-bit saturating counters, indexed by the branch's address xor the outcomes of the
// hart's last branches. A history shorter than the index is combined with its upper bits.
type predictor struct {
	counters []uint8 // 0, 1: not taken; 2, 3: taken
	history  uint64
	keep     uint64 // mask of the history
	shift    uint   // of the history in the index
}

// weakly is the initial value of counters: not taken, but quick to change.
const weakly = 1

func newPredictor(c *Config) predictor {
	p := predictor{
		counters: make([]uint8, c.Table),
		keep:     1<<c.HistoryBits - 1,
		shift:    uint(bits.Len(uint(c.Table)) - 1 - c.HistoryBits),
	}
	for i := range p.counters {
		p.counters[i] = weakly
	}
	return p
}

// branch predicts the branch at pc, updates the predictor with the outcome, and reports
// whether the prediction was right. Instructions have at least two bytes, so the lowest bit
// of pc is not used.
func (p *predictor) branch(pc uint64, taken bool) (right bool) {
	at := (pc>>1 ^ p.history<<p.shift) & uint64(len(p.counters)-1)
	c := p.counters[at]
	right = c >= 2 == taken
	p.history <<= 1
	if taken {
		p.history |= 1
		p.counters[at] = min(c+1, 3)
	} else {
		p.counters[at] = c - min(c, 1)
	}
	p.history &= p.keep
	return right
}
