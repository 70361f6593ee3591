package mpsim

import (
	"bytes"
	"context"
	"os"
	"testing"

	"hindsight/mpsim/image"
)

func TestTry(t *testing.T) {
	img, err := image.Load(os.Getenv("TRY"))
	if err != nil {
		t.Skip(err)
	}
	var out bytes.Buffer
	m, err := New(Config{Image: img, Args: []string{"a", "b"}, Stdout: &out, Stderr: &out})
	if err != nil {
		t.Fatal(err)
	}
	res, err := m.Run(context.Background())
	t.Logf("%+v %v\n%s", res, err, out.String())
	if res.Fault != nil {
		for _, pc := range res.Fault.Stack {
			s, _ := img.Func(pc)
			t.Logf("%x %s", pc, s.Name)
		}
		t.Log(res.Fault)
	}
}
