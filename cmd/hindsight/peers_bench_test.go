package main

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime/pprof"
	"strings"
	"testing"
	"time"

	"github.com/google/pprof/profile"

	"hindsight/cmd/internal/cli"
	"hindsight/examples"
	"hindsight/examples/cross"
	"hindsight/examples/golang"
)

// peerTools are the columns of the tables of BenchmarkPeers.
var peerTools = []string{"native", "qemu", "tsan gcc", "tsan clang", "Helgrind", "simulated", "cdr", "wet", "races"}

// peer is a program that BenchmarkPeers measures. A tool without a command does not apply
// or is not installed.
type peer struct {
	name     string
	commands map[string][]string
	dir      string // directory in which the commands run
	best     map[string]*usage
	parts    map[string]time.Duration // of the recording's processor time
}

// BenchmarkPeers runs programs natively, under qemu, under ThreadSanitizer built by gcc
// and by clang (for Go, the race detector), under Helgrind, simulated, recorded as CDR
// and with values, and it analyses the recording. All run in turn, as whole processes. It
// prints tables of wall time, processor time and resident memory, the best of b.N rounds
// each, and a table of where the processor time of recording goes, from a profile.
func BenchmarkPeers(b *testing.B) {
	dir := b.TempDir()
	var peers []*peer
	peers = append(peers, kernelPeers(b, dir)...)
	peers = append(peers, sourcePeers(b, dir)...)
	peers = append(peers, realPeers(b, dir)...)
	peers = append(peers, goPeers(b, dir)...)
	for _, p := range peers {
		p.best, p.parts = map[string]*usage{}, map[string]time.Duration{}
		b.Run("program="+strings.ReplaceAll(p.name, " ", "_"), func(b *testing.B) {
			for b.Loop() {
				p.measure(b)
			}
			p.profile(b)
			b.ReportMetric(0, "ns/op")
			if tsan := p.best["tsan gcc"]; tsan != nil {
				b.ReportMetric(p.best["cdr"].wall.Seconds()/tsan.wall.Seconds(), "cdr/tsan")
			}
			b.ReportMetric(p.best["cdr"].cpu.Seconds()/p.best["simulated"].cpu.Seconds(), "cdr/none-cpu")
		})
	}
	printPeers(peers)
}

// measure runs every command of a program in turn.
func (p *peer) measure(b *testing.B) {
	b.Setenv("TSAN_OPTIONS", "exitcode=0")
	b.Setenv("GORACE", "exitcode=0")
	b.Chdir(p.dir)
	for _, tool := range peerTools {
		c := p.commands[tool]
		if c == nil {
			continue
		}
		var u usage
		u.run(b, c[0], c[1:]...)
		if p.best[tool] == nil {
			p.best[tool] = new(usage)
		}
		p.best[tool].best(u)
	}
}

// profile records once more with a profile.
func (p *peer) profile(b *testing.B) {
	file := filepath.Join(b.TempDir(), "cpu.pprof")
	b.Setenv(benchProfile, file)
	var u usage
	c := p.commands["cdr"]
	u.run(b, c[0], c[1:]...)
	p.parts = recordingParts(b, file)
}

// ours adds the commands of hindsight to those of a program's peers.
func ours(commands map[string][]string, trace string, guest ...string) map[string][]string {
	commands["simulated"] = append([]string{os.Args[0], "run", "--record", "none"}, guest...)
	commands["wet"] = append([]string{os.Args[0], "run", "--record", "wet", "-o", trace + ".wet"}, guest...)
	commands["cdr"] = append([]string{os.Args[0], "run", "-o", trace}, guest...)
	commands["races"] = []string{os.Args[0], "races", trace}
	if qemu, err := exec.LookPath("qemu-riscv64-static"); err == nil {
		commands["qemu"] = append([]string{qemu}, guest...)
	}
	return commands
}

// natives builds a program with the native compilers and returns the commands. build
// compiles by a compiler with some flags.
func natives(b *testing.B, base string, args []string, build func(cc string, flags []string, out string) error) map[string][]string {
	commands := map[string][]string{}
	for tool, how := range map[string][]string{
		"native": {"gcc"}, "tsan gcc": {"gcc", "-fsanitize=thread"}, "tsan clang": {"clang", "-fsanitize=thread"},
	} {
		if _, err := exec.LookPath(how[0]); err != nil {
			fmt.Printf("%s is not installed (Debian: apt-get install %s): no column %s\n", how[0], how[0], tool)
			continue
		}
		out := base + "." + strings.ReplaceAll(tool, " ", "-")
		if err := build(how[0], how[1:], out); err != nil {
			b.Fatal(err)
		}
		commands[tool] = append([]string{out}, args...)
	}
	if valgrind, err := exec.LookPath("valgrind"); err == nil && commands["native"] != nil {
		commands["Helgrind"] = append([]string{valgrind, "--tool=helgrind", "-q"}, commands["native"]...)
	} else {
		fmt.Println("valgrind is not installed (Debian: apt-get install valgrind libc6-dbg): no column Helgrind")
	}
	return commands
}

// kernelPeers returns the paper's five kernels with 4 threads.
func kernelPeers(b *testing.B, dir string) (peers []*peer) {
	if err := cross.Unpack(dir); err != nil {
		b.Fatal(err)
	}
	for _, k := range []struct{ name, args string }{
		{"fft", "-m 16 -p 4"}, {"lu", "-n 512 -x -p 4"}, {"mp3d", "-m 50000 -s 5 -p 4"}, {"water", "-n 64 -s 3 -p 4"}, {"sor", "-n 600 -i 20 -p 4"},
	} {
		p, _ := examples.Lookup(k.name)
		elf, err := examples.ELF(k.name)
		if err != nil {
			b.Fatal(err)
		}
		file, args := filepath.Join(dir, k.name), strings.Fields(k.args)
		if err := os.WriteFile(file, elf, 0o755); err != nil {
			b.Fatal(err)
		}
		commands := natives(b, file, args, func(cc string, flags []string, out string) error {
			return cross.Build(b.Context(), dir, p, out, cross.Options{CC: cc, Extra: flags, Dynamic: true})
		})
		peers = append(peers, &peer{name: k.name + " " + k.args, dir: dir, commands: ours(commands, filepath.Join(dir, "trace.hst"), append([]string{file}, args...)...)})
	}
	return peers
}

// sourcePeers are programs like those of Splash, from testdata/peers.
func sourcePeers(b *testing.B, dir string) (peers []*peer) {
	for _, k := range []struct{ name, args string }{
		{"radix", "200000"}, {"barnes", "2000 2"}, {"ocean", "256 3"}, {"raytrace", "96 20"},
	} {
		source, err := filepath.Abs(filepath.Join("testdata", "peers", k.name+".c"))
		if err != nil {
			b.Fatal(err)
		}
		build := func(cc string, flags []string, out string) error {
			flags = append([]string{"-g", "-O2", "-ffp-contract=off", "-pthread", "-o", out, source, "-lm"}, flags...)
			if text, err := exec.Command(cc, flags...).CombinedOutput(); err != nil {
				return fmt.Errorf("%s %s: %w\n%s", cc, source, err, text)
			}
			return nil
		}
		file, args := filepath.Join(dir, k.name), strings.Fields(k.args)
		needTools(b, cross.Compiler)
		if err := build(cross.Compiler, []string{"-static"}, file); err != nil {
			b.Fatal(err)
		}
		peers = append(peers, &peer{name: k.name + " " + k.args, dir: dir, commands: ours(natives(b, file, args, build), filepath.Join(dir, "trace.hst"), append([]string{file}, args...)...)})
	}
	return peers
}

// realPeers are programs that `make real` has built, if it has.
func realPeers(b *testing.B, dir string) (peers []*peer) {
	root, err := filepath.Abs("../../bin/real")
	if err != nil {
		b.Fatal(err)
	}
	for _, args := range [][]string{
		{"pigz", "-p", "4", "-b", "32", "-n", "-c", "text"}, {"pbzip2", "-p4", "-b1", "-c", "-k", "text"}, {"zstd", "-T4", "-B65536", "-c", "-q", "text"},
	} {
		file := filepath.Join(root, "bin", args[0]+"-static", args[0])
		if _, err := os.Stat(file); err != nil {
			fmt.Printf("%s is left out: it is not built (make real REAL=\"-only %s -kinds static -until build\")\n", args[0], args[0])
			continue
		}
		commands := map[string][]string{}
		if native, err := exec.LookPath(args[0]); err == nil {
			commands["native"] = append([]string{native}, args[1:]...)
		}
		peers = append(peers, &peer{name: args[0], dir: filepath.Join(root, "input"), commands: ours(commands, filepath.Join(dir, "trace.hst"), append([]string{file}, args[1:]...)...)})
	}
	return peers
}

// goPeers are programs of the gallery of Go. The race detector of Go stands for
// ThreadSanitizer.
func goPeers(b *testing.B, dir string) (peers []*peer) {
	folder, err := filepath.Abs(filepath.Join("../../examples/golang", golang.Folder))
	if err != nil {
		b.Fatal(err)
	}
	files, err := filepath.Glob(filepath.Join(folder, "*.go"))
	if err != nil {
		b.Fatal(err)
	}
	g := &goBench{dir: dir, args: append([]string{"build"}, files...)}
	g.build(b)
	plain := filepath.Join(dir, "plain.out")
	cmd := exec.Command("go", append([]string{"build", "-o", plain}, files...)...)
	if text, err := cmd.CombinedOutput(); err != nil {
		b.Fatalf("go build: %v\n%s", err, text)
	}
	for _, name := range longestOfGo {
		peers = append(peers, &peer{name: name, dir: dir, commands: ours(map[string][]string{
			"native": {plain, name}, "tsan gcc": {g.native(), name},
		}, filepath.Join(dir, "trace.hst"), g.guest(), name)})
	}
	return peers
}

// benchProfile names the file that a process run by [usage.run] writes its CPU profile to.
const benchProfile = "HINDSIGHT_BENCH_PROFILE"

// profiled is main, with a profile if one is asked for.
func profiled(main func()) {
	file := os.Getenv(benchProfile)
	if file == "" {
		main()
	}
	var out bytes.Buffer
	if err := pprof.StartCPUProfile(&out); err != nil {
		panic(err)
	}
	status := run(os.Args[1:], cli.Streams{In: os.Stdin, Out: os.Stdout, Err: os.Stderr})
	pprof.StopCPUProfile()
	if err := os.WriteFile(file, out.Bytes(), 0o600); err != nil {
		panic(err)
	}
	os.Exit(status)
}

// recordingStages are the stages to which a recording's time is attributed, by functions.
// A sample belongs to the stage of the innermost function on its stack that has one.
var recordingStages = []struct {
	name      string
	functions []string
}{
	{"simulate", []string{"hindsight/mpsim.", "hindsight/mpsim/fpu.", "hindsight/mpsim/hook.", "hindsight/mpsim/linux.", "hindsight/mpsim/mem.", "hindsight/mpsim/gorun.", "hindsight/mpsim/eval."}},
	{"batch", []string{"hindsight/mpsim.(*recorder)."}},
	{"paths", []string{"hindsight/cdr/recorder.", "hindsight/wpp/cfg.(*Follower)", "hindsight/wpp/cfg.(*Names"}},
	{"address streams", []string{"hindsight/cdr/recorder.(*threadRec).access", "hindsight/cdr/recorder.(*threadRec).pushAddr", "hindsight/cdr/recorder.(*stream)", "hindsight/cdr/recorder.(*dictionary"}},
	{"grammar", []string{"hindsight/wpp.(*Builder).Append", "hindsight/wpp.AppendEach", "hindsight/cdr/recorder.(*threadRec).feed", "hindsight/cdr/recorder.(*threadRec).appendNow"}},
	{"synch", []string{"hindsight/cdr/synclog.", "hindsight/tracefmt/rangecode."}},
	{"file", []string{"hindsight/cdr/recorder.(*Recorder).closeEpoch", "hindsight/cdr/recorder.New", "hindsight/tracefmt.", "github.com/klauspost/compress", "hindsight/cdr/format."}},
	{"program", []string{"hindsight/mpsim/image.", "hindsight/wpp/cfg.New", "debug/dwarf.", "hindsight/mpsim/session.Load"}},
}

const otherStage = "runtime, rest"

// recordingParts reads a profile of a recording and returns its time by stage.
func recordingParts(b *testing.B, file string) map[string]time.Duration {
	b.Helper()
	data, err := os.ReadFile(file)
	if err != nil {
		b.Fatal(err)
	}
	p, err := profile.ParseData(data)
	if err != nil {
		b.Fatal(err)
	}
	parts := map[string]time.Duration{}
	for _, s := range p.Sample {
		parts[stageOf(s)] += time.Duration(s.Value[len(s.Value)-1])
	}
	return parts
}

// stageOf returns the stage of the innermost function that belongs to one. If several
// names match, the longest one counts.
func stageOf(s *profile.Sample) string {
	for _, at := range s.Location {
		for _, line := range at.Line {
			stage, length := "", 0
			for _, x := range recordingStages {
				for _, f := range x.functions {
					if strings.HasPrefix(line.Function.Name, f) && len(f) > length {
						stage, length = x.name, len(f)
					}
				}
			}
			if stage != "" {
				return stage
			}
		}
	}
	return otherStage
}

// printPeers prints the tables.
func printPeers(peers []*peer) {
	own := ownPeak()
	resident := func(u *usage) string {
		if u.rss <= own { // a process inherits the figure of the process that started it
			return fmt.Sprintf("≤ %.0f", float64(own)/1e6)
		}
		return fmt.Sprintf("%.0f", float64(u.rss)/1e6)
	}
	for _, t := range []struct {
		title string
		cell  func(u *usage) string
	}{
		{"wall time, s", func(u *usage) string { return fmt.Sprintf("%.2f", u.wall.Seconds()) }},
		{"processor time, s", func(u *usage) string { return fmt.Sprintf("%.2f", u.cpu.Seconds()) }},
		{"resident memory, MB", resident},
	} {
		printTable(t.title, peerTools, peers, func(p *peer, tool string) string {
			if p.best[tool] == nil {
				return "–"
			}
			return t.cell(p.best[tool])
		})
	}
	var stages []string
	for _, s := range recordingStages {
		stages = append(stages, s.name)
	}
	printTable("processor time of recording, %", append(stages, otherStage), peers, func(p *peer, stage string) string {
		var sum time.Duration
		for _, d := range p.parts {
			sum += d
		}
		return fmt.Sprintf("%.0f", 100*p.parts[stage].Seconds()/max(sum.Seconds(), 1e-9))
	})
}

// printTable prints a Markdown table with a row for each program that was measured.
func printTable(title string, columns []string, peers []*peer, cell func(p *peer, column string) string) {
	fmt.Printf("\n| %s | %s |\n| ---%s |\n", title, strings.Join(columns, " | "), strings.Repeat(" | ---:", len(columns)))
	for _, p := range peers {
		if p.best["cdr"] == nil {
			continue // not selected by -bench
		}
		fmt.Printf("| %s", p.name)
		for _, c := range columns {
			fmt.Printf(" | %s", cell(p, c))
		}
		fmt.Println(" |")
	}
}
