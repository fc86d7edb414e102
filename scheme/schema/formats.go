package schema

import (
	"encoding/base64"
	"encoding/hex"
	"fmt"
	"net"
	"net/mail"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"github.com/coracle-project/coracle/scheme/field"
	"github.com/coracle-project/coracle/scheme/names"
)

// formats.go has the formats of strings, as kube-apiserver checks them by way of go-openapi/strfmt.
// Where that library is looser than the RFC of a format, so are these functions. The checker of
// validate.go and CEL's format library call them.

// formats maps the name of a format, without hyphens, to a function that reports whether a string
// has it. Every string has a format that is not here.
var formats = map[string]func(string) bool{
	"bsonobjectid": func(s string) bool { return len(s) == 24 && isHex(s) },
	"byte":         isBase64,
	"cidr":         func(s string) bool { return len(names.IsValidLegacyCIDR(s, false)) == 0 },
	"creditcard":   isCreditCard,
	"date":         isDate,
	"datetime":     isDateTime,
	"duration":     func(s string) bool { _, err := ParseDuration(s); return err == nil },
	"email":        func(s string) bool { a, err := mail.ParseAddress(s); return err == nil && a.Address != "" },
	"hexcolor":     func(s string) bool { return hexColor().MatchString(s) },
	"hostname":     isHostname,
	"ipv4": func(s string) bool {
		return len(names.IsValidLegacyIP(s, false)) == 0 &&
			strings.Contains(s, ".")
	},
	"ipv6":   func(s string) bool { return net.ParseIP(s) != nil && strings.Contains(s, ":") },
	"isbn":   func(s string) bool { return isISBN10(s) || isISBN13(s) },
	"isbn10": isISBN10,
	"isbn13": isISBN13,
	"k8slongname": func(s string) bool {
		return len(names.IsDNS1123Subdomain(s)) == 0
	},
	"k8sshortname": func(s string) bool { return len(names.IsDNS1123Label(s)) == 0 },
	"mac":          func(s string) bool { _, err := net.ParseMAC(s); return err == nil },
	"password":     func(string) bool { return true },
	"rgbcolor":     isRGBColor,
	"ssn":          func(s string) bool { return len(s) == 11 && ssn().MatchString(s) },
	"uri":          func(s string) bool { _, err := url.ParseRequestURI(s); return err == nil },
	"uuid":         func(s string) bool { return isUUID(s, 0) },
	"uuid3":        func(s string) bool { return isUUID(s, '3') },
	"uuid4":        func(s string) bool { return isUUID(s, '4') },
	"uuid5":        func(s string) bool { return isUUID(s, '5') },
}

// formatNamed returns the function for a format, nil for an unknown one. Hyphens in the name are
// ignored: date-time is datetime.
func formatNamed(name string) func(string) bool { return formats[strings.ReplaceAll(name, "-", "")] }

// HasFormat reports whether the string s has a format, such as "uuid". It is true for unknown
// formats.
func HasFormat(format, s string) bool {
	is := formatNamed(format)
	return is == nil || is(s)
}

// KnownFormat reports whether there is a check for the format in values of a type: a string format,
// int32 or int64 of integers, float or double of numbers.
func KnownFormat(typ, format string) bool {
	switch typ {
	case "", String, intOrString:
		return formatNamed(format) != nil
	case Integer:
		return format == "int32" || format == "int64"
	case Number:
		return format == "float" || format == "double"
	}
	return false
}

// format reports a string that does not have the format of its schema.
func (c *checker) format(t *Schema, v string) {
	if t.Format == "" || t.Type != "" && t.Type != String && !c.literal {
		return
	}
	c.checks++
	if ok := formatNamed(t.Format); ok != nil && !ok(v) {
		c.report(field.TypeInvalid(c.at(), v,
			c.way.String()+" in body must be of type "+t.Format+": "+strconv.Quote(v)))
	}
}

func isHex(s string) bool { _, err := hex.DecodeString(s); return err == nil }

func isBase64(s string) bool {
	_, err := base64.StdEncoding.DecodeString(s)
	return err == nil && s != "" && !strings.ContainsAny(s, "\r\n")
}

var clock = names.Pattern(`^([01][0-9]|2[0-3]):[0-5][0-9]:[0-5][0-9](.[0-9]+)?(z|[+-][0-9]{2}:[0-9]{2})$`)

// isDateTime accepts a date and a time of day. Like strfmt it ignores all text after a second T.
func isDateTime(s string) bool {
	parts := strings.SplitN(strings.ToLower(s), "t", 3)
	return len(parts) > 1 && isDate(parts[0]) && clock().MatchString(parts[1])
}

func isDate(s string) bool {
	_, err := time.Parse(time.DateOnly, s)
	return err == nil
}

var durationPart = names.Pattern(`([0-9]+)\s*([A-Za-zµ]+)`)

// durationUnits are the units of durations in words: a unit is meant by one of its names, or by any
// word that begins with begin, such as "minutes".
var durationUnits = []struct {
	names []string
	begin string
	unit  time.Duration
}{
	{[]string{"ns"}, "nano", time.Nanosecond},
	{[]string{"us", "µs"}, "micro", time.Microsecond},
	{[]string{"ms"}, "milli", time.Millisecond},
	{[]string{"s"}, "sec", time.Second},
	{[]string{"m"}, "min", time.Minute},
	{[]string{"h", "hr"}, "hour", time.Hour},
	{[]string{"d"}, "day", 24 * time.Hour},
	{[]string{"w", "wk"}, "week", 7 * 24 * time.Hour},
}

// ParseDuration reads a duration as time.ParseDuration does, or else as a sum of numbers with units
// in words, such as "2 days 3 hours". Other text between the numbers is ignored.
func ParseDuration(s string) (sum time.Duration, err error) {
	if d, err := time.ParseDuration(s); err == nil {
		return d, nil
	}
	found := false
	for _, part := range durationPart().FindAllStringSubmatch(s, -1) {
		n, err := strconv.Atoi(part[1])
		if err != nil {
			return 0, err
		}
		word := strings.ToLower(part[2])
		for _, u := range durationUnits {
			if slices.Contains(u.names, word) || strings.HasPrefix(word, u.begin) {
				sum, found = sum+time.Duration(n)*u.unit, true
			}
		}
	}
	if !found {
		return 0, fmt.Errorf("unable to parse %s as duration", s)
	}
	return sum, nil
}

// isHostname accepts the names that strfmt's regular expression accepts. A name of one label may
// have a hyphen only as its second character. The last of several labels has at least two
// characters, all letters. Letters and symbols may be of any alphabet.
func isHostname(s string) bool {
	labels := strings.Split(s, ".")
	last := labels[len(labels)-1]
	for _, label := range labels {
		if label == "" || len(label) > 63 || label[0] == '-' {
			return false
		}
	}
	if len(labels) == 1 {
		_, size := utf8.DecodeRuneInString(s)
		return isHostText(s[:size]) && isHostText(strings.TrimPrefix(s[size:], "-"))
	}
	for _, label := range labels[:len(labels)-1] {
		if strings.HasSuffix(label, "-") || !isHostText(strings.ReplaceAll(label, "-", "")) {
			return false
		}
	}
	return len(s) <= 255 && utf8.RuneCountInString(last) > 1 &&
		!strings.ContainsFunc(last, func(r rune) bool { return !unicode.IsLetter(r) })
}

// isHostText reports whether s has only digits, letters and symbols.
func isHostText(s string) bool {
	return !strings.ContainsFunc(s, func(r rune) bool {
		return !('0' <= r && r <= '9') && !unicode.IsLetter(r) && !unicode.IsSymbol(r)
	})
}

var hexColor = names.Pattern(`^#?([0-9a-fA-F]{3}|[0-9a-fA-F]{6})$`)

var rgbColor = names.Pattern(`^rgb\(\s*(0|[1-9][0-9]{0,2})\s*,\s*(0|[1-9][0-9]{0,2})\s*,\s*(0|[1-9][0-9]{0,2})\s*\)$`)

func isRGBColor(s string) bool {
	parts := rgbColor().FindStringSubmatch(s)
	for _, part := range parts {
		if n, err := strconv.Atoi(part); err == nil && n > 255 {
			return false
		}
	}
	return parts != nil
}

var uuid = names.Pattern(`^[0-9a-fA-F]{8}-?[0-9a-fA-F]{4}-?[0-9a-fA-F]{4}-?[0-9a-fA-F]{4}-?[0-9a-fA-F]{12}$`)

// isUUID reports whether s is a UUID of a version, a digit or 0 for any. For versions 4 and 5 the
// variant must be that of RFC 4122, which the 17th digit tells.
func isUUID(s string, version byte) bool {
	if !uuid().MatchString(s) {
		return false
	}
	digits := strings.ToLower(strings.ReplaceAll(s, "-", ""))
	return version == 0 || digits[12] == version && (version < '4' || strings.IndexByte("89ab", digits[16]) >= 0)
}

var (
	isbn10 = names.Pattern(`^[0-9]{9}[0-9X]$`)
	isbn13 = names.Pattern(`^[0-9]{13}$`)
	ssn    = names.Pattern(`^[0-9]{3}[- ]?[0-9]{2}[- ]?[0-9]{4}$`)
	// card has the ranges of numbers of the issuers: Visa, Mastercard, Discover, American Express,
	// Diners Club and JCB.
	card = names.Pattern(`^(4[0-9]{12}([0-9]{3})?|5[1-5][0-9]{14}|6(011|5[0-9]{2})[0-9]{12}|3[47][0-9]{13}|` +
		`3(0[0-5]|[68][0-9])[0-9]{11}|(2131|1800|35[0-9]{3})[0-9]{11})$`)
	spaceOrHyphen = names.Pattern(`[\s-]`)
	notDigit      = names.Pattern(`[^0-9]`)
)

// isISBN10 checks the form and the check digit, in which X stands for 10.
func isISBN10(s string) bool {
	s = spaceOrHyphen().ReplaceAllString(s, "")
	if !isbn10().MatchString(s) {
		return false
	}
	sum := 0
	for i, r := range s {
		d := int(r - '0')
		if r == 'X' {
			d = 10
		}
		sum += (10 - i) * d
	}
	return sum%11 == 0
}

// isISBN13 checks the form and the check digit.
func isISBN13(s string) bool {
	s = spaceOrHyphen().ReplaceAllString(s, "")
	sum := 0
	for i, r := range s {
		sum += int(r-'0') * (1 + 2*(i%2))
	}
	return isbn13().MatchString(s) && sum%10 == 0
}

// isCreditCard checks the form and the check digit (the Luhn algorithm). It ignores all characters
// that are no digits.
func isCreditCard(s string) bool {
	s = notDigit().ReplaceAllString(s, "")
	sum := 0
	for i := range len(s) {
		d := int(s[len(s)-1-i] - '0')
		if i%2 == 1 {
			if d *= 2; d > 9 {
				d -= 9
			}
		}
		sum += d
	}
	return card().MatchString(s) && sum%10 == 0
}
