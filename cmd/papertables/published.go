package main

import "math"

// publishedRow is a row of the parallel-trace paper (PPoPP 2003), sizes in
// bytes: Tables 3, 4 and 5. The paper writes K and M for powers of ten.
type publishedRow struct {
	program string
	threads int

	corRaw, corWPP, sync float64
	corPercent           float64

	dorRaw, dorSQ float64
	dorPercent    float64

	cdrRaw, control, data float64
	cdrPercent            float64
	gzipPercent           float64
}

const (
	kilo = 1e3
	mega = 1e6
)

// publishedRows are Tables 3 to 5 of PPoPP 2003.
func publishedRows() []publishedRow {
	return []publishedRow{
		{"fft", 2, 66.06 * mega, 406.32 * kilo, 28, 0.62, 77.68 * mega, 27.34 * mega, 35.20, 143.74 * mega, 491.24 * kilo, 144.28 * kilo, 0.44, 10.16},
		{"fft", 4, 66.16 * mega, 424.58 * kilo, 28, 0.64, 77.69 * mega, 27.74 * mega, 35.70, 143.85 * mega, 512.76 * kilo, 276.21 * kilo, 0.55, 11.05},
		{"fft", 8, 66.37 * mega, 453.70 * kilo, 28, 0.68, 77.72 * mega, 27.97 * mega, 35.99, 144.09 * mega, 547.17 * kilo, 521.46 * kilo, 0.74, 10.97},
		{"lu", 2, 54.73 * mega, 229.35 * kilo, 8, 0.42, 89.42 * mega, 56.10 * mega, 62.74, 144.15 * mega, 277.10 * kilo, 83.42 * kilo, 0.25, 3.34},
		{"lu", 4, 55.32 * mega, 244.81 * kilo, 8, 0.44, 89.42 * mega, 56.20 * mega, 62.85, 144.74 * mega, 295.36 * kilo, 123.36 * kilo, 0.29, 4.71},
		{"lu", 8, 56.50 * mega, 281.65 * kilo, 8, 0.50, 89.42 * mega, 56.24 * mega, 62.89, 145.92 * mega, 338.89 * kilo, 189.78 * kilo, 0.36, 5.45},
		{"mp3d", 2, 67.42 * mega, 231.77 * kilo, 15.49 * kilo, 0.37, 19.84 * mega, 8.71 * mega, 43.98, 87.26 * mega, 340.12 * kilo, 8.09 * mega, 9.66, 8.29},
		{"mp3d", 4, 67.42 * mega, 259.79 * kilo, 15.51 * kilo, 0.41, 19.83 * mega, 9.45 * mega, 47.74, 87.25 * mega, 378.46 * kilo, 8.10 * mega, 9.72, 8.33},
		{"mp3d", 8, 67.43 * mega, 295.36 * kilo, 15.64 * kilo, 0.46, 19.84 * mega, 10.05 * mega, 50.73, 87.27 * mega, 427.25 * kilo, 8.13 * mega, 9.81, 6.62},
		{"water", 2, 5 * mega, 81.01 * kilo, 29.77 * kilo, 2.22, 1.15 * mega, 833.52 * kilo, 75.07, 6.15 * mega, 140.93 * kilo, 85.55 * kilo, 3.68, 6.50},
		{"water", 4, 5.01 * mega, 97.03 * kilo, 29.91 * kilo, 2.53, 1.15 * mega, 849.75 * kilo, 76.50, 6.16 * mega, 162.81 * kilo, 132.58 * kilo, 4.79, 11.20},
		{"water", 8, 5.02 * mega, 118.98 * kilo, 30.19 * kilo, 2.97, 1.16 * mega, 883.82 * kilo, 78.80, 6.18 * mega, 192.94 * kilo, 190.18 * kilo, 6.2, 13.75},
		{"sor", 2, 90.09 * kilo, 2.69 * kilo, 10, 3.00, 907.34 * kilo, 392.71 * kilo, 43.28, 997.46 * kilo, 3.17 * kilo, 10.91 * kilo, 1.41, 7.30},
		{"sor", 4, 91.01 * kilo, 4.79 * kilo, 10, 5.30, 908.58 * kilo, 393.83 * kilo, 43.35, 999.59 * kilo, 5.64 * kilo, 20.15 * kilo, 2.58, 7.92},
		{"sor", 8, 92.80 * kilo, 7.86 * kilo, 10, 8.56, 908.06 * kilo, 394.94 * kilo, 43.50, mega, 9.25 * kilo, 32.52 * kilo, 4.18, 9.00},
	}
}

// published returns the paper's row. Its numbers are NaN if there is none, for example
// for other numbers of threads or other inputs.
func published(program string, threads int, small bool) publishedRow {
	if !small {
		for _, r := range publishedRows() {
			if r.program == program && r.threads == threads {
				return r
			}
		}
	}
	no := math.NaN()
	return publishedRow{program, threads, no, no, no, no, no, no, no, no, no, no, no, no}
}

// publishedPath is a program of Tables 1 to 3 of "Arithmetic Program Paths"
// (ESEC/FSE 2005), as printed; "–" where Sequitur did not end in 2.5 hours.
type publishedPath struct {
	program                           string
	seconds, bits, paths, size, edges string // Table 1
	l, g, best, seven, wpp            string // Table 2
	appTime, wppTime, faster          string // Table 3
}

// publishedAPP are Tables 1 to 3 of that paper.
func publishedAPP() []publishedPath {
	return []publishedPath{
		{"gzip", "37", "788", "4782", "6.0", "2.6", "8", "6", "5.7", "5.7", "–", "377", "> 9000", "–"},
		{"vpr", "28.8", "372", "1678", "4.5", "3.5", "7", "7", "3.8", "3.8", "3.3", "228", "5246", "23.0"},
		{"mcf", "27.3", "187", "1557", "8.3", "1.9", "6", "8", "5.1", "5.0", "6.2", "112", "798", "7.1"},
		{"crafty", "19.9", "356", "1938", "5.4", "2.9", "4", "10", "4.7", "4.4", "–", "287", "> 9000", "–"},
		{"parser", "9.1", "136", "1219", "8.9", "1.7", "6", "8", "4.6", "4.6", "4.7", "77.8", "728", "9.3"},
		{"vortex", "9.9", "233", "1082", "4.6", "3.4", "10", "4", "121.0", "107.3", "341.8", "110", "1029", "9.3"},
		{"bzip2", "64.7", "932", "5681", "6.0", "2.6", "8", "6", "18.6", "18.5", "13.6", "328", "4127", "12.5"},
		{"twolf", "13.6", "175", "1435", "8.1", "1.9", "0", "14", "2.5", "2.3", "2.5", "144", "5033", "34.9"},
		{"art", "21.1", "88", "913", "10.3", "1.5", "12", "2", "14.8", "13.3", "45.1", "94.1", "370", "3.9"},
		{"equake", "43.1", "104", "1432", "13.7", "1.1", "12", "2", "12.4", "11.5", "560.9", "60.7", "864", "14.2"},
	}
}

// publishedVPC3 are geometric means of Table 2 of the VPC3 paper over its
// SPECcpu2000 traces, and the speeds in MB/s that its text reports (sections 5.2
// and 5.3).
var publishedVPC3 = map[string]struct{ gzip, bzip2, sequitur, vpc3, compress, decompress string }{
	"store-addr": {"12.4", "26.3", "55.5", "484.7", "5–7.5", "25"},
	"cache-miss": {"7.0", "11.5", "21.0", "38.2", "5–7.5", "14"},
	"load-value": {"9.1", "15.3", "20.7", "35.2", "5–7.5", "15"},
}
