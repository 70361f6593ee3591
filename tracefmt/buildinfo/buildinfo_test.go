package buildinfo

import "testing"

// TestTagged checks which module versions are those of tags. The others are versions that
// the go command stamps into a build of a checkout.
func TestTagged(t *testing.T) {
	for version, want := range map[string]bool{
		"v0.1.0":                               true,
		"v1.2.3-beta.1":                        true,
		"":                                     false,
		"(devel)":                              false,
		"v0.0.0-20261123074210-8db2ed0a555d":   false,
		"v0.1.1-0.20261123074210-8db2ed0a555d": false,
		"v0.1.1-0.20261123074210-8db2ed0a555d+dirty": false,
	} {
		if got := tagged(version); got != want {
			t.Errorf("tagged(%q) = %v, want %v", version, got, want)
		}
	}
}

// TestRelease checks that the version that make release sets comes first.
func TestRelease(t *testing.T) {
	defer func() { release = "" }()
	release = "9.8.7"
	if got := Version(); got != "9.8.7" {
		t.Errorf("Version() = %q", got)
	}
}
