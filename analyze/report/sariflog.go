package report

// The part of SARIF 2.1.0 that reports use. Numbers in brackets are sections of the
// standard.

type sarifLog struct { // [3.13]
	Schema  string     `json:"$schema"`
	Version string     `json:"version"`
	Runs    []sarifRun `json:"runs"`
}

type sarifRun struct { // [3.14]
	Tool        sarifTool         `json:"tool"`
	Invocations []sarifInvocation `json:"invocations"`
	ColumnKind  string            `json:"columnKind"`
	// BaseIDs says to which directories file names are relative.
	BaseIDs    map[string]sarifArtifact `json:"originalUriBaseIds,omitempty"`
	Results    []sarifResult            `json:"results"`
	Properties map[string]any           `json:"properties,omitempty"`
}

type sarifTool struct { // [3.18]
	Driver sarifDriver `json:"driver"`
}

type sarifDriver struct { // [3.19]
	Name    string      `json:"name"`
	Version string      `json:"version,omitempty"`
	Rules   []sarifRule `json:"rules"`
}

type sarifRule struct { // [3.49]
	ID               string             `json:"id"`
	Name             string             `json:"name"`
	ShortDescription sarifMessage       `json:"shortDescription"`
	FullDescription  sarifMessage       `json:"fullDescription"`
	Help             sarifMessage       `json:"help"`
	Configuration    sarifConfiguration `json:"defaultConfiguration"`
}

type sarifConfiguration struct { // [3.50]
	Level string `json:"level"`
}

type sarifInvocation struct { // [3.20]
	Arguments           []string            `json:"arguments,omitempty"`
	ExitCode            int                 `json:"exitCode"`
	ExecutionSuccessful bool                `json:"executionSuccessful"`
	Notifications       []sarifNotification `json:"toolExecutionNotifications,omitempty"`
}

type sarifNotification struct { // [3.58]
	Level   string       `json:"level"`
	Message sarifMessage `json:"message"`
}

type sarifMessage struct { // [3.11]
	Text string `json:"text"`
}

type sarifResult struct { // [3.27]
	RuleID              string             `json:"ruleId"`
	RuleIndex           int                `json:"ruleIndex"`
	Level               string             `json:"level"`
	Message             sarifMessage       `json:"message"`
	Locations           []sarifLocation    `json:"locations"`
	RelatedLocations    []sarifLocation    `json:"relatedLocations,omitempty"`
	Stacks              []sarifStack       `json:"stacks,omitempty"`
	CodeFlows           []sarifCodeFlow    `json:"codeFlows,omitempty"`
	OccurrenceCount     uint64             `json:"occurrenceCount"`
	PartialFingerprints map[string]string  `json:"partialFingerprints"`
	BaselineState       string             `json:"baselineState,omitempty"`
	Suppressions        []sarifSuppression `json:"suppressions,omitempty"`
	Properties          map[string]any     `json:"properties,omitempty"`
}

type sarifSuppression struct { // [3.35]
	Kind          string `json:"kind"`
	Status        string `json:"status"`
	Justification string `json:"justification,omitempty"`
}

type sarifLocation struct { // [3.28]
	ID               int            `json:"id,omitempty"`
	Physical         *sarifPhysical `json:"physicalLocation,omitempty"`
	LogicalLocations []sarifLogical `json:"logicalLocations,omitempty"`
	Message          *sarifMessage  `json:"message,omitempty"`
}

type sarifPhysical struct { // [3.29]
	Artifact *sarifArtifact `json:"artifactLocation,omitempty"`
	Region   *sarifRegion   `json:"region,omitempty"`
	Address  *sarifAddress  `json:"address,omitempty"`
}

type sarifArtifact struct { // [3.4]
	URI    string `json:"uri"`
	BaseID string `json:"uriBaseId,omitempty"`
}

type sarifRegion struct { // [3.30]
	StartLine int `json:"startLine"`
}

type sarifAddress struct { // [3.32]
	Absolute int64  `json:"absoluteAddress"`
	Kind     string `json:"kind"`
}

type sarifLogical struct { // [3.33]
	Name string `json:"name"`
	Kind string `json:"kind"`
}

type sarifStack struct { // [3.44]
	Message *sarifMessage `json:"message,omitempty"`
	Frames  []sarifFrame  `json:"frames"`
}

type sarifFrame struct { // [3.45]
	Location *sarifLocation `json:"location"`
	ThreadID uint32         `json:"threadId"`
	foldable bool           // it is of a library
}

type sarifCodeFlow struct { // [3.36]
	Message     *sarifMessage     `json:"message,omitempty"`
	ThreadFlows []sarifThreadFlow `json:"threadFlows"`
}

type sarifThreadFlow struct { // [3.37]
	ID        string        `json:"id"`
	Message   *sarifMessage `json:"message,omitempty"`
	Locations []sarifStep   `json:"locations"`
}

type sarifStep struct { // [3.38]
	Location       *sarifLocation `json:"location"`
	ExecutionOrder int            `json:"executionOrder"`
	Importance     string         `json:"importance"`
}
