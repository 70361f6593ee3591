package export_test

import (
	"bytes"
	"context"
	"fmt"
	"log"
	"strings"

	"hindsight/analyze"
	"hindsight/analyze/export"
	"hindsight/analyze/std"
	"hindsight/cdr"
)

// A run that was imported from STD text is written as STD text again.
func ExampleSTD() {
	const run = `T0|w(x)|1
T0|acq(l)|2
T0|rel(l)|3
T1|acq(l)|4
T1|r(x)|5
T1|rel(l)|6
`
	ctx := context.Background()
	var file bytes.Buffer
	if _, err := std.Record(ctx, &file, strings.NewReader(run), "run.std"); err != nil {
		log.Fatal(err)
	}
	t, err := cdr.OpenReaderAt(bytes.NewReader(file.Bytes()), int64(file.Len()))
	if err != nil {
		log.Fatal(err)
	}
	trace := analyze.New(t, "run.hst")
	var text bytes.Buffer
	stats, err := export.STD(ctx, &text, trace, false)
	trace.Close()
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(stats.Lines, "lines,", stats.Accesses, "accesses")
	// Output:
	// 6 lines, 2 accesses
}
