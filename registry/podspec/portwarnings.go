package podspec

import (
	"github.com/coracle-project/coracle/scheme/api/corev1"
	"github.com/coracle-project/coracle/scheme/field"
)

// portAt is a port and its path.
type portAt struct {
	path *field.Path
	port *corev1.ContainerPort
}

// ports warns of ports with the same number and protocol, in any two containers. Each is compared
// with the first maxWarnings such ports only, so the time is linear in the number of ports.
func (w *warner) ports(s *field.Path) {
	type key struct {
		protocol corev1.Protocol
		port     int32
	}
	seen := make(map[key][]portAt)
	for p, ctr := range Containers(s, w.spec) {
		for i, port := range each(w, ctr.Ports) {
			at := p.Child("ports").Index(i)
			if port.HostIP != "" && port.HostPort == 0 {
				w.add(at, "hostIP set without hostPort: %+v", *port)
			}
			k := key{port.Protocol, port.ContainerPort}
			for _, other := range each(w, seen[k]) {
				if clash := clashOf(port, other.port); clash != "" {
					w.add(at, "%s port definition with %s", clash, other.path)
				}
			}
			if len(seen[k]) < maxWarnings {
				seen[k] = append(seen[k], portAt{at, port})
			}
		}
	}
}

// clashOf returns how two ports with the same number and protocol clash, "" if they do not. If one
// of them has no host port, the two overlap on the address of the pod. If both have the same host
// port and only one names an address of the node, they are ambiguous, because the other uses all
// addresses of the node.
func clashOf(a, b *corev1.ContainerPort) string {
	switch {
	case a.HostPort == b.HostPort && a.HostIP == b.HostIP:
		return "duplicate"
	case a.HostPort == 0 || b.HostPort == 0:
		return "overlapping"
	case a.HostPort == b.HostPort && (a.HostIP == "") != (b.HostIP == ""):
		return "dangerously ambiguous"
	}
	return ""
}

// portNames warns of a port name that several containers use: a Service finds the first. Within one
// container repeated names are refused.
func (w *warner) portNames(s *field.Path) {
	seen := make(map[string]*field.Path)
	for p, ctr := range Containers(s, w.spec) {
		for i, port := range each(w, ctr.Ports) {
			at := p.Child("ports").Index(i)
			if first, ok := seen[port.Name]; ok {
				w.add(at, "duplicate port name %q with %s, services and probes that select ports by name will use %s", port.Name, first, first)
			} else if port.Name != "" {
				seen[port.Name] = at
			}
		}
	}
}
