package format

import "hindsight/tracefmt/wire"

// decoder reads a payload of the trace.
type decoder = wire.Payload

func decode(payload []byte) decoder {
	return decoder{Rest: payload}
}
