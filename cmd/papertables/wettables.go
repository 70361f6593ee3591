package main

import (
	"math"
	"slices"

	"hindsight/mpsim/arch"
	"hindsight/wet"
)

const publishedName = "MICRO 2004, average"

// wetTables makes the tables of what was measured, with the paper's averages.
func wetTables(all []*wetMeasured) []*table {
	return []*table{
		wetSizeTable(all), wetNodeTable(all), wetEdgeTable(all), wetArchTable(all), wetBuildTable(all),
		wetFlowTable(all), wetLoadTable(all), wetAddrTable(all), wetSliceTable(all),
	}
}

func megabytes(n uint64) float64 { return float64(n) / mega }

// original, tier1 and tier2 are a graph's bytes as the paper counts them.
func original(s *wet.Sizes) uint64 { return s.Times.Orig + s.Values.Orig + s.Edges.Orig }

func tier1(s *wet.Sizes) uint64 {
	return s.Times.Tier1 + s.Patterns.Tier1 + s.Values.Tier1 + s.Edges.Tier1
}

func wetSizeTable(all []*wetMeasured) *table {
	t := &table{id: "micro2004-1", title: "MICRO 2004, Table 1: sizes of whole execution traces",
		notes: []string{
			"Comp. is the whole graph in the file: labels, nodes, tables. zstd compresses the untyped raw trace: 4 bytes per block, 8 per value or address.",
			"The paper's statements are Trimaran's; ours are RISC-V instructions. The aim is less than 0.25 bytes per statement on average.",
		},
		head: []string{"program", "M stmts", "orig. MB", "tier 1 MB", "comp. MB", "orig./comp.", "bytes/stmt", "raw MB", "zstd -19 --long MB", "comp./zstd"}}
	sum := 0.0
	for _, m := range all {
		perStmt := float64(m.sizes.Stored) / float64(m.counts.Stmts)
		sum += perStmt
		zstd, against := math.NaN(), math.NaN()
		if m.packed > 0 {
			zstd, against = float64(m.packed)/mega, float64(m.sizes.Stored)/float64(m.packed)
		}
		raw := math.NaN()
		if m.raw > 0 {
			raw = megabytes(m.raw)
		}
		t.add(m.name, megabytes(m.counts.Stmts), megabytes(original(&m.sizes)), megabytes(tier1(&m.sizes)), megabytes(m.sizes.Stored),
			float64(original(&m.sizes))/float64(m.sizes.Stored), perStmt, raw, zstd, against)
	}
	t.add("average", "", "", "", "", "", sum/float64(len(all)), "", "", "")
	t.add(publishedName, 646.90, 9588.99, "–", 331.25, 41.33, 0.51, "–", "–", "–")
	return t
}

func wetNodeTable(all []*wetMeasured) *table {
	t := &table{id: "micro2004-2", title: "MICRO 2004, Table 2: effect of compression on node labels",
		notes: []string{"Originally 4 bytes per timestamp of a statement, and 8 per value (the paper's values have 4)."},
		head:  []string{"program", "ts orig. MB", "/tier 1", "/tier 2", "values orig. MB", "/tier 1", "/tier 2"}}
	for _, m := range all {
		s := &m.sizes
		t.add(m.name, megabytes(s.Times.Orig), ratio(float64(s.Times.Orig), float64(s.Times.Tier1)), ratio(float64(s.Times.Orig), float64(s.Times.Tier2)),
			megabytes(s.Values.Orig), ratio(float64(s.Values.Orig), float64(s.Values.Tier1+s.Patterns.Tier1)), ratio(float64(s.Values.Orig), float64(s.Values.Tier2+s.Patterns.Tier2)))
	}
	t.add(publishedName, 2467.74, 37.74, 230.99, 1731.13, 2.63, 11.51)
	return t
}

func wetEdgeTable(all []*wetMeasured) *table {
	t := &table{id: "micro2004-3", title: "MICRO 2004, Table 3: effect of compression on edge labels",
		head: []string{"program", "orig. MB", "/tier 1", "/tier 2"}}
	for _, m := range all {
		e := m.sizes.Edges
		t.add(m.name, megabytes(e.Orig), ratio(float64(e.Orig), float64(e.Tier1)), ratio(float64(e.Orig), float64(e.Tier2)))
	}
	t.add(publishedName, 5390.12, 14.43, 130.31)
	return t
}

func wetArchTable(all []*wetMeasured) *table {
	t := &table{id: "micro2004-4", title: "MICRO 2004, Table 4: architecture bits, one bit per branch, load and store, uncompressed",
		head: []string{"program", "branch MB", "load MB", "store MB"}}
	for _, m := range all {
		t.add(m.name, megabytes(m.arch[arch.Branches]/8), megabytes(m.arch[arch.Loads]/8), megabytes(m.arch[arch.Stores]/8))
	}
	t.add(publishedName, 9.46, 11.74, 5.81)
	return t
}

func wetBuildTable(all []*wetMeasured) *table {
	t := &table{id: "micro2004-5", title: "MICRO 2004, Table 5: construction",
		notes: []string{"Includes the simulation, as in the paper. The aims are 2 M statements per second and 2 GiB for 100 M statements."},
		head:  []string{"program", "M stmts", "seconds", "M stmts/s", "MB resident"}}
	for _, m := range all {
		peak := math.NaN()
		if m.peak > 0 {
			peak = float64(m.peak) / mega
		}
		t.add(m.name, megabytes(m.counts.Stmts), m.build.Seconds(), megabytes(m.counts.Stmts)/m.build.Seconds(), peak)
	}
	t.add(publishedName, 127.09, 36.27*60, 127.09/(36.27*60), "–")
	return t
}

func wetFlowTable(all []*wetMeasured) *table {
	t := &table{id: "micro2004-6", title: "MICRO 2004, Table 6: extracting control flow",
		notes: []string{"4 bytes per statement, as in the paper's sizes; MB/s. The aims: over 100 after tier 2, backward within 1.3 times forward."},
		head:  []string{"program", "MB", "forward, tier 1", "tier 2", "backward, tier 1", "tier 2", "time backward/forward, tier 2"}}
	for _, m := range all {
		a, b := m.queries[0], m.queries[1]
		t.add(m.name, b.flow/mega, ratio(a.flow/mega, a.forward), ratio(b.flow/mega, b.forward), ratio(a.flow/mega, a.backward), ratio(b.flow/mega, b.backward),
			ratio(b.backward, b.forward))
	}
	t.add(publishedName, 508.38, 171.08, 143.31, 177.92, 149.84, 19.40/20.72)
	return t
}

// seconds returns a time; NaN when it was not measured.
func (q *wetQueries) seconds(t float64) float64 {
	if !q.known {
		return math.NaN()
	}
	return t
}

func wetLoadTable(all []*wetMeasured) *table {
	t := &table{id: "micro2004-7", title: "MICRO 2004, Table 7: values of loads, instruction by instruction",
		notes: []string{"8 bytes per value (the paper's have 4). The aim: tier 2 within 4 times of tier 1."},
		head:  []string{"program", "MB", "tier 1 s", "MB/s", "tier 2 s", "MB/s", "tier 2/tier 1"}}
	for _, m := range all {
		a, b := m.queries[0], m.queries[1]
		t.add(m.name, b.loads/mega, a.seconds(a.loadTime), ratio(a.loads/mega, a.loadTime), b.seconds(b.loadTime), ratio(b.loads/mega, b.loadTime), ratio(b.loadTime, a.loadTime))
	}
	t.add(publishedName, 74.56, 47.41, 4.57, 210.28, 1.44, 210.28/47.41)
	return t
}

func wetAddrTable(all []*wetMeasured) *table {
	t := &table{id: "micro2004-8", title: "MICRO 2004, Table 8: addresses of loads and stores, instruction by instruction",
		notes: []string{"8 bytes per address (the paper's have 4). The aim: tier 2 within 4 times of tier 1."},
		head:  []string{"program", "MB", "tier 1 s", "MB/s", "tier 2 s", "MB/s", "tier 2/tier 1"}}
	for _, m := range all {
		a, b := m.queries[0], m.queries[1]
		t.add(m.name, b.addrs/mega, a.seconds(a.addrTime), ratio(a.addrs/mega, a.addrTime), b.seconds(b.addrTime), ratio(b.addrs/mega, b.addrTime), ratio(b.addrTime, a.addrTime))
	}
	t.add(publishedName, 114.66, 79.10, 4.67, 226.05, 1.43, 226.05/79.10)
	return t
}

func wetSliceTable(all []*wetMeasured) *table {
	t := &table{id: "micro2004-9", title: "MICRO 2004, Table 9: slices, 25 random ones per program",
		notes: []string{"Backward along all dependences, across threads; seconds. The aims: a median under 1 after tier 2, tier 2 within 5 times of tier 1."},
		head:  []string{"program", "instances, mean", "tier 1 mean", "median", "tier 2 mean", "median", "slowest", "ns per instance", "tier 2/tier 1"}}
	for _, m := range all {
		a, b := m.queries[0], m.queries[1]
		slowest, each := math.NaN(), math.NaN()
		if len(b.slices) > 0 {
			slowest = slices.Max(b.slices)
			each = ratio(b.sliceMean*float64(len(b.slices))*1e9, float64(b.instances))
		}
		tier1, tier1Median := math.NaN(), math.NaN()
		if a.known {
			tier1, tier1Median = a.sliceMean, a.median
		}
		t.add(m.name, b.instances/max(uint64(len(b.slices)), 1), tier1, tier1Median, b.sliceMean, b.median, slowest, each, ratio(b.sliceMean, a.sliceMean))
	}
	t.add(publishedName, "–", 14.34, "–", 90.98, "–", "–", "–", 6.78)
	return t
}
