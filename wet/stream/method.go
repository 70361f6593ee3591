package stream

import "fmt"

// Method says how a stream is predicted. The numbers are part of the binary form.
type Method uint8

// The methods. Of several that compress the trial prefix equally well, the first is
// chosen, because earlier ones are cheaper to walk and to seek in.
const (
	Plain       Method = iota // bit-packed values, no prediction
	Last1                     // the last new value
	Last3                     // 3
	Last15                    // 15
	LastStride1               // the last strides that were new
	LastStride3
	LastStride15
	FCM1 // finite context method, context of 1 value
	FCM2
	FCM3
	DFCM1 // finite context method on strides
	DFCM2
	DFCM3
	numMethods
)

var methodNames = [numMethods]string{
	"plain", "last-1", "last-3", "last-15", "last-stride-1", "last-stride-3", "last-stride-15",
	"fcm-1", "fcm-2", "fcm-3", "dfcm-1", "dfcm-2", "dfcm-3",
}

func (m Method) String() string {
	if m < numMethods {
		return methodNames[m]
	}
	return fmt.Sprintf("method-%d", uint8(m))
}

// family says which of the three walks a method needs.
type family uint8

const (
	familyPlain family = iota
	familyLast
	familyContext
)

func (m Method) family() family {
	switch {
	case m == Plain:
		return familyPlain
	case m < FCM1:
		return familyLast
	}
	return familyContext
}

// strides reports whether symbols are differences of neighbours.
func (m Method) strides() bool {
	return m >= LastStride1 && m <= LastStride15 || m >= DFCM1
}

// order returns the context size of a finite context method, or 0.
func (m Method) order() int {
	if m < FCM1 {
		return 0
	}
	return int(m-FCM1)%3 + 1
}

// codeBits returns the width of a value's code: 0 for plain values, one bit (hit or miss)
// for a context, and for last-n the number of the prediction that was right, or 0 for a
// miss. The sizes 1, 3 and 15 fill their codes.
func (m Method) codeBits() uint {
	switch m {
	case Plain:
		return 0
	case Last3, LastStride3:
		return 2
	case Last15, LastStride15:
		return 4
	}
	return 1
}

// lastSize is n of a last-n method.
func (m Method) lastSize() int { return 1<<m.codeBits() - 1 }

// Sizes of the context tables, as bits of an index. The package comment says why. A
// stream shorter than the trial gets a table that is not larger than the stream.
const (
	minTableBits = 4
	maxTableBits = 12
)

// tableBits returns the size of the tables for a stream of which length values are known
// when the method is chosen.
func (m Method) tableBits(length uint64) uint {
	order := m.order()
	if order == 0 {
		return 0
	}
	most := uint(maxTableBits - 3 + order)
	bits := uint(minTableBits)
	for bits < most && 1<<bits < length {
		bits++
	}
	return bits
}

// zigzag maps a difference of two values, modulo 2^64, to a number that is small if the
// difference is small in either direction.
func zigzag(d uint64) uint64 { return d<<1 ^ uint64(int64(d)>>63) }

func unzigzag(z uint64) uint64 { return z>>1 ^ -(z & 1) }
