package format

import "hindsight/tracefmt/wire"

type decoder = wire.Payload

func decode(payload []byte) decoder {
	return decoder{Rest: payload}
}
