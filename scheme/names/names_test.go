package names

import (
	"slices"
	"strings"
	"testing"
)

var (
	long64  = strings.Repeat("a", 64)
	long254 = strings.Repeat("a", 254)
)

// The messages are written out, because they are part of the API, so that a change to one fails a
// test.
const (
	label      = "a lowercase RFC 1123 label must consist of lower case alphanumeric characters or '-', and must start and end with an alphanumeric character (e.g. 'my-name',  or '123-abc', regex used for validation is '[a-z0-9]([-a-z0-9]*[a-z0-9])?')"
	subdomain  = "a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, '-' or '.', and must start and end with an alphanumeric character (e.g. 'example.com', regex used for validation is '[a-z0-9]([-a-z0-9]*[a-z0-9])?(\\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*')"
	underscore = "a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, '_', '-' or '.', and must start and end with an alphanumeric character (e.g. 'example.com', regex used for validation is '_?[a-z0-9]([-_a-z0-9]*[a-z0-9])?(\\._?[a-z0-9]([-_a-z0-9]*[a-z0-9])?)*')"
	wildcard   = "a wildcard DNS-1123 subdomain must start with '*.', followed by a valid DNS subdomain, which must consist of lower case alphanumeric characters, '-' or '.' and end with an alphanumeric character (e.g. '*.example.com', regex used for validation is '\\*\\.[a-z0-9]([-a-z0-9]*[a-z0-9])?(\\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*')"
	label1035  = "a DNS-1035 label must consist of lower case alphanumeric characters or '-', start with an alphabetic character, and end with an alphanumeric character (e.g. 'my-name',  or 'abc-123', regex used for validation is '[a-z]([-a-z0-9]*[a-z0-9])?')"
	qname      = "name part must consist of alphanumeric characters, '-', '_' or '.', and must start and end with an alphanumeric character (e.g. 'MyName',  or 'my.name',  or '123-abc', regex used for validation is '([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]')"
	labelKey   = "a valid label key must consist of alphanumeric characters, '-', '_' or '.', and must start and end with an alphanumeric character (e.g. 'MyName',  or 'my.name',  or '123-abc', regex used for validation is '([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]') with an optional DNS subdomain prefix and '/' (e.g. 'example.com/MyName')"
	labelValue = "a valid label must be an empty string or consist of alphanumeric characters, '-', '_' or '.', and must start and end with an alphanumeric character (e.g. 'MyValue',  or 'my_value',  or '12345', regex used for validation is '(([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9])?')"
	identifier = "a valid C identifier must start with alphabetic character or '_', followed by a string of alphanumeric characters or '_' (e.g. 'my_name',  or 'MY_NAME',  or 'MyName', regex used for validation is '[A-Za-z_][A-Za-z0-9_]*')"
	envVar     = "a valid environment variable name must consist of alphabetic characters, digits, '_', '-', or '.', and must not start with a digit (e.g. 'my.env-name',  or 'MY_ENV.NAME',  or 'MyEnvName1', regex used for validation is '[-._a-zA-Z][-._a-zA-Z0-9]*')"
	configKey  = "a valid config key must consist of alphanumeric characters, '-', '_' or '.' (e.g. 'key.name',  or 'KEY_NAME',  or 'key-name', regex used for validation is '[-._a-zA-Z0-9]+')"
	header     = "a valid HTTP header must consist of alphanumeric characters or '-' (e.g. 'X-Header-Name', regex used for validation is '[-A-Za-z0-9]+')"
	portChars  = "must contain only alpha-numeric characters (a-z, 0-9), and hyphens (-)"
	portLetter = "must contain at least one letter (a-z)"
)

func TestRules(t *testing.T) {
	for _, tt := range []struct {
		name string
		rule func(string) []string
		in   string
		want []string
	}{
		{"IsDNS1123Label", IsDNS1123Label, "a-1", nil},
		{"IsDNS1123Label", IsDNS1123Label, "", []string{label}},
		{"IsDNS1123Label", IsDNS1123Label, "A", []string{label}},
		{"IsDNS1123Label", IsDNS1123Label, "a.b", []string{"must not contain dots"}},
		{"IsDNS1123Label", IsDNS1123Label, "a..b", []string{label}},
		{"IsDNS1123Label", IsDNS1123Label, long64, []string{"must be no more than 63 characters"}},
		{"IsDNS1123Subdomain", IsDNS1123Subdomain, "a.b-c.1", nil},
		{"IsDNS1123Subdomain", IsDNS1123Subdomain, "a..b", []string{subdomain}},
		{"IsDNS1123Subdomain", IsDNS1123Subdomain, long254 + "_", []string{"must be no more than 253 characters", subdomain}},
		{"IsWildcardDNS1123Subdomain", IsWildcardDNS1123Subdomain, "*.a.b", nil},
		{"IsWildcardDNS1123Subdomain", IsWildcardDNS1123Subdomain, "a.b", []string{wildcard}},
		{"IsWildcardDNS1123Subdomain", IsWildcardDNS1123Subdomain, "*", []string{wildcard}},
		{"IsWildcardDNS1123Subdomain", IsWildcardDNS1123Subdomain, "*.*.a", []string{wildcard}},
		{"IsWildcardDNS1123Subdomain", IsWildcardDNS1123Subdomain, "*." + long254, []string{"must be no more than 253 characters"}},
		{"IsDNS1123SubdomainWithUnderscore", IsDNS1123SubdomainWithUnderscore, "_a.b_c", nil},
		{"IsDNS1123SubdomainWithUnderscore", IsDNS1123SubdomainWithUnderscore, "__a", []string{underscore}},
		{"IsDNS1123SubdomainWithUnderscore", IsDNS1123SubdomainWithUnderscore, "a_", []string{underscore}},
		{"IsDNS1035Label", IsDNS1035Label, "a-1", nil},
		{"IsDNS1035Label", IsDNS1035Label, "1a", []string{label1035}},
		{"IsQualifiedName", IsQualifiedName, "Example_1.x", nil},
		{"IsQualifiedName", IsQualifiedName, "example.com/Name", nil},
		{"IsQualifiedName", IsQualifiedName, "a b", []string{qname}},
		{"IsQualifiedName", IsQualifiedName, "a/b/c", []string{labelKey}},
		{"IsQualifiedName", IsQualifiedName, "/a", []string{"prefix part must be non-empty"}},
		{"IsQualifiedName", IsQualifiedName, "X.com/", []string{"prefix part " + subdomain, "name part must be non-empty", qname}},
		{"IsQualifiedName", IsQualifiedName, long254 + "/" + long64, []string{"prefix part must be no more than 253 bytes", "name part must be no more than 63 bytes"}},
		{"IsValidLabelValue", IsValidLabelValue, "", nil},
		{"IsValidLabelValue", IsValidLabelValue, "-a", []string{labelValue}},
		{"IsValidLabelValue", IsValidLabelValue, long64, []string{"must be no more than 63 bytes"}},
		{"IsCIdentifier", IsCIdentifier, "_a1", nil},
		{"IsCIdentifier", IsCIdentifier, "1a", []string{identifier}},
		{"IsEnvVarName", IsEnvVarName, "A.b-c_1", nil},
		{"IsEnvVarName", IsEnvVarName, "1", []string{envVar}},
		{"IsEnvVarName", IsEnvVarName, "..", []string{"must not be '..'"}},
		{"IsRelaxedEnvVarName", IsRelaxedEnvVarName, "a b:c", nil},
		{"IsRelaxedEnvVarName", IsRelaxedEnvVarName, "", []string{"environment variable name must be non-empty"}},
		{"IsRelaxedEnvVarName", IsRelaxedEnvVarName, "a=b", []string{"a valid environment variable name must consist only of printable ASCII characters other than '='"}},
		{"IsConfigMapKey", IsConfigMapKey, "a.b-c_D", nil},
		{"IsConfigMapKey", IsConfigMapKey, "", []string{configKey}},
		{"IsConfigMapKey", IsConfigMapKey, ".", []string{"must not be '.'"}},
		{"IsConfigMapKey", IsConfigMapKey, "..a", []string{"must not start with '..'"}},
		{"IsConfigMapKey", IsConfigMapKey, long254, []string{"must be no more than 253 characters"}},
		{"IsHTTPHeaderName", IsHTTPHeaderName, "X-A", nil},
		{"IsHTTPHeaderName", IsHTTPHeaderName, "X_A", []string{header}},
		{"IsValidPortName", IsValidPortName, "http-1", nil},
		{"IsValidPortName", IsValidPortName, "", []string{portChars, portLetter}},
		{"IsValidPortName", IsValidPortName, "80", []string{portLetter}},
		{"IsValidPortName", IsValidPortName, "a--b-", []string{"must not contain consecutive hyphens", "must not begin or end with a hyphen"}},
		{"IsValidPortName", IsValidPortName, "TooLongAndUppercase", []string{"must be no more than 15 characters", portChars}},
		{"IsPathSegmentName", IsPathSegmentName, "system:x", nil},
		{"IsPathSegmentName", IsPathSegmentName, "..", []string{"may not be '..'"}},
		{"IsPathSegmentName", IsPathSegmentName, "a/b%c", []string{"may not contain '/'", "may not contain '%'"}},
		{"IsPathSegmentPrefix", IsPathSegmentPrefix, "..", nil},
		{"LongName", longName, "a.b-c.1", nil},
		{"LongName", longName, long254[1:], nil},
		{"LongName", longName, long254 + "_", []string{"must be no more than 253 bytes", subdomain}},
	} {
		if got := tt.rule(tt.in); !slices.Equal(got, tt.want) {
			t.Errorf("%s(%.30q):\ngot  %q\nwant %q", tt.name, tt.in, got, tt.want)
		}
	}
}

func longName(name string) []string { return LongName(name, false) }

func TestNumbers(t *testing.T) {
	for _, tt := range []struct {
		name string
		got  []string
		want []string
	}{
		{"port 1", IsValidPortNum(1), nil},
		{"port 0", IsValidPortNum(0), []string{"must be between 1 and 65535, inclusive"}},
		{"port 70000", IsValidPortNum(70000), []string{"must be between 1 and 65535, inclusive"}},
		{"range", IsInRange(5, 1, 2), []string{"must be between 1 and 2, inclusive"}},
		{"user -1", IsValidUserID(-1), []string{"must be between 0 and 2147483647, inclusive"}},
		{"group 0", IsValidGroupID(0), nil},
	} {
		if !slices.Equal(tt.got, tt.want) {
			t.Errorf("%s: got %q, want %q", tt.name, tt.got, tt.want)
		}
	}
}

func TestGenerateName(t *testing.T) {
	for _, tt := range []struct {
		name string
		rule func(string, bool) []string
		in   string
		ok   bool // valid as a prefix; none is valid as a name
	}{
		{"DNSSubdomainName", DNSSubdomainName, "a.b-", true},
		{"DNSSubdomainName", DNSSubdomainName, "-", false},
		{"DNSLabelName", DNSLabelName, "ab-", true},
		{"DNSLabelName", DNSLabelName, "a.b-", false},
		{"DNS1035LabelName", DNS1035LabelName, "ab-", true},
		{"PathSegmentName", PathSegmentName, "..", true},
		{"PathSegmentName", PathSegmentName, "a/", false},
		{"LongName", LongName, "A_", true},
		{"LongName", LongName, "a/", false},
	} {
		if got := tt.rule(tt.in, true); (len(got) == 0) != tt.ok {
			t.Errorf("%s(%q) as prefix: got %q, want right %v", tt.name, tt.in, got, tt.ok)
		}
		if got := tt.rule(tt.in, false); len(got) == 0 {
			t.Errorf("%s(%q) as name: got nothing wrong", tt.name, tt.in)
		}
	}
}

func TestAddresses(t *testing.T) {
	const ip, cidr = ipMessage, cidrMessage
	for _, tt := range []struct {
		name string
		rule func(string) []string
		in   string
		want []string
	}{
		{"IsValidIP", IsValidIP, "1.2.3.4", nil},
		{"IsValidIP", IsValidIP, "2001:db8::1", nil},
		{"IsValidIP", IsValidIP, "2001:DB8::1", []string{`must be in canonical form ("2001:db8::1")`}},
		{"IsValidIP", IsValidIP, "x", []string{ip}},
		{"IsValidIP", IsValidIP, "fe80::1%eth0", []string{ip}},
		{"IsValidIP", IsValidIP, "010.1.1.1", []string{"must not have leading 0s"}},
		{"IsValidIP", IsValidIP, "::ffff:1.2.3.4", []string{"must not be an IPv4-mapped IPv6 address"}},
		{"IsValidCIDR", IsValidCIDR, "1.2.3.0/24", nil},
		{"IsValidCIDR", IsValidCIDR, "1.2.3.4", []string{cidr}},
		{"IsValidCIDR", IsValidCIDR, "1.2.3.0/33", []string{cidr}},
		{"IsValidCIDR", IsValidCIDR, "1.2.3.4/24", []string{"must not have bits set beyond the prefix length"}},
		{"IsValidCIDR", IsValidCIDR, "1.2.3.0/024", []string{"must not have leading 0s in IP or prefix length"}},
		{"IsValidCIDR", IsValidCIDR, "2001:DB8::/32", []string{`must be in canonical form ("2001:db8::/32")`}},
		{"lax", func(s string) []string { return IsValidLegacyIP(s, false) }, "010.1.1.1", nil},
		{"strict", func(s string) []string { return IsValidLegacyIP(s, true) }, "2001:DB8::1", nil},
		{"lax CIDR", func(s string) []string { return IsValidLegacyCIDR(s, false) }, "1.2.3.4/08", nil},
	} {
		if got := tt.rule(tt.in); !slices.Equal(got, tt.want) {
			t.Errorf("%s(%q): got %q, want %q", tt.name, tt.in, got, tt.want)
		}
	}
}

func FuzzRules(f *testing.F) {
	for _, s := range []string{"", "a", "a.b/c", "*.x", "010.1.1.1/8", "::ffff:1.2.3.4", "50%"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		// A stricter rule accepts no more than a wider one.
		if len(IsDNS1035Label(s)) == 0 && len(IsDNS1123Label(s)) > 0 {
			t.Errorf("%q is a DNS-1035 label and no DNS-1123 label", s)
		}
		if len(IsDNS1123Label(s)) == 0 && len(IsDNS1123Subdomain(s)) > 0 {
			t.Errorf("%q is a label and no subdomain", s)
		}
		if len(IsDNS1123Subdomain(s)) == 0 && len(IsDNS1123SubdomainWithUnderscore(s)) > 0 {
			t.Errorf("%q is a subdomain, but not with underscores allowed", s)
		}
		if len(IsValidIP(s)) == 0 && len(IsValidLegacyIP(s, true)) > 0 || len(IsValidLegacyIP(s, true)) == 0 && len(IsValidLegacyIP(s, false)) > 0 {
			t.Errorf("%q: a strict IP is refused by a laxer rule", s)
		}
		if len(IsValidCIDR(s)) == 0 && len(IsValidLegacyCIDR(s, true)) > 0 {
			t.Errorf("%q: a strict CIDR is refused by a laxer rule", s)
		}
		IsQualifiedName(s)
	})
}

func TestRightNamesDoNotAllocate(t *testing.T) {
	for name, rule := range map[string]func(string) []string{
		"IsDNS1123Label": IsDNS1123Label, "IsDNS1123Subdomain": IsDNS1123Subdomain, "IsQualifiedName": IsQualifiedName,
		"IsValidLabelValue": IsValidLabelValue,
	} {
		if got := testing.AllocsPerRun(100, func() { rule("my-name") }); got > 0 {
			t.Errorf("%s: got %v allocations, want 0", name, got)
		}
	}
}

func BenchmarkIsDNS1123Subdomain(b *testing.B) {
	b.ReportAllocs()
	for b.Loop() {
		IsDNS1123Subdomain("my-deployment-5d4f8c7b9d.example.com")
	}
}
