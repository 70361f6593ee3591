package main

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

const outputSource = "testdata/golang/output/output.go"

// TestGoOutput checks that a slice at the output of a Go program has the lines that say
// "in", and none that says "out". The value of each race in it reaches output, except for
// one that nothing uses.
func TestGoOutput(t *testing.T) {
	for _, build := range []struct{ name, flag string }{{"unoptimised", "-gcflags=-N -l"}, {"optimised", "-gcflags="}} {
		t.Run(build.name, func(t *testing.T) {
			dir := t.TempDir()
			program, trace := filepath.Join(dir, "output"), filepath.Join(dir, "output.hst")
			img := buildGo(t, build.flag, outputSource)
			if err := os.WriteFile(program, img.Main.Data, 0o600); err != nil {
				t.Fatal(err)
			}
			hindsight(t, 1, "run", "--record", "wet", "-o", trace, program)
			list := putOut(t)
			if len(list) != 11 {
				t.Errorf("%d functions put something out", len(list))
			}
			for _, f := range list {
				t.Run(f.name, func(t *testing.T) { f.checkAt(t, trace, f.puts, build.name == "optimised") })
			}
			t.Run("impact", func(t *testing.T) { checkGoImpact(t, trace) })
		})
	}
}

// putsOut is a function of the program, and where its slice begins.
type putsOut struct {
	slicedFunc
	puts string
}

func putOut(t *testing.T) (list []putsOut) {
	text, err := os.ReadFile(outputSource)
	if err != nil {
		t.Fatal(err)
	}
	var puts []string
	for line := range strings.Lines(string(text)) {
		if _, at, ok := strings.Cut(strings.TrimSpace(line), "// puts "); ok {
			puts = append(puts, at)
		}
	}
	for _, f := range sliced(t, outputSource) {
		if len(list) < len(puts) {
			list = append(list, putsOut{f, puts[len(list)]})
		}
	}
	return list
}

func checkGoImpact(t *testing.T, trace string) {
	text := hindsight(t, 66, "races", "--impact", "--format", "json", trace)
	var report struct {
		Races []struct {
			Location struct{ Name string }
			Impact   *struct {
				Verdict     string
				OutputCalls int  `json:"output_calls"`
				ExitStatus  bool `json:"exit_status"`
			}
		}
	}
	if err := json.Unmarshal([]byte(text), &report); err != nil {
		t.Fatal(err)
	}
	if len(report.Races) != 13 {
		t.Errorf("%d races", len(report.Races))
	}
	for _, r := range report.Races {
		want := "reaches output"
		if strings.Contains(r.Location.Name, "byNothing") {
			want = "dies unused"
		}
		switch {
		case r.Impact == nil:
			t.Errorf("%s: no impact", r.Location.Name)
		case r.Impact.Verdict != want:
			t.Errorf("%s %s, want %s", r.Location.Name, r.Impact.Verdict, want)
		case strings.Contains(r.Location.Name, "byExit"):
			if !r.Impact.ExitStatus {
				t.Errorf("%s does not reach the exit status", r.Location.Name)
			}
		case want == "reaches output" && r.Impact.OutputCalls == 0:
			t.Errorf("%s is in no output", r.Location.Name)
		}
	}
}
