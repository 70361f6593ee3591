package wet

// LimitPaths lets a builder divide paths once its nodes have so many
// statements.
func LimitPaths(b *Builder, stmts int) { b.pathLimit = stmts }
