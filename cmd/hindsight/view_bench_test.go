package main

import (
	"bufio"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"time"

	"hindsight/examples"
)

// BenchmarkView records runs of about 10⁹ instructions and requests their pages as a
// browser does: the races, the lanes, the whole timeline and, at each deeper level,
// windows from all over the run. It reports seconds for recording and for each of these,
// milliseconds for the slowest window, the size of the trace, and the peak resident
// memory of the server, also as a ratio to the trace. All are separate processes.
func BenchmarkView(b *testing.B) {
	for _, j := range []struct {
		name string
		args []string
	}{
		{"sor", []string{"-n", "200", "-i", "880"}},
		{"water", []string{"-n", "128", "-s", "180"}},
	} {
		b.Run("program="+j.name+"/threads=4", func(b *testing.B) {
			dir := b.TempDir()
			elf, err := examples.ELF(j.name)
			if err != nil {
				b.Fatal(err)
			}
			prog, trace := filepath.Join(dir, j.name), filepath.Join(dir, "trace.hst")
			if err := os.WriteFile(prog, elf, 0o755); err != nil {
				b.Fatal(err)
			}
			for b.Loop() {
				var u usage
				u.run(b, os.Args[0], append([]string{"run", "-o", trace, prog}, append(j.args, "-p", "4")...)...)
				b.ReportMetric(u.insts/1e9, "Ginsts")
				b.ReportMetric(u.wall.Seconds(), "record-s")
				viewOnce(b, trace)
			}
			b.ReportMetric(0, "ns/op")
		})
	}
}

// viewOnce serves the page of a trace and requests what its timeline shows.
func viewOnce(b *testing.B, trace string) {
	b.Helper()
	cmd := exec.CommandContext(b.Context(), os.Args[0], "view", trace)
	cmd.Env = append(os.Environ(), benchExec+"=1")
	out, err := cmd.StdoutPipe()
	if err != nil {
		b.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		b.Fatal(err)
	}
	defer func() {
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
	}()
	url, err := bufio.NewReader(out).ReadString('\n')
	if err != nil {
		b.Fatal(err)
	}
	ask := func(key string) (took time.Duration, answer []byte) {
		start := time.Now()
		resp, err := http.Get(strings.TrimSpace(url) + "data/" + key)
		if err != nil {
			b.Fatal(err)
		}
		defer resp.Body.Close()
		answer, err = io.ReadAll(resp.Body)
		if err != nil || resp.StatusCode != http.StatusOK {
			b.Fatalf("%s: %s, %v: %.200s", key, resp.Status, err, answer)
		}
		return time.Since(start), answer
	}
	races, _ := ask("races")
	lanes, answer := ask("timeline")
	levels := numberIn(b, answer, `"levels":(\d+)`)
	whole, _ := ask("window/0/0/0")
	var slowest, deep time.Duration
	n := 0
	for level := 1; level < levels; level++ {
		for k := range 8 { // spread over the run
			at := (2*k + 1) << (2 * level) >> 4
			took, _ := ask(fmt.Sprintf("window/%d/%d/0", level, at))
			slowest, deep, n = max(slowest, took), deep+took, n+1
		}
	}
	status, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", cmd.Process.Pid))
	if err != nil {
		b.Fatal(err)
	}
	rss := float64(numberIn(b, status, `VmHWM:\s*(\d+) kB`)) * 1024
	size := float64(fileSize(trace))
	b.ReportMetric(races.Seconds(), "races-s")
	b.ReportMetric(lanes.Seconds(), "lanes-s")
	b.ReportMetric(float64(whole.Milliseconds()), "whole-ms")
	b.ReportMetric(float64(deep.Milliseconds())/float64(n), "window-ms")
	b.ReportMetric(float64(slowest.Milliseconds()), "slowest-ms")
	b.ReportMetric(size/1e6, "MB-trace")
	b.ReportMetric(rss/1e6, "MB-resident")
	b.ReportMetric(rss/size, "resident/trace")
}

func numberIn(b *testing.B, text []byte, pattern string) int {
	b.Helper()
	m := regexp.MustCompile(pattern).FindSubmatch(text)
	if m == nil {
		b.Fatalf("no %s in %.200s", pattern, text)
	}
	n, err := strconv.Atoi(string(m[1]))
	if err != nil {
		b.Fatal(err)
	}
	return n
}
