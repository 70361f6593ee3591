package examples

// manifest is the table of examples, without what is derived from the sources.
func manifest() []Program {
	return []Program{
		{
			Name: "bank", File: "bank.c", Group: Demo, Level: "-O1", Twin: "norace_bank", Races: true,
			Title: "tellers move money while an auditor reads under another lock",
		},
		{
			Name: "norace_bank", File: "norace_bank.c", Group: Demo, Level: "-O1", Twin: "bank",
			Title:  "the bank with one lock for transfers and audits",
			Stdout: "bank: 8000 in 8 accounts; 0 of 50 audits found another sum\n",
		},
	}
}
