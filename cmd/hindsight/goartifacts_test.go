package main

import (
	"os"
	"strings"
	"testing"

	"hindsight/mpsim/image"
)

// TestGoArtifacts checks that a race in lines that say "consequence" is folded under its
// cause, that a race in other lines is not, and that both are gone when the cause is
// corrected. The goroutines of a race may have run on one thread.
func TestGoArtifacts(t *testing.T) {
	const folder = "testdata/golang/artifacts/"
	text, err := os.ReadFile(folder + "main.go")
	if err != nil {
		t.Fatal(err)
	}
	lines := strings.Split(string(text), "\n")
	racy, repaired := buildGo(t, folder+"main.go", folder+"racy.go"), buildGo(t, folder+"main.go", folder+"repaired.go")
	for _, name := range []string{"index", "flag", "pointer"} {
		t.Run(name, func(t *testing.T) {
			for seed := uint64(1); seed <= 3; seed++ {
				causes, consequences := 0, 0
				for _, r := range racesOfGo(t, image.NewSpace(racy.Main), "racy", seed, name) {
					a := r.Accesses[0]
					if a.File == "main.go" && strings.Contains(lines[a.Line-1], "// consequence") {
						consequences++
						if len(r.ArtifactOf) == 0 {
							t.Errorf("seed %d: the race in line %d is not folded", seed, a.Line)
						}
						continue
					}
					causes++
					if len(r.ArtifactOf) != 0 {
						t.Errorf("seed %d: the race at %s:%d is folded", seed, a.File, a.Line)
					}
				}
				if causes == 0 || consequences == 0 {
					t.Errorf("seed %d: %d causes and %d consequences", seed, causes, consequences)
				}
				if races := racesOfGo(t, image.NewSpace(repaired.Main), "repaired", seed, name); len(races) != 0 {
					t.Errorf("seed %d: %d races with the cause repaired", seed, len(races))
				}
			}
		})
	}
}
