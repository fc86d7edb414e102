package names

import (
	"math"
	"strings"
)

// keys.go has the rules for keys of config maps, environment variables, ports, numeric ids and URL
// path segments, and at its end the functions that check the name or generateName of an object.
// Kinds name one of these in their declaration.

var (
	cIdentifierMessage = PatternError(
		"a valid C identifier must start with alphabetic character or '_', followed by a string of "+
			"alphanumeric characters or '_'", `[A-Za-z_][A-Za-z0-9_]*`, "my_name", "MY_NAME", "MyName")
	envVarMessage = PatternError(
		"a valid environment variable name must consist of alphabetic characters, digits, '_', '-', or '.', "+
			"and must not start with a digit", `[-._a-zA-Z][-._a-zA-Z0-9]*`, "my.env-name", "MY_ENV.NAME", "MyEnvName1")
	configKeyMessage = PatternError("a valid config key must consist of alphanumeric characters, '-', '_' or '.'",
		`[-._a-zA-Z0-9]+`, "key.name", "KEY_NAME", "key-name")
	headerMessage = PatternError("a valid HTTP header must consist of alphanumeric characters or '-'",
		`[-A-Za-z0-9]+`, "X-Header-Name")
)

// IsCIdentifier checks that value is a letter or underscore, followed by letters, digits and
// underscores.
func IsCIdentifier(value string) []string {
	word := func(c byte) bool { return isAlphaNum(c) || c == '_' }
	if !all(value, word) || isDigit(value[0]) {
		return []string{cIdentifierMessage}
	}
	return nil
}

// IsEnvVarName checks the name of an environment variable by the strict rule: letters, digits, '_',
// '-' and '.', without a digit at the start. Pod specs follow the relaxed rule.
func IsEnvVarName(value string) []string {
	var errs []string
	if !all(value, isKeyByte) || isDigit(value[0]) {
		errs = append(errs, envVarMessage)
	}
	return append(errs, dotDotErrors(value)...)
}

// IsRelaxedEnvVarName checks the name of an environment variable by the rule for names in a pod
// spec: printable ASCII other than '='.
func IsRelaxedEnvVarName(value string) []string {
	if value == "" {
		return []string{"environment variable name " + EmptyError()}
	}
	for _, r := range value {
		if r < ' ' || r > '~' || r == '=' {
			return []string{"a valid environment variable name must consist only of printable ASCII characters other than '='"}
		}
	}
	return nil
}

// IsConfigMapKey checks a key of a config map or secret, which becomes a file name.
func IsConfigMapKey(value string) []string {
	errs := check(value, DNS1123SubdomainMaxLength, func(s string) bool { return all(s, isKeyByte) }, configKeyMessage)
	return append(errs, dotDotErrors(value)...)
}

// IsHTTPHeaderName checks the name of a header.
func IsHTTPHeaderName(value string) []string {
	if !all(value, func(c byte) bool { return isAlphaNum(c) || c == '-' }) {
		return []string{headerMessage}
	}
	return nil
}

// IsInRange checks that value lies between low and high, both allowed.
func IsInRange(value, low, high int) []string {
	if value < low || value > high {
		return []string{RangeError(low, high)}
	}
	return nil
}

// IsValidPortNum checks a port number, 1 to 65535.
func IsValidPortNum(port int) []string { return IsInRange(port, 1, 65535) }

// IsValidPortName checks the name of a port, as IANA defines service names.
func IsValidPortName(port string) []string {
	var errs []string
	if len(port) > 15 {
		errs = append(errs, MaxLenError(15))
	}
	if !all(port, func(c byte) bool { return isLowerNum(c) || c == '-' }) {
		errs = append(errs, "must contain only alpha-numeric characters (a-z, 0-9), and hyphens (-)")
	}
	if !strings.ContainsFunc(port, func(r rune) bool { return 'a' <= r && r <= 'z' }) {
		errs = append(errs, "must contain at least one letter (a-z)")
	}
	if strings.Contains(port, "--") {
		errs = append(errs, "must not contain consecutive hyphens")
	}
	if port != "" && (port[0] == '-' || port[len(port)-1] == '-') {
		errs = append(errs, "must not begin or end with a hyphen")
	}
	return errs
}

// IsValidUserID checks a numeric user, 0 to 2147483647.
func IsValidUserID(uid int64) []string { return isValidID(uid) }

// IsValidGroupID checks a numeric group, 0 to 2147483647.
func IsValidGroupID(gid int64) []string { return isValidID(gid) }

func isValidID(id int64) []string {
	if id < 0 || id > math.MaxInt32 {
		return []string{RangeError(0, math.MaxInt32)}
	}
	return nil
}

// IsPathSegmentName checks a name that need only be a valid segment of a URL path. Names of RBAC
// objects follow this rule.
func IsPathSegmentName(name string) []string {
	if name == "." || name == ".." {
		return []string{"may not be '" + name + "'"}
	}
	return IsPathSegmentPrefix(name)
}

// IsPathSegmentPrefix checks the beginning of a path segment, such as a generateName, to which a
// suffix is added.
func IsPathSegmentPrefix(name string) []string {
	var errs []string
	for _, bad := range []string{"/", "%"} {
		if strings.Contains(name, bad) {
			errs = append(errs, "may not contain '"+bad+"'")
		}
	}
	return errs
}

// MaskTrailingDash replaces the last two characters by "a" if name ends in a dash. A generateName
// may end in a dash, because a suffix follows; masked, it passes the rule for a whole name.
func MaskTrailingDash(name string) string {
	if len(name) > 1 && strings.HasSuffix(name, "-") {
		return name[:len(name)-2] + "a"
	}
	return name
}

// DNSSubdomainName is the rule for names of most kinds. With prefix set, name is a generateName.
func DNSSubdomainName(name string, prefix bool) []string {
	if prefix {
		name = MaskTrailingDash(name)
	}
	return IsDNS1123Subdomain(name)
}

// LongName is the rule of DNSSubdomainName as Kubernetes' declarative validation has it
// (k8s-long-name). It differs in two points: a generateName need only be a valid path segment, and
// the message about length says bytes instead of characters.
func LongName(name string, prefix bool) []string {
	if prefix {
		return IsPathSegmentPrefix(name)
	}
	msgs := IsDNS1123Subdomain(name)
	if len(name) > DNS1123SubdomainMaxLength {
		msgs[0] = MaxBytesError(DNS1123SubdomainMaxLength)
	}
	return msgs
}

// DNSLabelName is the rule for names that become one DNS label, such as those of namespaces. With
// prefix set, name is a generateName.
func DNSLabelName(name string, prefix bool) []string {
	if prefix {
		name = MaskTrailingDash(name)
	}
	return IsDNS1123Label(name)
}

// DNS1035LabelName is the rule for names that must start with a letter. With prefix set, name is a
// generateName.
func DNS1035LabelName(name string, prefix bool) []string {
	if prefix {
		name = MaskTrailingDash(name)
	}
	return IsDNS1035Label(name)
}

// PathSegmentName is the rule for names of RBAC objects. With prefix set, name is a generateName.
func PathSegmentName(name string, prefix bool) []string {
	if prefix {
		return IsPathSegmentPrefix(name)
	}
	return IsPathSegmentName(name)
}

func isKeyByte(c byte) bool { return isAlphaNum(c) || c == '-' || c == '_' || c == '.' }

// dotDotErrors refuses names that would be paths out of a directory, or that the kubelet uses for
// its own files beside the keys ("..data").
func dotDotErrors(value string) []string {
	switch {
	case value == "." || value == "..":
		return []string{"must not be '" + value + "'"}
	case strings.HasPrefix(value, ".."):
		return []string{"must not start with '..'"}
	}
	return nil
}

// IsValidPercent checks a percentage: digits, then the sign %.
func IsValidPercent(value string) []string {
	digits, ok := strings.CutSuffix(value, "%")
	if ok && digits != "" && all(digits, isDigit) {
		return nil
	}
	return []string{PatternError("a valid percent string must be a numeric string followed by an ending '%'",
		"[0-9]+%", "1%", "93%")}
}
