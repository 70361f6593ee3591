package artifact

import (
	"context"
	"os"
	osexec "os/exec"
	"path/filepath"
	"testing"

	"hindsight/analyze/internal/stopwatch"
	"hindsight/analyze/race"
	"hindsight/analyze/replay"
	"hindsight/cdr/recorder"
	"hindsight/examples"
	"hindsight/examples/golang"
)

// BenchmarkArtifacts measures the processor time of finding artifacts as a ratio to
// finding the races (artifacts/races), and that of finding both, starting with the file,
// as a ratio to the same without artifacts (with/without). The aim is that races as a
// whole takes at most twice the time of the race analysis.
func BenchmarkArtifacts(b *testing.B) {
	for _, p := range examples.Programs() {
		if !p.Races {
			continue
		}
		elf, err := examples.ELF(p.Name)
		if err != nil {
			b.Fatal(err)
		}
		b.Run("program="+p.Name, func(b *testing.B) { benchArtifacts(b, elf, p.Args...) })
	}
	b.Run("program=words.cc", func(b *testing.B) { benchArtifacts(b, compileWords(b)) })
	elf, err := golang.ELF()
	if err != nil {
		b.Fatal(err)
	}
	programs, err := golang.Programs()
	if err != nil {
		b.Fatal(err)
	}
	for _, p := range programs {
		if p.Races {
			b.Run("program="+p.Name, func(b *testing.B) { benchArtifacts(b, elf, p.Name) })
		}
	}
}

// benchArtifacts opens the trace and reads its program anew each time, because filling
// their caches is part of the cost of the races.
func benchArtifacts(b *testing.B, elf []byte, args ...string) {
	file, _ := recordFile(b, elf, args, 1, recorder.Options{})
	var opening, races, artifacts, found float64
	for b.Loop() {
		begun := stopwatch.ProcessorTime()
		t := openFile(b, file)
		img, err := t.Space()
		if err != nil {
			b.Fatal(err)
		}
		open := stopwatch.ProcessorTime()
		res, err := race.Analyze(context.Background(), replay.FromTrace(t), race.Options{Program: img, TLSSize: img.TLSSize()})
		if err != nil {
			b.Fatal(err)
		}
		between := stopwatch.ProcessorTime()
		if _, err := Analyze(context.Background(), t, img, res, Options{}); err != nil {
			b.Fatal(err)
		}
		opening += (open - begun).Seconds()
		races += (between - open).Seconds()
		artifacts += (stopwatch.ProcessorTime() - between).Seconds()
		found = float64(len(res.Races))
	}
	b.ReportMetric(artifacts/races, "artifacts/races")
	b.ReportMetric((opening+races+artifacts)/(opening+races), "with/without")
	b.ReportMetric(1e3*races/float64(b.N), "races-ms")
	b.ReportMetric(found, "races")
}

// compileWords builds the C++ program.
func compileWords(b *testing.B) []byte {
	const compiler = "riscv64-linux-gnu-g++"
	if _, err := osexec.LookPath(compiler); err != nil {
		b.Skip(compiler + " is missing")
	}
	out := filepath.Join(b.TempDir(), "words")
	if text, err := osexec.Command(compiler, "-g", "-O1", "-static", "-pthread", "-std=c++17", "-o", out, filepath.Join("testdata", "words.cc")).CombinedOutput(); err != nil {
		b.Fatalf("%v\n%s", err, text)
	}
	elf, err := os.ReadFile(out)
	if err != nil {
		b.Fatal(err)
	}
	return elf
}
