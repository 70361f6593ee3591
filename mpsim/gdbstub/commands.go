package gdbstub

import _ "embed"

// Commands is a Python script for gdb, with commands that show where the run is after a
// monitor command has moved it.
//
//go:embed commands.py
var Commands string
