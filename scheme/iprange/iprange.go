// Package iprange is about the ranges that the addresses of services come from: which addresses of
// a range a service may have, and in which order those are handed out that nobody asks for by name.
// It knows nothing of who has which.
package iprange

import (
	"encoding/binary"
	"iter"
	"math/bits"
	"math/rand/v2"
	"net/netip"
	"slices"
)

// Range are the addresses of a prefix that services may have: neither the first of all, which is
// the network's, nor of IPv4 the last, which is for broadcasts.
type Range struct {
	Prefix      netip.Prefix // without bits behind its length
	first, last netip.Addr   // last is before first if there is none
}

// New returns the range of a prefix.
func New(p netip.Prefix) Range {
	r := Range{Prefix: p.Masked()}
	r.first, r.last = r.Prefix.Addr().Next(), lastOf(r.Prefix)
	if r.last.Is4() {
		r.last = r.last.Prev()
	}
	return r
}

// Parse returns the ranges that some texts name. Texts that are none are left out.
func Parse(cidrs []string) []Range {
	list := make([]Range, 0, len(cidrs))
	for _, text := range cidrs {
		if p, err := netip.ParsePrefix(text); err == nil {
			list = append(list, New(p))
		}
	}
	return list
}

// Is4 reports whether it is a range of IPv4.
func (r Range) Is4() bool { return r.Prefix.Addr().Is4() }

// First is the least address of the range.
func (r Range) First() netip.Addr { return r.first }

// Contains reports whether a service may have an address from the range.
func (r Range) Contains(ip netip.Addr) bool {
	return r.Prefix.Contains(ip) && ip != r.Prefix.Addr() && !r.last.Less(ip)
}

// Within reports whether a service may have an address from one of some ranges.
func Within(ranges []Range, ip netip.Addr) bool {
	return slices.ContainsFunc(ranges, func(r Range) bool { return r.Contains(ip) })
}

// Covers reports whether a range has all that another has.
func (r Range) Covers(other Range) bool {
	return r.Prefix.Overlaps(other.Prefix) && r.Prefix.Bits() <= other.Prefix.Bits()
}

// Size is how many addresses there are. Of IPv6 there are more than that in a range with a prefix
// shorter than 64 bits.
func (r Range) Size() uint64 {
	if !r.first.IsValid() || r.last.Less(r.first) {
		return 0
	}
	return distance(r.first, r.last) + 1
}

// Bands returns the parts of the range in the order in which addresses are taken from them: its
// first addresses are for those who ask for one, and come last.
func (r Range) Bands() [2]Band {
	size := r.Size()
	static := min(r.static(), size)
	return [2]Band{{plus(r.first, static), size - static}, {r.first, static}}
}

// static is how many addresses are for those who ask for one: a sixteenth within bounds, none of a
// small range.
func (r Range) static() uint64 {
	const least, most, part = 16, 256, 16
	size := uint64(1) << min(r.hostBits(), 63)
	if size <= least {
		return 0
	}
	return min(max(least, size/part), most)
}

func (r Range) hostBits() int { return r.Prefix.Addr().BitLen() - r.Prefix.Bits() }

// Band is a part of a range: consecutive addresses.
type Band struct {
	first netip.Addr
	size  uint64
}

// Any returns some address of the band, by chance; false if it is empty.
func (b Band) Any() (netip.Addr, bool) {
	if b.size == 0 {
		return netip.Addr{}, false
	}
	return plus(b.first, rand.Uint64N(b.size)), true
}

// Free returns an address that is not among n taken ones, which may be of any ranges: the next
// behind one by chance. It is false if there is none. It needs n bits of memory.
func (b Band) Free(n int, taken iter.Seq[netip.Addr]) (netip.Addr, bool) {
	if b.size == 0 {
		return netip.Addr{}, false
	}
	start := rand.Uint64N(b.size)
	window := min(uint64(n)+1, b.size) // of more addresses than are taken one is free
	used := make([]uint64, window/64+1)
	for ip := range taken {
		if ip.BitLen() != b.first.BitLen() || ip.Less(b.first) {
			continue
		}
		at := distance(b.first, ip)
		if at >= b.size || half(ip) != half(b.first) {
			continue
		}
		if at < start { // the band goes round
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

// lastOf is the last address of a prefix.
func lastOf(p netip.Prefix) netip.Addr {
	b := p.Addr().As16()
	for n, i := p.Addr().BitLen()-p.Bits(), len(b)-1; n > 0; n, i = n-8, i-1 {
		b[i] |= 1<<min(n, 8) - 1
	}
	return from16(b, p.Addr().Is4())
}

// plus is the address n behind ip.
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

// distance is how far b is behind a, which has the same first half.
func distance(a, b netip.Addr) uint64 {
	x, y := a.As16(), b.As16()
	return binary.BigEndian.Uint64(y[8:]) - binary.BigEndian.Uint64(x[8:])
}

// half is the first half of an address.
func half(ip netip.Addr) uint64 {
	b := ip.As16()
	return binary.BigEndian.Uint64(b[:8])
}
