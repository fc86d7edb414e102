package discovery

import (
	"github.com/coracle-project/coracle/registry/check"
	"github.com/coracle-project/coracle/scheme"
	"github.com/coracle-project/coracle/scheme/api/corev1"
	"github.com/coracle-project/coracle/scheme/api/discoveryv1"
	"github.com/coracle-project/coracle/scheme/field"
	"github.com/coracle-project/coracle/scheme/names"
)

// Limits of a slice. They bound the size of the object, which is sent to every node when it
// changes.
const (
	maxEndpoints = 1000
	maxAddresses = 100 // of an endpoint
	maxPorts     = 20000
	maxHints     = 8 // of an endpoint: zones, and nodes
)

// checkSlice returns what is wrong with a new slice, or with an update of old. Errors in endpoints
// do not count if the update does not change the endpoints: older servers accepted more. There is
// no rule for topology, because dropTopology keeps only what was stored.
func checkSlice(s, old *discoveryv1.EndpointSlice) field.ErrorList {
	p := field.NewPath("addressType")
	errs := check.OneOf(p, s.AddressType, discoveryv1.AddressTypeFQDN, discoveryv1.AddressTypeIPv4,
		discoveryv1.AddressTypeIPv6)
	errs = append(errs, checkPorts(field.NewPath("ports"), s.Ports)...)
	endpoints := checkEndpoints(field.NewPath("endpoints"), s)
	if len(endpoints) > 0 && (old == nil || !scheme.Equal(&s.Endpoints, &old.Endpoints)) {
		errs = append(errs, endpoints...)
	}
	if old != nil {
		errs = append(errs, check.Immutable(p, &s.AddressType, &old.AddressType)...)
	}
	return errs
}

// checkPorts checks the ports of a slice. Their names are unique, and only one may be empty. If
// there are too many, that is the only error.
func checkPorts(p *field.Path, ports []discoveryv1.EndpointPort) field.ErrorList {
	if len(ports) > maxPorts {
		return field.ErrorList{field.TooMany(p, len(ports), maxPorts)}
	}
	var errs field.ErrorList
	seen := check.Duplicates{}
	for i, port := range field.Each(&errs, ports) {
		p, name := p.Index(i), scheme.OrZero(port.Name)
		errs = append(errs, check.Optional(p.Child("name"), name, check.DNSLabel)...)
		if !seen.Add(name) {
			errs = append(errs, field.Duplicate(p.Child("name"), name))
		}
		errs = append(errs, check.OptionalOneOf(p.Child("protocol"), port.Protocol,
			corev1.ProtocolSCTP, corev1.ProtocolTCP, corev1.ProtocolUDP)...)
		if port.AppProtocol != nil {
			errs = append(errs, check.QualifiedName(p.Child("appProtocol"), *port.AppProtocol)...)
		}
	}
	return errs
}

// checkEndpoints checks the endpoints of a slice at p. If there are too many, that is the only
// error.
func checkEndpoints(p *field.Path, s *discoveryv1.EndpointSlice) field.ErrorList {
	if len(s.Endpoints) > maxEndpoints {
		return field.ErrorList{field.TooMany(p, len(s.Endpoints), maxEndpoints)}
	}
	var errs field.ErrorList
	for i, e := range field.Each(&errs, s.Endpoints) {
		p := p.Index(i)
		switch addresses := p.Child("addresses"); {
		case len(e.Addresses) == 0:
			errs = append(errs, field.Required(addresses, "must contain at least 1 address"))
		case len(e.Addresses) > maxAddresses:
			errs = append(errs, field.TooMany(addresses, len(e.Addresses), maxAddresses))
		}
		for i, text := range field.Each(&errs, e.Addresses) {
			errs = append(errs, checkAddress(p.Child("addresses"), i, s.AddressType, *text)...)
		}
		if e.NodeName != nil {
			errs = append(errs, check.DNSSubdomain(p.Child("nodeName"), *e.NodeName)...)
		}
		if e.Hostname != nil {
			errs = append(errs, check.DNSLabel(p.Child("hostname"), *e.Hostname)...)
		}
		if e.Hints != nil {
			errs = append(errs, checkHints(p.Child("hints"), e.Hints)...)
		}
	}
	return errs
}

// checkAddress checks the address with index i of the list at p, which must be of type t. If t is
// unknown, it is reported already, and the address is not checked. An address of the wrong family
// is reported on the list, as in kube-apiserver.
func checkAddress(p *field.Path, i int, t discoveryv1.AddressType, text string) field.ErrorList {
	var msgs []string
	switch t {
	case discoveryv1.AddressTypeFQDN:
		return check.FullDomain(p.Index(i), text)
	case discoveryv1.AddressTypeIPv4:
		msgs = names.IsValidLegacyIP(text, true)
	case discoveryv1.AddressTypeIPv6:
		msgs = names.IsValidIP(text)
	default:
		return nil
	}
	if len(msgs) > 0 {
		return check.Invalid(p.Index(i), text, msgs)
	}
	var errs field.ErrorList
	if ip, _ := names.ParseIP(text, true); ip.Is4() != (t == discoveryv1.AddressTypeIPv4) {
		errs = append(errs, field.Invalid(p, text, "must be an "+string(t)+" address"))
	}
	return append(errs, check.EndpointIP(p.Index(i), text)...)
}

// checkHints checks for which zones (KEP-2433) and nodes (KEP-3015) an endpoint is meant. Nodes are
// not checked if there are too many zones.
func checkHints(p *field.Path, h *discoveryv1.EndpointHints) field.ErrorList {
	zones, nodes := p.Child("forZones"), p.Child("forNodes")
	if len(h.ForZones) > maxHints {
		return field.ErrorList{field.TooMany(zones, len(h.ForZones), maxHints)}
	}
	var errs field.ErrorList
	seen := check.Duplicates{}
	for i, zone := range h.ForZones {
		p := zones.Index(i).Child("name")
		if !seen.Add(zone.Name) {
			errs = append(errs, field.Duplicate(p, zone.Name))
		}
		errs = append(errs, check.Invalid(p, zone.Name, names.IsValidLabelValue(zone.Name))...)
	}
	if len(h.ForNodes) > maxHints {
		return append(errs, field.TooMany(nodes, len(h.ForNodes), maxHints))
	}
	seen = check.Duplicates{}
	for i, node := range h.ForNodes {
		p := nodes.Index(i).Child("name")
		if !seen.Add(node.Name) {
			errs = append(errs, field.Duplicate(p, node.Name))
		}
		errs = append(errs, check.DNSSubdomain(p, node.Name)...)
	}
	return errs
}
