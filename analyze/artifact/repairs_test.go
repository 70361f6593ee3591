package artifact

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"hindsight/analyze/place"
	"hindsight/cdr/recorder"
)

// repairs are the programs of examples/repairs, with the contents of their marks.
type repairs struct {
	name, source string
	repair       map[string]string   // the variable that REPAIRED_n repairs → n
	expect       map[string][]string // variable → what a report must, or may, make of its races
	may          map[string]bool     // of expect: need not be
}

var (
	repairMark = regexp.MustCompile(`\* repair (\d): (\w+)`)
	expectMark = regexp.MustCompile(`\* (may: )?(order|address|own): (\w+)(?: by (.*))?`)
)

func readRepairs(t *testing.T) (all []repairs) {
	dir := filepath.Join("..", "..", "examples", "repairs")
	header, err := os.ReadFile(filepath.Join(dir, "repair.h"))
	if err != nil {
		t.Fatal(err)
	}
	files, err := filepath.Glob(filepath.Join(dir, "*.c"))
	if err != nil || len(files) < 30 {
		t.Fatal(files, err)
	}
	for _, f := range files {
		source, err := os.ReadFile(f)
		if err != nil {
			t.Fatal(err)
		}
		p := repairs{name: strings.TrimSuffix(filepath.Base(f), ".c"), repair: map[string]string{}, expect: map[string][]string{}, may: map[string]bool{}}
		p.source = string(bytes.Replace(source, []byte("#include \"repair.h\""), header, 1))
		for _, m := range repairMark.FindAllStringSubmatch(string(source), -1) {
			p.repair[m[2]] = m[1]
		}
		for _, m := range expectMark.FindAllStringSubmatch(string(source), -1) {
			causes := strings.ReplaceAll(strings.ReplaceAll(m[4], ", ", ","), " + ", "+")
			ground := m[2] + " " + causes
			p.expect[m[3]] = append(p.expect[m[3]], ground)
			p.may[m[3]+" "+ground] = m[1] != ""
		}
		all = append(all, p)
	}
	return all
}

// repaired returns the source with causes corrected. Lines keep their numbers.
func (p *repairs) repaired(vars ...string) string {
	s := ""
	for _, n := range []string{"1", "2"} {
		for _, v := range vars {
			if p.repair[v] == n {
				s += "#define REPAIRED_" + n
			}
		}
		s += "\n"
	}
	return s + p.source
}

// variable names the memory of a race.
func (r *run) variable(i int) string {
	race := &r.res.Races[i]
	if race.Location.Kind == place.Heap {
		return "heap"
	}
	s, _, _ := r.img.Object(race.First.Address)
	return s.Name
}

// raceKey names a race by its lines and its variable.
func (r *run) raceKey(i int) string {
	x := &r.res.Races[i].First
	a, b := r.line(x.Later.PC), r.line(x.Earlier.PC)
	return fmt.Sprintf("%s of lines %d and %d", r.variable(i), min(a, b), max(a, b))
}

// TestRepairs compares what is said about artifacts with the correction itself: a race
// that is folded by order must be gone if its cause is corrected, in every schedule
// tried, and the marks of the programs must be right.
func TestRepairs(t *testing.T) {
	const seeds = 3
	for _, p := range readRepairs(t) {
		t.Run(p.name, func(t *testing.T) {
			elf := compile(t, p.repaired(), "-O1")
			met := map[string]bool{}
			gone := map[string]map[string]bool{} // by cause: races that must not exist without it
			for seed := range uint64(seeds) {
				r := recordRun(t, elf, nil, seed, recorder.Options{})
				out := r.analyze(t)
				for i, v := range out.Verdicts {
					name := r.variable(i)
					if v.Status == Unknown {
						t.Errorf("seed %d: %s: %s", seed, r.raceKey(i), v.Reason)
					}
					if v.Status != Artifact {
						met[name+" own "] = true
						continue
					}
					causes := r.causes(&v)
					ground := v.By.String() + " " + causes
					met[name+" "+ground] = true
					if p.repair[name] == "" && !slices.Contains(p.expect[name], ground) {
						t.Errorf("seed %d: %s is by %s; expected %v\n%s", seed, r.raceKey(i), ground, p.expect[name], r.describe(out))
					}
					for _, set := range strings.Split(causes, ",") {
						if gone[set] == nil {
							gone[set] = map[string]bool{}
						}
						gone[set][r.raceKey(i)] = v.By == ByOrder
					}
				}
			}
			for name, grounds := range p.expect {
				for _, g := range grounds {
					if key := name + " " + g; !met[key] && !p.may[key] {
						t.Errorf("%s is met in no schedule", key)
					}
				}
			}
			for set, races := range gone {
				p.checkGone(t, strings.Split(set, "+"), races, seeds)
			}
		})
	}
}

// causes names the variables of an artifact's causes.
func (r *run) causes(v *Verdict) string {
	var names []string
	for _, c := range v.Causes {
		names = append(names, r.variable(c))
	}
	slices.Sort(names)
	names = slices.Compact(names)
	if v.Together {
		return strings.Join(names, "+")
	}
	return strings.Join(names, ",")
}

// checkGone runs the program with causes corrected, and checks that the races are gone.
func (p *repairs) checkGone(t *testing.T, causes []string, races map[string]bool, seeds uint64) {
	for _, c := range causes {
		if p.repair[c] == "" {
			t.Errorf("no repair of %s", c)
		}
	}
	elf := compile(t, p.repaired(causes...), "-O1")
	for seed := range seeds {
		r := recordRun(t, elf, nil, seed, recorder.Options{})
		for i := range r.res.Races {
			if key := r.raceKey(i); races[key] {
				t.Errorf("seed %d: with %v repaired, there still is the race on %s", seed, causes, key)
			}
		}
	}
}
