package cross

import "os"

// Long reports whether tests take their long forms: more seeds, larger inputs, all
// programs. CI and `make test-long` ask for them by HINDSIGHT_LONG=1; without it
// the tests take a few minutes.
func Long() bool { return os.Getenv("HINDSIGHT_LONG") == "1" }
