package wet

// LimitPaths lets a builder divide paths once its nodes have so many
// statements.
func LimitPaths(b *Builder, stmts int) { b.pathLimit = stmts }

// StepFrom is the length from which a sequence is read by a cursor.
const StepFrom = stepFrom

// Held is the bytes of labels that a graph has decoded.
func Held(g *Graph) uint64 { return g.cache.used }
