// Package names holds the rules for names, labels and other short strings of the API, with the
// messages that kube-apiserver gives.
//
// Words: a rule is a function that takes a value and returns messages that say what is wrong with
// it, nil if the value is valid. A label is a part of a DNS name between dots (RFC 1123, RFC 1035);
// a subdomain is several labels.
//
// Laws: messages are those of kube-apiserver, word for word. The regular expressions in them are
// for users and are never run; rules scan by hand, because validation calls them for each object.
//
// Rules only read their argument, and may be called at once.
//
// Not here: which rule applies to which field (the kinds), and the path of the value in its object
// (package field).
//
// Read: names.go (DNS names, labels), keys.go (keys, ports, environment, paths), address.go;
// pattern.go.
package names

import (
	"strconv"
	"strings"
)

// The longest values that the rules allow, in bytes.
const (
	DNS1123LabelMaxLength     = 63
	DNS1035LabelMaxLength     = 63
	DNS1123SubdomainMaxLength = 253
	LabelValueMaxLength       = 63
)

// The patterns in messages.
const (
	labelPattern     = `[a-z0-9]([-a-z0-9]*[a-z0-9])?`
	subdomainPattern = labelPattern + `(\.` + labelPattern + `)*`
	label1035Pattern = `[a-z]([-a-z0-9]*[a-z0-9])?`
	qnamePattern     = `([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]`

	underscorePattern = `_?[a-z0-9]([-_a-z0-9]*[a-z0-9])?`
)

// These messages are built once, so that a rule that fails costs one slice.
var (
	label1123Message = PatternError(
		"a lowercase RFC 1123 label must consist of lower case alphanumeric characters or '-', "+
			"and must start and end with an alphanumeric character", labelPattern, "my-name", "123-abc")
	subdomainMessage = PatternError(
		"a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, "+
			"'-' or '.', and must start and end with an alphanumeric character", subdomainPattern, "example.com")
	underscoreMessage = PatternError(
		"a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, "+
			"'_', '-' or '.', and must start and end with an alphanumeric character",
		underscorePattern+`(\.`+underscorePattern+`)*`, "example.com")
	wildcardMessage = PatternError(
		"a wildcard DNS-1123 subdomain must start with '*.', followed by a valid DNS subdomain, which "+
			"must consist of lower case alphanumeric characters, '-' or '.' and end with an alphanumeric character",
		`\*\.`+subdomainPattern, "*.example.com")
	label1035Message = PatternError(
		"a DNS-1035 label must consist of lower case alphanumeric characters or '-', start with "+
			"an alphabetic character, and end with an alphanumeric character", label1035Pattern, "my-name", "abc-123")
	qnameText    = "must consist of alphanumeric characters, '-', '_' or '.', and must start and end with an alphanumeric character"
	qnameMessage = "name part " + PatternError(qnameText, qnamePattern, "MyName", "my.name", "123-abc")
	keyMessage   = "a valid label key " + PatternError(qnameText, qnamePattern, "MyName", "my.name", "123-abc") +
		" with an optional DNS subdomain prefix and '/' (e.g. 'example.com/MyName')"
	labelValueMessage = PatternError(
		"a valid label must be an empty string or consist of alphanumeric characters, '-', '_' or '.', "+
			"and must start and end with an alphanumeric character",
		"("+qnamePattern+")?", "MyValue", "my_value", "12345")
)

// PatternError returns the message for a value that does not match a pattern: the rule in words,
// examples, and the pattern.
func PatternError(rule, pattern string, examples ...string) string {
	if len(examples) == 0 {
		return rule + " (regex used for validation is '" + pattern + "')"
	}
	var b strings.Builder
	b.WriteString(rule)
	b.WriteString(" (e.g. ")
	for i, e := range examples {
		if i > 0 {
			b.WriteString(" or ")
		}
		b.WriteString("'" + e + "', ")
	}
	b.WriteString("regex used for validation is '" + pattern + "')")
	return b.String()
}

// MaxLenError returns the message for a value that is too long. It says characters, although limits
// are in bytes: that is Kubernetes' message.
func MaxLenError(limit int) string {
	return "must be no more than " + strconv.Itoa(limit) + " characters"
}

// MaxBytesError returns the message for a value that is too long, in bytes.
func MaxBytesError(limit int) string {
	return "must be no more than " + strconv.Itoa(limit) + " bytes"
}

// EmptyError returns the message for a value that must not be empty.
func EmptyError() string { return "must be non-empty" }

// RangeError returns the message for a number outside of a range that includes its ends.
func RangeError(low, high int) string {
	return "must be between " + strconv.Itoa(low) + " and " + strconv.Itoa(high) + ", inclusive"
}

// IsDNS1123Label checks a label such as a namespace or container name.
func IsDNS1123Label(value string) []string {
	if len(value) <= DNS1123LabelMaxLength && isLabel(value) {
		return nil
	}
	var errs []string
	if len(value) > DNS1123LabelMaxLength {
		errs = append(errs, MaxLenError(DNS1123LabelMaxLength))
	}
	switch {
	case isLabel(value):
	case isSubdomain(value):
		// The value would be a valid name for most kinds, so the message names the one difference.
		errs = append(errs, "must not contain dots")
	default:
		errs = append(errs, label1123Message)
	}
	return errs
}

// IsDNS1123Subdomain checks dot-separated labels, the rule for most object names.
func IsDNS1123Subdomain(value string) []string {
	return check(value, DNS1123SubdomainMaxLength, isSubdomain, subdomainMessage)
}

// IsWildcardDNS1123Subdomain checks a subdomain whose first label is "*".
func IsWildcardDNS1123Subdomain(value string) []string {
	wild := func(s string) bool {
		rest, ok := strings.CutPrefix(s, "*.")
		return ok && isSubdomain(rest)
	}
	return check(value, DNS1123SubdomainMaxLength, wild, wildcardMessage)
}

// IsDNS1123SubdomainWithUnderscore is IsDNS1123Subdomain with underscores allowed inside labels and
// at their start.
func IsDNS1123SubdomainWithUnderscore(value string) []string {
	return check(value, DNS1123SubdomainMaxLength, isUnderscoreSubdomain, underscoreMessage)
}

// IsDNS1035Label checks a label that starts with a letter.
func IsDNS1035Label(value string) []string {
	starts := func(s string) bool { return isLabel(s) && isLower(s[0]) }
	return check(value, DNS1035LabelMaxLength, starts, label1035Message)
}

// IsQualifiedName checks a label key, annotation key or resource name: a name of at most 63 bytes,
// with or without a DNS subdomain and a slash before it.
func IsQualifiedName(value string) []string {
	prefix, name, slash := strings.Cut(value, "/")
	if !slash {
		name = value
	} else if strings.Contains(name, "/") {
		return []string{keyMessage}
	}
	var errs []string
	if slash {
		switch {
		case prefix == "":
			errs = append(errs, "prefix part "+EmptyError())
		case len(prefix) > DNS1123SubdomainMaxLength:
			errs = append(errs, "prefix part "+MaxBytesError(DNS1123SubdomainMaxLength))
			fallthrough
		default:
			if !isSubdomain(prefix) {
				errs = append(errs, "prefix part "+subdomainMessage)
			}
		}
	}
	if name == "" {
		errs = append(errs, "name part "+EmptyError())
	} else if len(name) > LabelValueMaxLength {
		errs = append(errs, "name part "+MaxBytesError(LabelValueMaxLength))
	}
	if !isQName(name) {
		errs = append(errs, qnameMessage)
	}
	return errs
}

// IsValidLabelValue checks the value of a label; it may be empty.
func IsValidLabelValue(value string) []string {
	var errs []string
	if len(value) > LabelValueMaxLength {
		errs = append(errs, MaxBytesError(LabelValueMaxLength))
	}
	if value != "" && !isQName(value) {
		errs = append(errs, labelValueMessage)
	}
	return errs
}

// check returns the messages for a value that is longer than limit bytes, and for one that right
// refuses.
func check(value string, limit int, right func(string) bool, message string) []string {
	var errs []string
	if len(value) > limit {
		errs = append(errs, MaxLenError(limit))
	}
	if !right(value) {
		errs = append(errs, message)
	}
	return errs
}

func isLower(c byte) bool    { return 'a' <= c && c <= 'z' }
func isUpper(c byte) bool    { return 'A' <= c && c <= 'Z' }
func isDigit(c byte) bool    { return '0' <= c && c <= '9' }
func isLowerNum(c byte) bool { return isLower(c) || isDigit(c) }
func isAlphaNum(c byte) bool { return isLowerNum(c) || isUpper(c) }

// all reports whether s is not empty and consists of bytes that ok accepts.
func all(s string, ok func(byte) bool) bool {
	for i := range len(s) {
		if !ok(s[i]) {
			return false
		}
	}
	return s != ""
}

// isLabel matches labelPattern.
func isLabel(s string) bool {
	if s == "" || !isLowerNum(s[0]) || !isLowerNum(s[len(s)-1]) {
		return false
	}
	for i := range len(s) {
		if !isLowerNum(s[i]) && s[i] != '-' {
			return false
		}
	}
	return true
}

// isSubdomain matches subdomainPattern.
func isSubdomain(s string) bool {
	for {
		label, rest, dot := strings.Cut(s, ".")
		if !isLabel(label) {
			return false
		}
		if !dot {
			return true
		}
		s = rest
	}
}

// isUnderscoreSubdomain matches dot-separated underscorePatterns.
func isUnderscoreSubdomain(s string) bool {
	inner := func(c byte) bool { return isLowerNum(c) || c == '-' || c == '_' }
	for {
		label, rest, dot := strings.Cut(s, ".")
		label = strings.TrimPrefix(label, "_")
		if !all(label, inner) || !isLowerNum(label[0]) || !isLowerNum(label[len(label)-1]) {
			return false
		}
		if !dot {
			return true
		}
		s = rest
	}
}

// isQName matches qnamePattern.
func isQName(s string) bool {
	if s == "" || !isAlphaNum(s[0]) || !isAlphaNum(s[len(s)-1]) {
		return false
	}
	for i := range len(s) {
		if c := s[i]; !isAlphaNum(c) && c != '-' && c != '_' && c != '.' {
			return false
		}
	}
	return true
}
