package rv

import "testing"

func TestAssembly(t *testing.T) {
	for word, want := range map[uint32]string{
		0x20b52533: "sh1add a0,a0,a1", 0x2cb6252f: "amocas.w.aq a0,a1,(a2)", 0x2eb6352f: "amocas.d.aqrl a0,a1,(a2)",
		0x0045200f: "cbo.zero (a0)", 0xf0108553: "fli.s fa0,min", 0xf21f0553: "fli.d fa0,inf", 0x4045f553: "fround.s fa0,fa1",
		0x42559553: "froundnx.d fa0,fa1,rtz", 0xc2859553: "fcvtmod.w.d a0,fa1", 0x00859507: "flh fa0,8(a1)", 0x00a59427: "fsh fa0,8(a1)",
		0x0100000f: "pause", 0x9c65: "sext.b s0,s0", 0x80e4: "lbu s1,3(s1)", 0x0eb57533: "czero.nez a0,a0,a1",
		0x00b50533: "add a0,a0,a1", 0x00c5b423: "sd a2,8(a1)", 0x100325af: "lr.w a1,(t1)", 0x00351073: "csrrw zero,0x3,a0", 0: "illegal",
	} {
		if i, _ := Decode(word); i.Assembly() != want {
			t.Errorf("%08x: %q, want %q", word, i.Assembly(), want)
		}
	}
}
