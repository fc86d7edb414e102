package endpoints

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/coracle-project/coracle/scheme"
	"github.com/coracle-project/coracle/scheme/api/corev1"
	"github.com/coracle-project/coracle/scheme/meta"
)

// addressKey identifies an address in Endpoints. It has the UID of the pod, because pods in the
// host's network share an IP.
type addressKey struct {
	ip  string
	uid meta.UID
}

func keyOf(a *corev1.EndpointAddress) addressKey {
	return addressKey{a.IP, scheme.OrZero(a.TargetRef).UID}
}

// subsetPort is a corev1.EndpointPort that can be a map key. For a subset without ports, the zero
// subsetPort stands in their place.
type subsetPort struct {
	name     string
	protocol corev1.Protocol
	app      string
	number   int32
}

// repack returns the canonical form of subsets: ports with the same addresses in the same states
// share one subset, and all lists are sorted. An address that is both ready and not ready for a
// port counts as not ready. A subset without addresses is dropped. repack is RepackSubsets of
// Kubernetes, except for the order. It changes no subset, but the result shares the addresses'
// pointers.
//
// Example: {a: 80}, {a: 443}, {b: 80} become {a, b: 80} and {a: 443}, since the two ports have
// different addresses.
func repack(subsets []corev1.EndpointSubset) []corev1.EndpointSubset {
	addresses := map[addressKey]*corev1.EndpointAddress{}
	ready := map[subsetPort]map[addressKey]bool{}
	for i := range subsets {
		s := &subsets[i]
		ports := []subsetPort{{}}
		if len(s.Ports) > 0 {
			ports = ports[:0]
		}
		for _, p := range s.Ports {
			ports = append(ports, subsetPort{p.Name, p.Protocol, scheme.OrZero(p.AppProtocol), p.Port})
		}
		add := func(list []corev1.EndpointAddress, isReady bool) {
			for i := range list {
				key := keyOf(&list[i])
				if addresses[key] == nil {
					addresses[key] = &list[i]
				}
				for _, p := range ports {
					if ready[p] == nil {
						ready[p] = map[addressKey]bool{}
					}
					was, known := ready[p][key]
					ready[p][key] = isReady && (was || !known)
				}
			}
		}
		add(s.Addresses, true)
		add(s.NotReadyAddresses, false)
	}
	return pack(addresses, ready)
}

// pack makes the subsets that repack returns. ready has, for each port, its addresses and whether
// each is ready for the port.
func pack(
	addresses map[addressKey]*corev1.EndpointAddress, ready map[subsetPort]map[addressKey]bool,
) []corev1.EndpointSubset {
	together := map[string]*corev1.EndpointSubset{}
	var packed []*corev1.EndpointSubset
	for _, p := range slices.SortedFunc(maps.Keys(ready), comparePorts) {
		var s corev1.EndpointSubset
		var id strings.Builder
		for _, key := range slices.SortedFunc(maps.Keys(ready[p]), compareKeys) {
			fmt.Fprintln(&id, key.ip, key.uid, ready[p][key])
			if ready[p][key] {
				s.Addresses = append(s.Addresses, *addresses[key])
			} else {
				s.NotReadyAddresses = append(s.NotReadyAddresses, *addresses[key])
			}
		}
		same := together[id.String()]
		if same == nil {
			same = &s
			together[id.String()], packed = same, append(packed, same)
		}
		if p.number > 0 {
			same.Ports = append(same.Ports, corev1.EndpointPort{
				Name: p.name, Port: p.number, Protocol: p.protocol, AppProtocol: unlessEmpty(p.app),
			})
		}
	}
	var list []corev1.EndpointSubset
	for _, s := range packed {
		list = append(list, *s)
	}
	return list
}

func comparePorts(a, b subsetPort) int {
	return cmp.Or(cmp.Compare(a.name, b.name), cmp.Compare(a.number, b.number),
		cmp.Compare(a.protocol, b.protocol), cmp.Compare(a.app, b.app))
}

func compareKeys(a, b addressKey) int {
	return cmp.Or(cmp.Compare(a.ip, b.ip), cmp.Compare(a.uid, b.uid))
}
