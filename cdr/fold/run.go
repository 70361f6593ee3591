package fold

import (
	"hindsight/cdr/format"
)

// Run is a strided run of accesses by one site: Count accesses at Base,
// Base+Stride, …
type Run struct {
	Site   format.SiteID
	Base   uint64
	Stride int64
	Count  uint64
	First  uint64 // ordinal of the first access, among all accesses of the thread by this site, from 0
}
