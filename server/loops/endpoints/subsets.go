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

// addressKey tells addresses apart: pods may share one.
type addressKey struct {
	ip  string
	uid meta.UID
}

func keyOf(a *corev1.EndpointAddress) addressKey {
	return addressKey{a.IP, scheme.OrZero(a.TargetRef).UID}
}

// subsetPort is a port by its values; without a number it stands for none.
type subsetPort struct {
	name     string
	protocol corev1.Protocol
	app      string
	number   int32
}

// repack says the same as some subsets in as few of them as can be: each has the ports that the
// same addresses are ready for, and not ready for, and all is sorted. An address that is said to be
// ready for a port and not to be is not.
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

// pack makes subsets of addresses and of what each is ready for.
func pack(addresses map[addressKey]*corev1.EndpointAddress, ready map[subsetPort]map[addressKey]bool) []corev1.EndpointSubset {
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
			same.Ports = append(same.Ports, corev1.EndpointPort{Name: p.name, Port: p.number, Protocol: p.protocol, AppProtocol: unlessEmpty(p.app)})
		}
	}
	var list []corev1.EndpointSubset
	for _, s := range packed {
		list = append(list, *s)
	}
	return list
}

func comparePorts(a, b subsetPort) int {
	return cmp.Or(cmp.Compare(a.name, b.name), cmp.Compare(a.number, b.number), cmp.Compare(a.protocol, b.protocol), cmp.Compare(a.app, b.app))
}

func compareKeys(a, b addressKey) int {
	return cmp.Or(cmp.Compare(a.ip, b.ip), cmp.Compare(a.uid, b.uid))
}
