package cfg

func (p *Program) jumpTables(f *Function, s *sweep) map[int][]uint64 { return nil }
