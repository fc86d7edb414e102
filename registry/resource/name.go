package resource

import (
	"fmt"
	"strings"

	"github.com/google/uuid"

	"github.com/coracle-project/coracle/registry/check"
	"github.com/coracle-project/coracle/registry/podspec"
	"github.com/coracle-project/coracle/scheme/api/resourcev1"
	"github.com/coracle-project/coracle/scheme/field"
	"github.com/coracle-project/coracle/scheme/names"
)

// The validation of names and addresses that several kinds have: pools, qualified names of
// attributes and capacities, UUIDs, and addresses of network interfaces.

// The bounds of names, in bytes. A domain is the name of a driver, as short as that of a CSI
// driver.
const (
	maxDomain        = 63
	maxPool          = 253
	maxIdentifier    = 32
	maxQualifiedName = maxDomain + len("/") + maxIdentifier
)

// checkPool checks the name of a pool: one or more DNS subdomains, separated by slashes.
func checkPool(p *field.Path, name string) field.ErrorList {
	if name == "" {
		return field.ErrorList{field.Required(p, "")}
	}
	var errs field.ErrorList
	if len(name) > maxPool {
		errs = append(errs, field.TooLong(p, name, maxPool))
	}
	for _, part := range field.Each(&errs, strings.Split(name, "/")) {
		errs = append(errs, check.DNSSubdomain(p, *part)...)
	}
	return errs
}

// checkQualifiedName checks the name of an attribute or capacity: ID or DOMAIN/ID, where ID is an
// identifier of C. A name with two slashes or more is accepted, as in kube-apiserver.
func checkQualifiedName(p *field.Path, name string) field.ErrorList {
	if strings.Count(name, "/") > 1 {
		return nil
	}
	domain, id, qualified := strings.Cut(name, "/")
	if !qualified {
		return checkIdentifier(p, name)
	}
	var errs field.ErrorList
	if domain == "" {
		errs = append(errs, field.Invalid(p, "", "the domain must not be empty"))
	} else {
		errs = append(errs, podspec.CSIDriverName(p, domain)...)
	}
	if id == "" {
		return append(errs, field.Invalid(p, "", "the name must not be empty"))
	}
	return append(errs, checkIdentifier(p, id)...)
}

// checkIdentifier checks the part of a qualified name after the domain.
func checkIdentifier(p *field.Path, id string) field.ErrorList {
	var errs field.ErrorList
	if len(id) > maxIdentifier {
		errs = append(errs, field.TooLong(p, id, maxIdentifier))
	}
	return append(errs, check.Invalid(p, id, names.IsCIdentifier(id))...)
}

// checkFullName checks a qualified name that needs its domain.
func checkFullName(p *field.Path, name resourcev1.FullyQualifiedName) field.ErrorList {
	errs := checkQualifiedName(p, string(name))
	if !strings.Contains(string(name), "/") {
		errs = append(errs,
			field.Invalid(p, name, "a fully qualified name must be a domain and a name separated by a slash"))
	}
	return errs
}

// checkUUID checks a UUID in the form of RFC 4122, with lower-case digits.
func checkUUID(p *field.Path, id string) field.ErrorList {
	if err := uuid.Validate(id); err != nil {
		return field.ErrorList{field.Invalid(p, id, fmt.Sprintf("error validating uid: %v", err))}
	}
	if len(id) != 36 || id != strings.ToLower(id) {
		return field.ErrorList{field.Invalid(p, id,
			"uid must be in RFC 4122 normalized form, `xxxxxxxx-xxxx-xxxx-xxxx-xxxxxxxxxxxx` "+
				"with lowercase hexadecimal characters")}
	}
	return nil
}

// checkInterface checks the address of a network interface with the length of its prefix, such as
// 10.9.8.7/24. The text must be canonical. An IPv4 address that is written as IPv6
// (::ffff:10.9.8.7/120) is never canonical: the error shows it as IPv4.
func checkInterface(p *field.Path, text *string) field.ErrorList {
	prefix, msgs := names.ParseCIDR(*text, false)
	if len(msgs) > 0 {
		return field.ErrorList{field.Invalid(p, *text,
			"must be a valid address in CIDR form, (e.g. 10.9.8.7/24 or 2001:db8::1/64)")}
	}
	addr, bits := prefix.Addr(), prefix.Bits()
	if addr.Is4In6() {
		addr, bits = addr.Unmap(), max(bits-96, bits%97)
	}
	if canonical := fmt.Sprintf("%s/%d", addr, bits); *text != canonical {
		return field.ErrorList{field.Invalid(p, *text, fmt.Sprintf("must be in canonical form (%q)", canonical))}
	}
	return nil
}
