package meta

import (
	"strings"

	"github.com/coracle-project/coracle/scheme/field"
	"github.com/coracle-project/coracle/scheme/names"
)

// pathPattern is the regular expression of the path after a domain, for error messages. pathMarks
// are its characters other than letters and digits.
const (
	pathPattern = `[A-Za-z0-9/\-._~%!$&'()*+,;=:]+`
	pathMarks   = `/-._~%!$&'()*+,;=:`
)

// ValidateDomainPath checks a name that consists of a domain and a path, such as that of a
// controller: acme.io/foo.
func ValidateDomainPath(name string, p *field.Path) field.ErrorList {
	if name == "" {
		return field.ErrorList{field.Required(p, "")}
	}
	domain, path, _ := strings.Cut(name, "/")
	if domain == "" || path == "" {
		return field.ErrorList{field.Invalid(p, name, `must be a domain-prefixed path (such as "acme.io/foo")`)}
	}
	var errs field.ErrorList
	for _, msg := range names.IsDNS1123Subdomain(domain) {
		errs = append(errs, field.Invalid(p, domain, msg))
	}
	if strings.ContainsFunc(path, func(r rune) bool { return !isPathRune(r) }) {
		errs = append(errs, field.Invalid(p, path, names.PatternError("Invalid path", pathPattern)))
	}
	return errs
}

// isPathRune reports whether r may occur in the path.
func isPathRune(r rune) bool {
	return 'a' <= r && r <= 'z' || 'A' <= r && r <= 'Z' || '0' <= r && r <= '9' || strings.ContainsRune(pathMarks, r)
}
