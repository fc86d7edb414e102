package check

import (
	"fmt"
	"strings"

	"github.com/coracle-project/coracle/scheme/field"
	"github.com/coracle-project/coracle/scheme/names"
)

// EndpointIP checks an address of an endpoint. Unspecified, loopback and link-local addresses are
// refused: a service must not lead to the node itself or to its metadata service.
func EndpointIP(p *field.Path, text string) field.ErrorList {
	ip, msgs := names.ParseIP(text, false)
	if len(msgs) > 0 {
		return field.ErrorList{field.Invalid(p, text, "must be a valid IP address")}
	}
	var errs field.ErrorList
	bad := func(is bool, msg string) {
		if is {
			errs = append(errs, field.Invalid(p, text, msg))
		}
	}
	bad(ip.IsUnspecified(), fmt.Sprintf("may not be unspecified (%v)", text))
	bad(ip.IsLoopback(), "may not be in the loopback range (127.0.0.0/8, ::1/128)")
	bad(ip.IsLinkLocalUnicast(), "may not be in the link-local range (169.254.0.0/16, fe80::/10)")
	bad(ip.IsLinkLocalMulticast(), "may not be in the link-local multicast range (224.0.0.0/24, ff02::/10)")
	return errs
}

// FullDomain checks a domain name of at least two labels. A dot at the end is allowed.
func FullDomain(p *field.Path, name string) field.ErrorList {
	if name == "" {
		return field.ErrorList{field.Required(p, "")}
	}
	name = strings.TrimSuffix(name, ".")
	if msgs := names.IsDNS1123Subdomain(name); len(msgs) > 0 {
		return field.ErrorList{field.Invalid(p, name, strings.Join(msgs, ","))}
	}
	if !strings.Contains(name, ".") {
		return field.ErrorList{
			field.Invalid(p, name, "should be a domain with at least two segments separated by dots"),
		}
	}
	for label := range strings.SplitSeq(name, ".") {
		if msgs := names.IsDNS1123Label(label); len(msgs) > 0 {
			return field.ErrorList{field.Invalid(p, label, strings.Join(msgs, ","))}
		}
	}
	return nil
}
