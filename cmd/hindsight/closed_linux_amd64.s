#include "textflag.h"

// The program's first instructions, in the place of the runtime's own (DUPOK: if the
// runtime's come first, those stand). They ask whether standard output is open.
TEXT _rt0_amd64_linux(SB), NOSPLIT|NOFRAME|DUPOK, $0
	MOVL	$72, AX // fcntl
	MOVL	$1, DI
	MOVL	$1, SI // F_GETFD
	SYSCALL
	MOVQ	AX, ·outputState(SB)
	JMP	_rt0_amd64(SB)
