package mpsim_test

import (
	"slices"
	"testing"

	"hindsight/mpsim"
)

func TestTargetsText(t *testing.T) {
	all := []mpsim.Target{{Thread: 1, Object: 0x1234}, {Thread: 20, Object: 1 << 63, Last: true}}
	text := mpsim.TargetsText(all)
	got, err := mpsim.ParseTargets(text)
	if err != nil || !slices.Equal(got, all) {
		t.Errorf("%q: %v, %v", text, got, err)
	}
	for _, bad := range []string{"1@2", "T1", "T@1", "T1@x", "T1@1,", "T-1@1"} {
		if got, err := mpsim.ParseTargets(bad); err == nil {
			t.Errorf("%q: %v", bad, got)
		}
	}
}
