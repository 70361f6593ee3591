package linux

import (
	"encoding/binary"
	"net/netip"
	"strings"
)

// Address families.
const (
	familyUnix  = 1
	familyINet  = 2
	familyINet6 = 10

	unixPathMax = 108
	inetBytes   = 16
	inet6Bytes  = 28
	maxSockaddr = 128
	firstChosen = 32768 // lowest port that bind chooses by itself
	lastChosen  = 60999
)

// address is the address of a socket in the guest's own network, which consists of one
// host.
type address struct {
	family uint16
	path   string // for familyUnix; an abstract path begins with a zero byte
	ip     netip.Addr
	port   uint16
}

// parseAddress decodes a struct sockaddr.
func parseAddress(b []byte) (address, int64) {
	if len(b) < 2 {
		return address{}, -EINVAL
	}
	a := address{family: binary.LittleEndian.Uint16(b)}
	switch {
	case a.family == familyUnix:
		a.path = string(b[2:min(len(b), 2+unixPathMax)])
		if !strings.HasPrefix(a.path, "\x00") {
			a.path, _, _ = strings.Cut(a.path, "\x00")
		}
	case a.family == familyINet && len(b) >= inetBytes:
		a.port = binary.BigEndian.Uint16(b[2:])
		a.ip = netip.AddrFrom4([4]byte(b[4:8]))
	case a.family == familyINet6 && len(b) >= inet6Bytes-4:
		a.port = binary.BigEndian.Uint16(b[2:])
		a.ip = netip.AddrFrom16([16]byte(b[8:24]))
	case a.family == familyINet || a.family == familyINet6:
		return a, -EINVAL
	default:
		return a, -EAFNOSUPPORT
	}
	return a, 0
}

// encode returns the address as a struct sockaddr.
func (a *address) encode() []byte {
	b := binary.LittleEndian.AppendUint16(nil, a.family)
	switch a.family {
	case familyUnix:
		b = append(b, a.path...)
		if a.path != "" && a.path[0] != 0 {
			b = append(b, 0)
		}
	case familyINet:
		b = binary.BigEndian.AppendUint16(b, a.port)
		ip := netip.IPv4Unspecified()
		if a.ip.Is4() {
			ip = a.ip
		}
		b = append(append(b, ip.AsSlice()...), make([]byte, 8)...)
	case familyINet6:
		b = binary.BigEndian.AppendUint16(b, a.port)
		ip := netip.IPv6Unspecified()
		if a.ip.IsValid() {
			ip = netip.AddrFrom16(a.ip.As16())
		}
		b = append(append(append(b, 0, 0, 0, 0), ip.AsSlice()...), 0, 0, 0, 0)
	}
	return b
}

// here reports whether an address is on the guest's own host.
func (a *address) here() bool {
	ip := a.ip.Unmap()
	return a.family == familyUnix || ip.IsLoopback() || ip.IsUnspecified()
}

// loopback returns the address at which a socket that is bound to all addresses can be
// reached.
func (a address) loopback() address {
	if a.family != familyUnix && (!a.ip.IsValid() || a.ip.IsUnspecified()) {
		a.ip = netip.IPv6Loopback()
		if a.family == familyINet {
			a.ip = netip.AddrFrom4([4]byte{127, 0, 0, 1})
		}
	}
	return a
}

// network maps addresses to the sockets bound to them.
type network struct {
	bound map[netKey]*socket
	next  uint16 // next port to try when a socket asks for any port
	names uint64 // number of familyUnix sockets that the kernel has named
}

type netKey struct {
	stream bool
	path   string
	port   uint16
	v6     bool
}

func (s *socket) key(a *address) netKey {
	return netKey{stream: s.kind != socketDgram, path: a.path, port: a.port, v6: a.family == familyINet6}
}

// find returns the socket at an address.
func (n *network) find(s *socket, a *address) *socket {
	if !a.here() {
		return nil
	}
	key := s.key(a)
	if to := n.bound[key]; to != nil {
		return to
	}
	if a.family == familyUnix {
		return nil
	}
	key.v6 = !key.v6 // an IPv6 socket for all addresses also takes IPv4, and ::ffff:127.0.0.1 is IPv4
	to := n.bound[key]
	if to != nil && (to.family == familyINet6 && to.local.ip.IsUnspecified() && !to.onlyV6 || to.family == familyINet && a.ip.Is4In6()) {
		return to
	}
	return nil
}

// take binds a socket to an address. Port 0 means any free port.
func (n *network) take(s *socket, a address) int64 {
	if a.family != familyUnix && a.port == 0 {
		for range lastChosen - firstChosen + 1 {
			if n.next < firstChosen || n.next > lastChosen {
				n.next = firstChosen
			}
			a.port = n.next
			n.next++
			if n.bound[s.key(&a)] == nil {
				break
			}
		}
	}
	key := s.key(&a)
	if n.bound[key] != nil {
		return -EADDRINUSE
	}
	if n.bound == nil {
		n.bound = map[netKey]*socket{}
	}
	n.bound[key] = s
	s.local, s.named = a, true
	return 0
}

// leave releases a socket's address.
func (n *network) leave(s *socket) {
	if key := s.key(&s.local); s.named && n.bound[key] == s {
		delete(n.bound, key)
	}
}
