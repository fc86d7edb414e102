package names

import (
	"strings"

	"github.com/coracle-project/coracle/scheme/field"
)

var pathMessage = PatternError("Invalid path", `[A-Za-z0-9/\-._~%!$&'()*+,;=:]+`)

// ValidateFullyQualifiedName checks a DNS subdomain of at least three labels, such as the name of a signer.
func ValidateFullyQualifiedName(p *field.Path, name string) field.ErrorList {
	if name == "" {
		return field.ErrorList{field.Required(p, "")}
	}
	return qualified(p, name, 3, "should be a domain with at least three segments separated by dots")
}

// ValidateFullyQualifiedDomainName checks a DNS subdomain of at least two labels; a dot at its end is allowed.
func ValidateFullyQualifiedDomainName(p *field.Path, name string) field.ErrorList {
	if name == "" {
		return field.ErrorList{field.Required(p, "")}
	}
	return qualified(p, strings.TrimSuffix(name, "."), 2, "should be a domain with at least two segments separated by dots")
}

func qualified(p *field.Path, name string, labels int, tooFew string) field.ErrorList {
	if errs := IsDNS1123Subdomain(name); len(errs) > 0 {
		return field.ErrorList{field.Invalid(p, name, strings.Join(errs, ","))}
	}
	if strings.Count(name, ".")+1 < labels {
		return field.ErrorList{field.Invalid(p, name, tooFew)}
	}
	return nil
}

// ValidateDomainPrefixedPath checks a DNS subdomain, a slash and a URL path, such as acme.io/foo/bar.
func ValidateDomainPrefixedPath(p *field.Path, value string) field.ErrorList {
	if value == "" {
		return field.ErrorList{field.Required(p, "")}
	}
	domain, path, _ := strings.Cut(value, "/")
	if domain == "" || path == "" {
		return field.ErrorList{field.Invalid(p, value, `must be a domain-prefixed path (such as "acme.io/foo")`)}
	}
	var errs field.ErrorList
	for _, msg := range IsDNS1123Subdomain(domain) {
		errs = append(errs, field.Invalid(p, domain, msg))
	}
	const marks = "/-._~%!$&'()*+,;=:"
	if !all(path, func(c byte) bool { return isAlphaNum(c) || strings.IndexByte(marks, c) >= 0 }) {
		errs = append(errs, field.Invalid(p, path, pathMessage))
	}
	return errs
}

// ValidateDomainPrefixedKey checks a label key that has a prefix.
func ValidateDomainPrefixedKey(p *field.Path, key string) field.ErrorList {
	if key == "" {
		return field.ErrorList{field.Required(p, "")}
	}
	var errs field.ErrorList
	for _, msg := range IsQualifiedName(key) {
		errs = append(errs, field.Invalid(p, key, msg))
	}
	if len(errs) == 0 && !strings.Contains(key, "/") {
		errs = append(errs, field.Invalid(p, key, `must be a domain-prefixed key (such as "acme.io/foo")`))
	}
	return errs
}
