package numtext_test

import (
	"fmt"

	"hindsight/tracefmt/numtext"
)

func Example() {
	fmt.Println(numtext.Grouped(63832))
	fmt.Println(numtext.Plural(1, "race"), numtext.Plural(1000, "race"), numtext.Plural(2, "miss"))
	fmt.Println(numtext.Bytes(9999), numtext.Bytes(313_400))
	// Output:
	// 63,832
	// 1 race 1,000 races 2 misses
	// 9999 bytes 313.4 kB
}
