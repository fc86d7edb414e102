package iprange_test

import (
	"math"
	"net/netip"
	"slices"
	"testing"

	"github.com/coracle-project/coracle/scheme/iprange"
)

func rangeOf(text string) iprange.Range { return iprange.New(netip.MustParsePrefix(text)) }

func TestRange(t *testing.T) {
	for _, tt := range []struct {
		prefix string
		size   uint64
		static uint64 // of size
		in     []string
		out    []string
	}{
		{"10.0.0.0/24", 254, 16, []string{"10.0.0.1", "10.0.0.254"}, []string{"10.0.0.0", "10.0.0.255", "10.0.1.1", "::ffff:10.0.0.1", "fd00::1"}},
		{"10.0.0.77/28", 14, 0, []string{"10.0.0.65", "10.0.0.78"}, []string{"10.0.0.64", "10.0.0.79"}},
		{"10.0.0.0/27", 30, 16, nil, nil},
		{"10.0.0.0/16", 65534, 256, []string{"10.0.255.254"}, nil},
		{"0.0.0.0/0", math.MaxUint32 - 1, 256, []string{"0.0.0.1", "255.255.255.254"}, []string{"0.0.0.0", "255.255.255.255"}},
		{"10.0.0.4/30", 2, 0, []string{"10.0.0.5", "10.0.0.6"}, nil},
		{"10.0.0.4/31", 0, 0, nil, []string{"10.0.0.4", "10.0.0.5"}},
		{"0.0.0.0/32", 0, 0, nil, []string{"0.0.0.0"}},
		{"255.255.255.255/32", 0, 0, nil, []string{"255.255.255.255"}},
		{"fd00::/64", math.MaxUint64, 256, []string{"fd00::1", "fd00::ffff:ffff:ffff:ffff"}, []string{"fd00::", "fd00:0:0:1::1", "10.0.0.1"}},
		{"fd00::/112", 65535, 256, []string{"fd00::1", "fd00::ffff"}, []string{"fd00::", "fd00::1:0"}},
		{"ffff:ffff:ffff:ffff:ffff:ffff:ffff:ffff/128", 0, 0, nil, []string{"ffff:ffff:ffff:ffff:ffff:ffff:ffff:ffff"}},
	} {
		r := rangeOf(tt.prefix)
		if got := r.Size(); got != tt.size {
			t.Errorf("%s: got size %d, want %d", tt.prefix, got, tt.size)
		}
		for i, ip := range append(slices.Clone(tt.in), tt.out...) {
			if got, want := r.Contains(netip.MustParseAddr(ip)), i < len(tt.in); got != want {
				t.Errorf("%s has %s: got %v, want %v", tt.prefix, ip, got, want)
			}
		}
		least := netip.Addr{}
		for i, band := range r.Bands() {
			ip, ok := band.Any()
			if want := []uint64{tt.size - tt.static, tt.static}[i] > 0; ok != want {
				t.Errorf("%s, band %d: got an address %v, want %v", tt.prefix, i, ok, want)
			}
			if ok && !r.Contains(ip) {
				t.Errorf("%s, band %d: got %s, which is outside", tt.prefix, i, ip)
			}
			if i == 0 {
				least = ip
			} else if ok && !ip.Less(least) {
				t.Errorf("%s: got %s from the last band, and %s from the first", tt.prefix, ip, least)
			}
		}
	}
}

// TestFree takes all addresses of a range, one after the other, while addresses of other ranges are
// taken, too.
func TestFree(t *testing.T) {
	for _, prefix := range []string{"10.0.0.0/24", "10.0.0.0/30", "fd00::/120"} {
		r := rangeOf(prefix)
		all := map[netip.Addr]bool{netip.MustParseAddr("10.0.7.1"): true, netip.MustParseAddr("fd01::7"): true, r.Prefix.Addr(): true}
		for i, band := range r.Bands() {
			for {
				ip, ok := band.Free(len(all), func(yield func(netip.Addr) bool) {
					for ip := range all {
						if !yield(ip) {
							return
						}
					}
				})
				if !ok {
					break
				}
				if all[ip] || !r.Contains(ip) {
					t.Fatalf("%s: got %s again, or from outside", prefix, ip)
				}
				all[ip] = true
			}
			if left := r.Size() + 3 - uint64(len(all)); i == 1 && left > 0 {
				t.Errorf("%s: got none, but %d are left", prefix, left)
			}
		}
	}
}

// TestFreeGoesRound searches a band of almost 2^64 addresses, and a band of which only the first
// address is free.
func TestFreeGoesRound(t *testing.T) {
	big := rangeOf("fd00::/64").Bands()[0]
	for range 100 {
		taken := []netip.Addr{netip.MustParseAddr("fd00::ffff:ffff:ffff:ffff"), netip.MustParseAddr("fd00::101")}
		if ip, ok := big.Free(len(taken), slices.Values(taken)); !ok || slices.Contains(taken, ip) || !rangeOf("fd00::/64").Contains(ip) {
			t.Fatalf("got %v, %v", ip, ok)
		}
	}
	var taken []netip.Addr
	for ip := netip.MustParseAddr("10.0.0.2"); ip.Less(netip.MustParseAddr("10.0.0.15")); ip = ip.Next() {
		taken = append(taken, ip)
	}
	for range 50 {
		if ip, ok := rangeOf("10.0.0.0/28").Bands()[0].Free(len(taken), slices.Values(taken)); !ok || ip.String() != "10.0.0.1" {
			t.Fatalf("got %v, %v, want the only one", ip, ok)
		}
	}
}

func TestParseAndCover(t *testing.T) {
	list := iprange.Parse([]string{"10.0.0.0/16", "x", "fd00::/64", "10.0.3.0/24"})
	if len(list) != 3 || !list[0].Is4() || list[1].Is4() || list[2].First().String() != "10.0.3.1" {
		t.Fatalf("got %v", list)
	}
	for _, tt := range []struct {
		a, b int
		want bool
	}{{0, 2, true}, {2, 0, false}, {0, 1, false}, {0, 0, true}} {
		if got := list[tt.a].Covers(list[tt.b]); got != tt.want {
			t.Errorf("%v covers %v: got %v", list[tt.a].Prefix, list[tt.b].Prefix, got)
		}
	}
}

func BenchmarkFree(b *testing.B) {
	r := rangeOf("10.0.0.0/16")
	var taken []netip.Addr
	for ip := r.First(); len(taken) < 65_000; ip = ip.Next() {
		taken = append(taken, ip)
	}
	b.ReportAllocs()
	for b.Loop() {
		if _, ok := r.Bands()[0].Free(len(taken), slices.Values(taken)); !ok {
			b.Fatal("full")
		}
	}
}
