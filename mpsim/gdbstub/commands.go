package gdbstub

import _ "embed"

// Commands is a script in Python for gdb, with commands that show where the run stands
// after a monitor command has moved it.
//
//go:embed commands.py
var Commands string
