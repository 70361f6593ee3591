package stream_test

import (
	"fmt"

	"hindsight/wet/stream"
)

func Example() {
	var b stream.Builder
	for t := uint64(1000); t < 9000; t += 4 {
		b.Append(t)
	}
	s := b.Finish()
	fmt.Println(s.Len(), "values,", s.Method(), s.Size() < 20)

	c := s.Cursor()
	if err := c.Seek(1500); err != nil {
		fmt.Println(err)
		return
	}
	next, _ := c.Next()
	again, _ := c.Prev()
	before, _ := c.Prev()
	fmt.Println(next, again, before)
	// Output:
	// 2000 values, last-stride-1 true
	// 7000 7000 6996
}
