package wet

// LimitPaths makes a builder divide paths once its nodes have limit statements.
func LimitPaths(b *Builder, stmts int) { b.pathLimit = stmts }

// StepFrom is the length from which on a sequence is read by a cursor.
const StepFrom = stepFrom

// StepShort makes a graph read all sequences by cursors, as for a query that steps.
func StepShort(g *Graph) {
	g.stepFrom = 1
	g.Stepping(true)
}

// Held returns the bytes of labels that a graph has decoded.
func Held(g *Graph) uint64 { return g.cache.used }
