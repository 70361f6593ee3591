package rv

// Op is an operation of RV64GC or of the extensions listed in the package comment. The zero
// value is an illegal instruction.
type Op uint16

// The operations, in the order of the manual's chapters.
const (
	OpInvalid Op = iota

	OpLUI
	OpAUIPC
	OpJAL
	OpJALR
	OpBEQ
	OpBNE
	OpBLT
	OpBGE
	OpBLTU
	OpBGEU
	OpLB
	OpLH
	OpLW
	OpLD
	OpLBU
	OpLHU
	OpLWU
	OpSB
	OpSH
	OpSW
	OpSD
	OpADDI
	OpSLTI
	OpSLTIU
	OpXORI
	OpORI
	OpANDI
	OpSLLI
	OpSRLI
	OpSRAI
	OpADD
	OpSUB
	OpSLL
	OpSLT
	OpSLTU
	OpXOR
	OpSRL
	OpSRA
	OpOR
	OpAND
	OpADDIW
	OpSLLIW
	OpSRLIW
	OpSRAIW
	OpADDW
	OpSUBW
	OpSLLW
	OpSRLW
	OpSRAW

	OpFENCE
	OpFENCEI
	OpECALL
	OpEBREAK
	OpCSRRW
	OpCSRRS
	OpCSRRC
	OpCSRRWI
	OpCSRRSI
	OpCSRRCI

	OpMUL
	OpMULH
	OpMULHSU
	OpMULHU
	OpDIV
	OpDIVU
	OpREM
	OpREMU
	OpMULW
	OpDIVW
	OpDIVUW
	OpREMW
	OpREMUW

	// Zba, Zbb, Zbc, Zbs, Zicond; Zimop, Zihintpause, Zawrs, Zicbom, Zicboz.
	OpADDUW
	OpSH1ADD
	OpSH2ADD
	OpSH3ADD
	OpSH1ADDUW
	OpSH2ADDUW
	OpSH3ADDUW
	OpANDN
	OpORN
	OpXNOR
	OpMAX
	OpMAXU
	OpMIN
	OpMINU
	OpROL
	OpROR
	OpROLW
	OpRORW
	OpCLMUL
	OpCLMULH
	OpCLMULR
	OpBCLR
	OpBEXT
	OpBINV
	OpBSET
	OpCZEROEQZ
	OpCZERONEZ
	OpSLLIUW
	OpRORI
	OpRORIW
	OpBCLRI
	OpBEXTI
	OpBINVI
	OpBSETI
	OpCLZ
	OpCTZ
	OpCPOP
	OpCLZW
	OpCTZW
	OpCPOPW
	OpSEXTB
	OpSEXTH
	OpZEXTH
	OpORCB
	OpREV8
	OpMOPR
	OpMOPRR
	OpPAUSE
	OpWRSNTO
	OpWRSSTO
	OpCBOCLEAN
	OpCBOFLUSH
	OpCBOZERO

	OpLRW
	OpSCW
	OpAMOSWAPW
	OpAMOADDW
	OpAMOXORW
	OpAMOANDW
	OpAMOORW
	OpAMOMINW
	OpAMOMAXW
	OpAMOMINUW
	OpAMOMAXUW
	OpLRD
	OpSCD
	OpAMOSWAPD
	OpAMOADDD
	OpAMOXORD
	OpAMOANDD
	OpAMOORD
	OpAMOMIND
	OpAMOMAXD
	OpAMOMINUD
	OpAMOMAXUD

	OpAMOCASW // Zacas without the 16-byte form
	OpAMOCASD

	OpFLW
	OpFSW
	OpFMADDS
	OpFMSUBS
	OpFNMSUBS
	OpFNMADDS
	OpFADDS
	OpFSUBS
	OpFMULS
	OpFDIVS
	OpFSQRTS
	OpFSGNJS
	OpFSGNJNS
	OpFSGNJXS
	OpFMINS
	OpFMAXS
	OpFCVTWS
	OpFCVTWUS
	OpFCVTLS
	OpFCVTLUS
	OpFMVXW
	OpFEQS
	OpFLTS
	OpFLES
	OpFCLASSS
	OpFCVTSW
	OpFCVTSWU
	OpFCVTSL
	OpFCVTSLU
	OpFMVWX

	// Single precision: Zfa and Zfhmin.
	OpFLIS
	OpFMINMS
	OpFMAXMS
	OpFROUNDS
	OpFROUNDNXS
	OpFLEQS
	OpFLTQS
	OpFLH
	OpFSH
	OpFMVXH
	OpFMVHX
	OpFCVTSH
	OpFCVTHS

	OpFLD
	OpFSD
	OpFMADDD
	OpFMSUBD
	OpFNMSUBD
	OpFNMADDD
	OpFADDD
	OpFSUBD
	OpFMULD
	OpFDIVD
	OpFSQRTD
	OpFSGNJD
	OpFSGNJND
	OpFSGNJXD
	OpFMIND
	OpFMAXD
	OpFCVTSD
	OpFCVTDS
	OpFCVTWD
	OpFCVTWUD
	OpFCVTLD
	OpFCVTLUD
	OpFMVXD
	OpFEQD
	OpFLTD
	OpFLED
	OpFCLASSD
	OpFCVTDW
	OpFCVTDWU
	OpFCVTDL
	OpFCVTDLU
	OpFMVDX

	// Double precision: Zfa and Zfhmin.
	OpFLID
	OpFMINMD
	OpFMAXMD
	OpFROUNDD
	OpFROUNDNXD
	OpFCVTMODWD
	OpFLEQD
	OpFLTQD
	OpFCVTDH
	OpFCVTHD

	NumOps
)

// String returns the operation in assembler notation.
func (o Op) String() string {
	if o < NumOps {
		return table[o].name
	}
	return table[OpInvalid].name
}

// Encoding returns the bit pattern of the operation's 32-bit form. An instruction has this
// operation if its bits selected by mask equal those of match.
func (o Op) Encoding() (match, mask uint32) {
	if o >= NumOps {
		o = OpInvalid
	}
	return table[o].match, table[o].mask
}
