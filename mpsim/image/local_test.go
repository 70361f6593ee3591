package image

import (
	"bufio"
	"bytes"
	"fmt"
	"os/exec"
	"strconv"
	"strings"
	"testing"
)

// TestFrameAddressLikeReadelf compares the canonical frame address in every row of the
// unwind tables with readelf's interpretation.
func TestFrameAddressLikeReadelf(t *testing.T) {
	for _, p := range programs {
		t.Run(p.name, func(t *testing.T) {
			path := build(t, p.compiler, p.args...)
			m := load(t, path)
			out, err := exec.Command("riscv64-linux-gnu-readelf", "--debug-dump=frames-interp", path).Output()
			if err != nil {
				t.Fatal(err)
			}
			d := m.lockDebug()
			defer d.mu.Unlock()
			rows := 0
			var inEntry bool
			for s := bufio.NewScanner(bytes.NewReader(out)); s.Scan(); {
				fields := strings.Fields(s.Text())
				if strings.Contains(s.Text(), " FDE ") {
					inEntry = true
				} else if strings.Contains(s.Text(), " CIE ") {
					inEntry = false
				}
				if !inEntry || len(fields) < 2 || len(fields[0]) != 16 {
					continue
				}
				pc, err := strconv.ParseUint(fields[0], 16, 64)
				if err != nil {
					continue
				}
				got, ok := d.frameAddress(m, pc)
				text := fmt.Sprintf("%s%+d", registerNames[got.reg&63], got.offset)
				if want := fields[1]; want == "exp" && ok || want != "exp" && (!ok || text != want) {
					t.Errorf("%#x: %s (%v), readelf says %s", pc, text, ok, want)
				}
				rows++
			}
			if rows < 1000 {
				t.Errorf("only %d rows", rows)
			}
		})
	}
}

// TestLocals checks the variables of a function at every instruction. The first argument is
// in a0 on entry, and at -O0 later in the frame. Variables of a block are visible only
// inside it.
func TestLocals(t *testing.T) {
	for _, p := range programs {
		t.Run(p.name, func(t *testing.T) {
			m := load(t, build(t, p.compiler, p.args...))
			functions, placed := 0, 0
			for _, s := range m.Symbols() {
				if !m.User(s.Addr) || s.Size == 0 {
					continue
				}
				functions++
				names := map[string]bool{}
				for pc := s.Addr; pc < s.Addr+s.Size; pc += 2 {
					for _, v := range m.Locals(pc) {
						names[v.Name] = true
						placed++
						if v.Memory && v.Reg != 2 && v.Reg != 8 && strings.HasSuffix(p.name, "O0") {
							t.Errorf("%s at %#x is at %v", v.Name, pc, v)
						}
						if v.Name == "" || v.Size == 0 {
							t.Errorf("at %#x: %+v", pc, v)
						}
					}
				}
				if s.Name == "main" && p.compiler == "gcc" && !names["c"] {
					t.Errorf("main has the variables %v, among them not c", names)
				}
			}
			if functions < 3 || placed < 30 {
				t.Errorf("%d places of variables in %d functions", placed, functions)
			}
		})
	}
}
