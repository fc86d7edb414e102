// Package iprange computes with the ranges from which services get their addresses (ServiceCIDR):
// which addresses of a range a service may have, and from which part of the range an address is
// allocated.
//
// Words: a range is an IP prefix without the addresses that no service may have. A band is a part
// of a range. The static band is for services that ask for an address; the other is for services
// that do not, and gets used first (KEP-3070).
//
// All functions are pure, except for random choices, and may be called at once.
//
// Not here: which address belongs to which service; registry/core allocates.
package iprange

import (
	"encoding/binary"
	"iter"
	"math/bits"
	"math/rand/v2"
	"net/netip"
	"slices"
)

// Range has the addresses of a prefix that services may have: all but the first, which names the
// network, and in IPv4 the last, which is the broadcast address.
type Range struct {
	Prefix      netip.Prefix // masked: the bits beyond its length are zero
	first, last netip.Addr   // last < first if the range is empty
}

// New returns the range of a prefix. Bits beyond the length of the prefix are ignored.
func New(p netip.Prefix) Range {
	r := Range{Prefix: p.Masked()}
	r.first, r.last = r.Prefix.Addr().Next(), lastOf(r.Prefix)
	if r.last.Is4() {
		r.last = r.last.Prev()
	}
	return r
}

// Parse returns the ranges of CIDRs such as "10.0.0.0/24". It leaves out texts that are no CIDRs.
func Parse(cidrs []string) []Range {
	list := make([]Range, 0, len(cidrs))
	for _, text := range cidrs {
		if p, err := netip.ParsePrefix(text); err == nil {
			list = append(list, New(p))
		}
	}
	return list
}

// Is4 reports whether r is a range of IPv4.
func (r Range) Is4() bool { return r.Prefix.Addr().Is4() }

// First returns the lowest address of the range. It belongs to no range if Size is 0.
func (r Range) First() netip.Addr { return r.first }

// Contains reports whether ip is in the range.
func (r Range) Contains(ip netip.Addr) bool {
	return r.Prefix.Contains(ip) && ip != r.Prefix.Addr() && !r.last.Less(ip)
}

// Within reports whether ip is in one of the ranges.
func Within(ranges []Range, ip netip.Addr) bool {
	return slices.ContainsFunc(ranges, func(r Range) bool { return r.Contains(ip) })
}

// Covers reports whether the prefix of r includes that of other.
func (r Range) Covers(other Range) bool {
	return r.Prefix.Overlaps(other.Prefix) && r.Prefix.Bits() <= other.Prefix.Bits()
}

// Size returns the number of addresses in the range. For an IPv6 prefix shorter than 64 bits, the
// result is too small: it counts the lower 64 bits only.
func (r Range) Size() uint64 {
	if !r.first.IsValid() || r.last.Less(r.first) {
		return 0
	}
	return distance(r.first, r.last) + 1
}

// Bands returns the two bands of the range in the order in which addresses are allocated from them:
// first the upper band, then the static band, which has the lowest addresses.
func (r Range) Bands() [2]Band {
	size := r.Size()
	static := min(r.static(), size)
	return [2]Band{{plus(r.first, static), size - static}, {r.first, static}}
}

// static returns the size of the static band: a sixteenth of the range, but at least 16 and at most
// 256 addresses, and none of a range of 16 or fewer. KEP-3070 defines it as
// min(max(16, size/16), 256).
func (r Range) static() uint64 {
	const least, most, part = 16, 256, 16
	size := uint64(1) << min(r.hostBits(), 63)
	if size <= least {
		return 0
	}
	return min(max(least, size/part), most)
}

// hostBits returns the number of bits beyond the prefix.
func (r Range) hostBits() int { return r.Prefix.Addr().BitLen() - r.Prefix.Bits() }

// Band is a part of a range: size consecutive addresses from first on.
type Band struct {
	first netip.Addr
	size  uint64
}

// Any returns a random address of the band, and false if the band is empty.
func (b Band) Any() (netip.Addr, bool) {
	if b.size == 0 {
		return netip.Addr{}, false
	}
	return plus(b.first, rand.Uint64N(b.size)), true
}

// Free returns an address of the band that is not taken, and false if there is none. It begins at a
// random address and returns the first free one from there on, going round at the end of the band.
// taken yields n addresses or fewer, which may be outside of the band.
//
// Among any n+1 addresses, at least one is not taken. So Free marks the taken addresses in a window
// of n+1 addresses from the random one, in a bitmap of n+1 bits, and looks for a zero bit.
func (b Band) Free(n int, taken iter.Seq[netip.Addr]) (netip.Addr, bool) {
	if b.size == 0 {
		return netip.Addr{}, false
	}
	start := rand.Uint64N(b.size)
	window := min(uint64(n)+1, b.size) // addresses to look at
	used := make([]uint64, window/64+1)
	for ip := range taken {
		if ip.BitLen() != b.first.BitLen() || ip.Less(b.first) {
			continue
		}
		at := distance(b.first, ip)
		if at >= b.size || half(ip) != half(b.first) {
			continue
		}
		if at < start { // the window goes round the end of the band
			at += b.size
		}
		if at -= start; at < window {
			used[at/64] |= 1 << (at % 64)
		}
	}
	for i, word := range used {
		at := uint64(i)*64 + uint64(bits.TrailingZeros64(^word))
		if ^word == 0 || at >= window {
			continue
		}
		if left := b.size - start; at >= left {
			return plus(b.first, at-left), true
		}
		return plus(b.first, start+at), true
	}
	return netip.Addr{}, false
}

// lastOf returns the last address of a prefix.
func lastOf(p netip.Prefix) netip.Addr {
	b := p.Addr().As16()
	for n, i := p.Addr().BitLen()-p.Bits(), len(b)-1; n > 0; n, i = n-8, i-1 {
		b[i] |= 1<<min(n, 8) - 1
	}
	return from16(b, p.Addr().Is4())
}

// plus returns the address n after ip.
func plus(ip netip.Addr, n uint64) netip.Addr {
	b := ip.As16()
	low, carry := bits.Add64(binary.BigEndian.Uint64(b[8:]), n, 0)
	binary.BigEndian.PutUint64(b[8:], low)
	binary.BigEndian.PutUint64(b[:8], binary.BigEndian.Uint64(b[:8])+carry)
	return from16(b, ip.Is4())
}

func from16(b [16]byte, is4 bool) netip.Addr {
	if is4 {
		return netip.AddrFrom4([4]byte(b[12:]))
	}
	return netip.AddrFrom16(b)
}

// distance returns b-a. Both must have the same first 64 bits.
func distance(a, b netip.Addr) uint64 {
	x, y := a.As16(), b.As16()
	return binary.BigEndian.Uint64(y[8:]) - binary.BigEndian.Uint64(x[8:])
}

// half returns the first 64 bits of an address.
func half(ip netip.Addr) uint64 {
	b := ip.As16()
	return binary.BigEndian.Uint64(b[:8])
}
