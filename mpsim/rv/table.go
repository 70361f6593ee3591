package rv

// row says what an operation's encoding is. The bits of an instruction that
// mask selects are those of match.
type row struct {
	name        string
	match, mask uint32
	// regs names the register files of rd, rs1, rs2 and rs3 in this order: x
	// integer, f floating-point, - (or beyond the end) not an operand.
	regs string
	imm  immediate
	// load and store are bytes of memory read or written; an atomic operation
	// has its width in one of them.
	load, store uint8
	rm          bool // has a rounding mode field
}

// immediate is how the immediate operand is spread over the instruction.
type immediate uint8

const (
	immNone  immediate = iota
	immI               // 12 bits, signed
	immS               // stores
	immB               // branches
	immU               // upper 20 bits
	immJ               // jal
	immShift           // 6 bits
	immFence           // fm, predecessors, successors
	immCSR             // number of a CSR
	immCSRI            // the same, and 5 bits of immediate in place of rs1
)

// What the masks select: the opcode, and of funct3, funct7, funct5, rs2 and
// the format bits those that tell operations apart.
const (
	maskOp  = 0x0000007f
	maskF3  = 0x0000707f
	maskF6  = 0xfc00707f
	maskF7  = 0xfe00707f
	maskFP  = 0xfe00007f // funct7, funct3 is the rounding mode
	maskFP1 = 0xfff0007f // and one operand only
	maskFPX = 0xfff0707f
	maskR4  = 0x0600007f
	maskAMO = 0xf800707f
	maskLR  = 0xf9f0707f
	maskAll = 0xffffffff
)

var table = [NumOps]row{
	OpInvalid: {name: "illegal"},

	OpLUI:      {name: "lui", match: 0x00000037, mask: maskOp, regs: "x", imm: immU},
	OpAUIPC:    {name: "auipc", match: 0x00000017, mask: maskOp, regs: "x", imm: immU},
	OpJAL:      {name: "jal", match: 0x0000006f, mask: maskOp, regs: "x", imm: immJ},
	OpJALR:     {name: "jalr", match: 0x00000067, mask: maskF3, regs: "xx", imm: immI},
	OpBEQ:      {name: "beq", match: 0x00000063, mask: maskF3, regs: "-xx", imm: immB},
	OpBNE:      {name: "bne", match: 0x00001063, mask: maskF3, regs: "-xx", imm: immB},
	OpBLT:      {name: "blt", match: 0x00004063, mask: maskF3, regs: "-xx", imm: immB},
	OpBGE:      {name: "bge", match: 0x00005063, mask: maskF3, regs: "-xx", imm: immB},
	OpBLTU:     {name: "bltu", match: 0x00006063, mask: maskF3, regs: "-xx", imm: immB},
	OpBGEU:     {name: "bgeu", match: 0x00007063, mask: maskF3, regs: "-xx", imm: immB},
	OpLB:       {name: "lb", match: 0x00000003, mask: maskF3, regs: "xx", imm: immI, load: 1},
	OpLH:       {name: "lh", match: 0x00001003, mask: maskF3, regs: "xx", imm: immI, load: 2},
	OpLW:       {name: "lw", match: 0x00002003, mask: maskF3, regs: "xx", imm: immI, load: 4},
	OpLD:       {name: "ld", match: 0x00003003, mask: maskF3, regs: "xx", imm: immI, load: 8},
	OpLBU:      {name: "lbu", match: 0x00004003, mask: maskF3, regs: "xx", imm: immI, load: 1},
	OpLHU:      {name: "lhu", match: 0x00005003, mask: maskF3, regs: "xx", imm: immI, load: 2},
	OpLWU:      {name: "lwu", match: 0x00006003, mask: maskF3, regs: "xx", imm: immI, load: 4},
	OpSB:       {name: "sb", match: 0x00000023, mask: maskF3, regs: "-xx", imm: immS, store: 1},
	OpSH:       {name: "sh", match: 0x00001023, mask: maskF3, regs: "-xx", imm: immS, store: 2},
	OpSW:       {name: "sw", match: 0x00002023, mask: maskF3, regs: "-xx", imm: immS, store: 4},
	OpSD:       {name: "sd", match: 0x00003023, mask: maskF3, regs: "-xx", imm: immS, store: 8},
	OpADDI:     {name: "addi", match: 0x00000013, mask: maskF3, regs: "xx", imm: immI},
	OpSLTI:     {name: "slti", match: 0x00002013, mask: maskF3, regs: "xx", imm: immI},
	OpSLTIU:    {name: "sltiu", match: 0x00003013, mask: maskF3, regs: "xx", imm: immI},
	OpXORI:     {name: "xori", match: 0x00004013, mask: maskF3, regs: "xx", imm: immI},
	OpORI:      {name: "ori", match: 0x00006013, mask: maskF3, regs: "xx", imm: immI},
	OpANDI:     {name: "andi", match: 0x00007013, mask: maskF3, regs: "xx", imm: immI},
	OpSLLI:     {name: "slli", match: 0x00001013, mask: maskF6, regs: "xx", imm: immShift},
	OpSRLI:     {name: "srli", match: 0x00005013, mask: maskF6, regs: "xx", imm: immShift},
	OpSRAI:     {name: "srai", match: 0x40005013, mask: maskF6, regs: "xx", imm: immShift},
	OpADD:      {name: "add", match: 0x00000033, mask: maskF7, regs: "xxx"},
	OpSUB:      {name: "sub", match: 0x40000033, mask: maskF7, regs: "xxx"},
	OpSLL:      {name: "sll", match: 0x00001033, mask: maskF7, regs: "xxx"},
	OpSLT:      {name: "slt", match: 0x00002033, mask: maskF7, regs: "xxx"},
	OpSLTU:     {name: "sltu", match: 0x00003033, mask: maskF7, regs: "xxx"},
	OpXOR:      {name: "xor", match: 0x00004033, mask: maskF7, regs: "xxx"},
	OpSRL:      {name: "srl", match: 0x00005033, mask: maskF7, regs: "xxx"},
	OpSRA:      {name: "sra", match: 0x40005033, mask: maskF7, regs: "xxx"},
	OpOR:       {name: "or", match: 0x00006033, mask: maskF7, regs: "xxx"},
	OpAND:      {name: "and", match: 0x00007033, mask: maskF7, regs: "xxx"},
	OpADDIW:    {name: "addiw", match: 0x0000001b, mask: maskF3, regs: "xx", imm: immI},
	OpSLLIW:    {name: "slliw", match: 0x0000101b, mask: maskF7, regs: "xx", imm: immShift},
	OpSRLIW:    {name: "srliw", match: 0x0000501b, mask: maskF7, regs: "xx", imm: immShift},
	OpSRAIW:    {name: "sraiw", match: 0x4000501b, mask: maskF7, regs: "xx", imm: immShift},
	OpADDW:     {name: "addw", match: 0x0000003b, mask: maskF7, regs: "xxx"},
	OpSUBW:     {name: "subw", match: 0x4000003b, mask: maskF7, regs: "xxx"},
	OpSLLW:     {name: "sllw", match: 0x0000103b, mask: maskF7, regs: "xxx"},
	OpSRLW:     {name: "srlw", match: 0x0000503b, mask: maskF7, regs: "xxx"},
	OpSRAW:     {name: "sraw", match: 0x4000503b, mask: maskF7, regs: "xxx"},
	OpFENCE:    {name: "fence", match: 0x0000000f, mask: maskF3, imm: immFence},
	OpFENCEI:   {name: "fence.i", match: 0x0000100f, mask: maskF3},
	OpECALL:    {name: "ecall", match: 0x00000073, mask: maskAll},
	OpEBREAK:   {name: "ebreak", match: 0x00100073, mask: maskAll},
	OpCSRRW:    {name: "csrrw", match: 0x00001073, mask: maskF3, regs: "xx", imm: immCSR},
	OpCSRRS:    {name: "csrrs", match: 0x00002073, mask: maskF3, regs: "xx", imm: immCSR},
	OpCSRRC:    {name: "csrrc", match: 0x00003073, mask: maskF3, regs: "xx", imm: immCSR},
	OpCSRRWI:   {name: "csrrwi", match: 0x00005073, mask: maskF3, regs: "x", imm: immCSRI},
	OpCSRRSI:   {name: "csrrsi", match: 0x00006073, mask: maskF3, regs: "x", imm: immCSRI},
	OpCSRRCI:   {name: "csrrci", match: 0x00007073, mask: maskF3, regs: "x", imm: immCSRI},
	OpMUL:      {name: "mul", match: 0x02000033, mask: maskF7, regs: "xxx"},
	OpMULH:     {name: "mulh", match: 0x02001033, mask: maskF7, regs: "xxx"},
	OpMULHSU:   {name: "mulhsu", match: 0x02002033, mask: maskF7, regs: "xxx"},
	OpMULHU:    {name: "mulhu", match: 0x02003033, mask: maskF7, regs: "xxx"},
	OpDIV:      {name: "div", match: 0x02004033, mask: maskF7, regs: "xxx"},
	OpDIVU:     {name: "divu", match: 0x02005033, mask: maskF7, regs: "xxx"},
	OpREM:      {name: "rem", match: 0x02006033, mask: maskF7, regs: "xxx"},
	OpREMU:     {name: "remu", match: 0x02007033, mask: maskF7, regs: "xxx"},
	OpMULW:     {name: "mulw", match: 0x0200003b, mask: maskF7, regs: "xxx"},
	OpDIVW:     {name: "divw", match: 0x0200403b, mask: maskF7, regs: "xxx"},
	OpDIVUW:    {name: "divuw", match: 0x0200503b, mask: maskF7, regs: "xxx"},
	OpREMW:     {name: "remw", match: 0x0200603b, mask: maskF7, regs: "xxx"},
	OpREMUW:    {name: "remuw", match: 0x0200703b, mask: maskF7, regs: "xxx"},
	OpLRW:      {name: "lr.w", match: 0x1000202f, mask: maskLR, regs: "xx", load: 4},
	OpSCW:      {name: "sc.w", match: 0x1800202f, mask: maskAMO, regs: "xxx", store: 4},
	OpAMOSWAPW: {name: "amoswap.w", match: 0x0800202f, mask: maskAMO, regs: "xxx", store: 4},
	OpAMOADDW:  {name: "amoadd.w", match: 0x0000202f, mask: maskAMO, regs: "xxx", store: 4},
	OpAMOXORW:  {name: "amoxor.w", match: 0x2000202f, mask: maskAMO, regs: "xxx", store: 4},
	OpAMOANDW:  {name: "amoand.w", match: 0x6000202f, mask: maskAMO, regs: "xxx", store: 4},
	OpAMOORW:   {name: "amoor.w", match: 0x4000202f, mask: maskAMO, regs: "xxx", store: 4},
	OpAMOMINW:  {name: "amomin.w", match: 0x8000202f, mask: maskAMO, regs: "xxx", store: 4},
	OpAMOMAXW:  {name: "amomax.w", match: 0xa000202f, mask: maskAMO, regs: "xxx", store: 4},
	OpAMOMINUW: {name: "amominu.w", match: 0xc000202f, mask: maskAMO, regs: "xxx", store: 4},
	OpAMOMAXUW: {name: "amomaxu.w", match: 0xe000202f, mask: maskAMO, regs: "xxx", store: 4},
	OpLRD:      {name: "lr.d", match: 0x1000302f, mask: maskLR, regs: "xx", load: 8},
	OpSCD:      {name: "sc.d", match: 0x1800302f, mask: maskAMO, regs: "xxx", store: 8},
	OpAMOSWAPD: {name: "amoswap.d", match: 0x0800302f, mask: maskAMO, regs: "xxx", store: 8},
	OpAMOADDD:  {name: "amoadd.d", match: 0x0000302f, mask: maskAMO, regs: "xxx", store: 8},
	OpAMOXORD:  {name: "amoxor.d", match: 0x2000302f, mask: maskAMO, regs: "xxx", store: 8},
	OpAMOANDD:  {name: "amoand.d", match: 0x6000302f, mask: maskAMO, regs: "xxx", store: 8},
	OpAMOORD:   {name: "amoor.d", match: 0x4000302f, mask: maskAMO, regs: "xxx", store: 8},
	OpAMOMIND:  {name: "amomin.d", match: 0x8000302f, mask: maskAMO, regs: "xxx", store: 8},
	OpAMOMAXD:  {name: "amomax.d", match: 0xa000302f, mask: maskAMO, regs: "xxx", store: 8},
	OpAMOMINUD: {name: "amominu.d", match: 0xc000302f, mask: maskAMO, regs: "xxx", store: 8},
	OpAMOMAXUD: {name: "amomaxu.d", match: 0xe000302f, mask: maskAMO, regs: "xxx", store: 8},
	OpFLW:      {name: "flw", match: 0x00002007, mask: maskF3, regs: "fx", imm: immI, load: 4},
	OpFSW:      {name: "fsw", match: 0x00002027, mask: maskF3, regs: "-xf", imm: immS, store: 4},
	OpFMADDS:   {name: "fmadd.s", match: 0x00000043, mask: maskR4, regs: "ffff", rm: true},
	OpFMSUBS:   {name: "fmsub.s", match: 0x00000047, mask: maskR4, regs: "ffff", rm: true},
	OpFNMSUBS:  {name: "fnmsub.s", match: 0x0000004b, mask: maskR4, regs: "ffff", rm: true},
	OpFNMADDS:  {name: "fnmadd.s", match: 0x0000004f, mask: maskR4, regs: "ffff", rm: true},
	OpFADDS:    {name: "fadd.s", match: 0x00000053, mask: maskFP, regs: "fff", rm: true},
	OpFSUBS:    {name: "fsub.s", match: 0x08000053, mask: maskFP, regs: "fff", rm: true},
	OpFMULS:    {name: "fmul.s", match: 0x10000053, mask: maskFP, regs: "fff", rm: true},
	OpFDIVS:    {name: "fdiv.s", match: 0x18000053, mask: maskFP, regs: "fff", rm: true},
	OpFSQRTS:   {name: "fsqrt.s", match: 0x58000053, mask: maskFP1, regs: "ff", rm: true},
	OpFSGNJS:   {name: "fsgnj.s", match: 0x20000053, mask: maskF7, regs: "fff"},
	OpFSGNJNS:  {name: "fsgnjn.s", match: 0x20001053, mask: maskF7, regs: "fff"},
	OpFSGNJXS:  {name: "fsgnjx.s", match: 0x20002053, mask: maskF7, regs: "fff"},
	OpFMINS:    {name: "fmin.s", match: 0x28000053, mask: maskF7, regs: "fff"},
	OpFMAXS:    {name: "fmax.s", match: 0x28001053, mask: maskF7, regs: "fff"},
	OpFCVTWS:   {name: "fcvt.w.s", match: 0xc0000053, mask: maskFP1, regs: "xf", rm: true},
	OpFCVTWUS:  {name: "fcvt.wu.s", match: 0xc0100053, mask: maskFP1, regs: "xf", rm: true},
	OpFCVTLS:   {name: "fcvt.l.s", match: 0xc0200053, mask: maskFP1, regs: "xf", rm: true},
	OpFCVTLUS:  {name: "fcvt.lu.s", match: 0xc0300053, mask: maskFP1, regs: "xf", rm: true},
	OpFMVXW:    {name: "fmv.x.w", match: 0xe0000053, mask: maskFPX, regs: "xf"},
	OpFEQS:     {name: "feq.s", match: 0xa0002053, mask: maskF7, regs: "xff"},
	OpFLTS:     {name: "flt.s", match: 0xa0001053, mask: maskF7, regs: "xff"},
	OpFLES:     {name: "fle.s", match: 0xa0000053, mask: maskF7, regs: "xff"},
	OpFCLASSS:  {name: "fclass.s", match: 0xe0001053, mask: maskFPX, regs: "xf"},
	OpFCVTSW:   {name: "fcvt.s.w", match: 0xd0000053, mask: maskFP1, regs: "fx", rm: true},
	OpFCVTSWU:  {name: "fcvt.s.wu", match: 0xd0100053, mask: maskFP1, regs: "fx", rm: true},
	OpFCVTSL:   {name: "fcvt.s.l", match: 0xd0200053, mask: maskFP1, regs: "fx", rm: true},
	OpFCVTSLU:  {name: "fcvt.s.lu", match: 0xd0300053, mask: maskFP1, regs: "fx", rm: true},
	OpFMVWX:    {name: "fmv.w.x", match: 0xf0000053, mask: maskFPX, regs: "fx"},
	OpFLD:      {name: "fld", match: 0x00003007, mask: maskF3, regs: "fx", imm: immI, load: 8},
	OpFSD:      {name: "fsd", match: 0x00003027, mask: maskF3, regs: "-xf", imm: immS, store: 8},
	OpFMADDD:   {name: "fmadd.d", match: 0x02000043, mask: maskR4, regs: "ffff", rm: true},
	OpFMSUBD:   {name: "fmsub.d", match: 0x02000047, mask: maskR4, regs: "ffff", rm: true},
	OpFNMSUBD:  {name: "fnmsub.d", match: 0x0200004b, mask: maskR4, regs: "ffff", rm: true},
	OpFNMADDD:  {name: "fnmadd.d", match: 0x0200004f, mask: maskR4, regs: "ffff", rm: true},
	OpFADDD:    {name: "fadd.d", match: 0x02000053, mask: maskFP, regs: "fff", rm: true},
	OpFSUBD:    {name: "fsub.d", match: 0x0a000053, mask: maskFP, regs: "fff", rm: true},
	OpFMULD:    {name: "fmul.d", match: 0x12000053, mask: maskFP, regs: "fff", rm: true},
	OpFDIVD:    {name: "fdiv.d", match: 0x1a000053, mask: maskFP, regs: "fff", rm: true},
	OpFSQRTD:   {name: "fsqrt.d", match: 0x5a000053, mask: maskFP1, regs: "ff", rm: true},
	OpFSGNJD:   {name: "fsgnj.d", match: 0x22000053, mask: maskF7, regs: "fff"},
	OpFSGNJND:  {name: "fsgnjn.d", match: 0x22001053, mask: maskF7, regs: "fff"},
	OpFSGNJXD:  {name: "fsgnjx.d", match: 0x22002053, mask: maskF7, regs: "fff"},
	OpFMIND:    {name: "fmin.d", match: 0x2a000053, mask: maskF7, regs: "fff"},
	OpFMAXD:    {name: "fmax.d", match: 0x2a001053, mask: maskF7, regs: "fff"},
	OpFCVTSD:   {name: "fcvt.s.d", match: 0x40100053, mask: maskFP1, regs: "ff", rm: true},
	OpFCVTDS:   {name: "fcvt.d.s", match: 0x42000053, mask: maskFP1, regs: "ff", rm: true},
	OpFCVTWD:   {name: "fcvt.w.d", match: 0xc2000053, mask: maskFP1, regs: "xf", rm: true},
	OpFCVTWUD:  {name: "fcvt.wu.d", match: 0xc2100053, mask: maskFP1, regs: "xf", rm: true},
	OpFCVTLD:   {name: "fcvt.l.d", match: 0xc2200053, mask: maskFP1, regs: "xf", rm: true},
	OpFCVTLUD:  {name: "fcvt.lu.d", match: 0xc2300053, mask: maskFP1, regs: "xf", rm: true},
	OpFMVXD:    {name: "fmv.x.d", match: 0xe2000053, mask: maskFPX, regs: "xf"},
	OpFEQD:     {name: "feq.d", match: 0xa2002053, mask: maskF7, regs: "xff"},
	OpFLTD:     {name: "flt.d", match: 0xa2001053, mask: maskF7, regs: "xff"},
	OpFLED:     {name: "fle.d", match: 0xa2000053, mask: maskF7, regs: "xff"},
	OpFCLASSD:  {name: "fclass.d", match: 0xe2001053, mask: maskFPX, regs: "xf"},
	OpFCVTDW:   {name: "fcvt.d.w", match: 0xd2000053, mask: maskFP1, regs: "fx", rm: true},
	OpFCVTDWU:  {name: "fcvt.d.wu", match: 0xd2100053, mask: maskFP1, regs: "fx", rm: true},
	OpFCVTDL:   {name: "fcvt.d.l", match: 0xd2200053, mask: maskFP1, regs: "fx", rm: true},
	OpFCVTDLU:  {name: "fcvt.d.lu", match: 0xd2300053, mask: maskFP1, regs: "fx", rm: true},
	OpFMVDX:    {name: "fmv.d.x", match: 0xf2000053, mask: maskFPX, regs: "fx"},
}
