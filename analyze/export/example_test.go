package export_test

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"strings"

	"hindsight/analyze"
	"hindsight/analyze/export"
	"hindsight/analyze/std"
)

// This example imports a run from STD text and writes it as STD text again.
func ExampleSTD() {
	const run = `T0|w(x)|1
T0|acq(l)|2
T0|rel(l)|3
T1|acq(l)|4
T1|r(x)|5
T1|rel(l)|6
`
	ctx := context.Background()
	file, err := os.CreateTemp("", "*.hst")
	if err != nil {
		fmt.Println(err)
		return
	}
	defer os.Remove(file.Name())
	defer file.Close()
	if _, err := std.Record(ctx, file, strings.NewReader(run), "run.std"); err != nil {
		fmt.Println(err)
		return
	}
	trace, err := analyze.Open(file.Name())
	if err != nil {
		fmt.Println(err)
		return
	}
	var text bytes.Buffer
	stats, err := export.STD(ctx, &text, trace, false)
	trace.Close()
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(stats.Lines, "lines,", stats.Accesses, "accesses")
	// Output:
	// 6 lines, 2 accesses
}
