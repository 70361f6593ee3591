#include "textflag.h"

// The program's first instructions, in the place of the runtime's own (DUPOK: if the
// runtime's come first, those stand). They ask whether standard output is open.
TEXT _rt0_arm64_linux(SB), NOSPLIT|NOFRAME|DUPOK, $0
	MOVD	$25, R8 // fcntl
	MOVD	$1, R0
	MOVD	$1, R1 // F_GETFD
	SVC
	MOVD	R0, ·outputState(SB)
	JMP	_rt0_arm64(SB)
