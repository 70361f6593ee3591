package mpsim

import (
	"context"
	"encoding/binary"
	"testing"

	"hindsight/mpsim/image"
)

// FuzzRun executes arbitrary bytes as a program. Whatever the guest does, the machine must
// return a result.
func FuzzRun(f *testing.F) {
	words := func(w ...uint32) []byte {
		var b []byte
		for _, v := range w {
			b = binary.LittleEndian.AppendUint32(b, v)
		}
		return b
	}
	f.Add(words(0x00100513, 0x05d00893, 0x00000073))             // exit(1)
	f.Add(words(0x00000517, 0x00a52023, 0x0000100f, 0xff5ff06f)) // writes into its own code, forever
	f.Add(words(0x100526af, 0x18d5262f, 0xfe061ce3, 0x00008067)) // lr, sc, ret to nowhere
	f.Add(words(0x00310073, 0x02a57553, 0x00000000))             // csrs, fadd, illegal
	f.Add([]byte{0x01, 0xa0})                                    // c.j to itself
	f.Fuzz(func(t *testing.T, code []byte) {
		if len(code) == 0 || len(code) > 4096 {
			return
		}
		img := image.NewSpace(&image.Image{Data: code, Entry: 0x10ffc &^ 3, Segments: []image.Segment{
			{Addr: 0x10000, Data: append(make([]byte, 0xffc), code...), MemSize: 0x3000, Read: true, Write: true, Exec: true},
		}})
		m, err := New(Config{Image: img, MaxInsts: 5000, MaxMemory: 64 << 20, Observer: nothing{}, Quantum: 100})
		if err != nil {
			t.Fatal(err)
		}
		res, err := m.Run(context.Background())
		if err != nil {
			t.Fatal(err)
		}
		if res.Insts > 5000+64 {
			t.Fatalf("%d instructions", res.Insts)
		}
	})
}
