package schema

import (
	"encoding/base64"
	"encoding/hex"
	"fmt"
	"net"
	"net/mail"
	"net/url"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode"

	"github.com/coracle-project/coracle/scheme/field"
	"github.com/coracle-project/coracle/scheme/names"
)

// formats tell whether a string has the format of their name, in which hyphens do not count. Formats that are not here say
// nothing.
var formats = map[string]func(string) bool{
	"bsonobjectid": func(s string) bool { return len(s) == 24 && isHex(s) },
	"byte":         isBase64,
	"cidr":         func(s string) bool { _, _, err := net.ParseCIDR(s); return err == nil },
	"creditcard":   isCreditCard,
	"date":         func(s string) bool { _, err := time.Parse(time.DateOnly, s); return err == nil },
	"datetime":     isDateTime,
	"duration":     func(s string) bool { _, err := ParseDuration(s); return err == nil },
	"email":        func(s string) bool { a, err := mail.ParseAddress(s); return err == nil && a.Address != "" },
	"hexcolor":     regexp.MustCompile(`^#?([0-9a-fA-F]{3}|[0-9a-fA-F]{6})$`).MatchString,
	"hostname":     isHostname,
	"ipv4":         func(s string) bool { return net.ParseIP(s) != nil && strings.Contains(s, ".") },
	"ipv6":         func(s string) bool { return net.ParseIP(s) != nil && strings.Contains(s, ":") },
	"isbn":         func(s string) bool { return isISBN10(s) || isISBN13(s) },
	"isbn10":       isISBN10,
	"isbn13":       isISBN13,
	"k8slongname": func(s string) bool {
		return len(names.IsDNS1123Subdomain(s)) == 0
	},
	"k8sshortname": func(s string) bool { return len(names.IsDNS1123Label(s)) == 0 },
	"mac":          func(s string) bool { _, err := net.ParseMAC(s); return err == nil },
	"password":     func(string) bool { return true },
	"rgbcolor":     isRGBColor,
	"ssn":          regexp.MustCompile(`^[0-9]{3}[- ]?[0-9]{2}[- ]?[0-9]{4}$`).MatchString,
	"uri":          func(s string) bool { _, err := url.ParseRequestURI(s); return err == nil },
	"uuid":         func(s string) bool { return isUUID(s, 0) },
	"uuid3":        func(s string) bool { return isUUID(s, '3') },
	"uuid4":        func(s string) bool { return isUUID(s, '4') },
	"uuid5":        func(s string) bool { return isUUID(s, '5') },
}

func formatNamed(name string) func(string) bool { return formats[strings.ReplaceAll(name, "-", "")] }

// HasFormat reports whether s has a format of strings, such as "uuid". Every string has a format that nobody knows.
func HasFormat(format, s string) bool {
	is := formatNamed(format)
	return is == nil || is(s)
}

// KnownFormat reports whether a format says something about values of a type.
func KnownFormat(typ, format string) bool {
	switch typ {
	case "", String:
		return formatNamed(format) != nil
	case Integer:
		return format == "int32" || format == "int64"
	case Number:
		return format == "float" || format == "double"
	}
	return false
}

// format judges whether a string has the format of its schema.
func (c *checker) format(t *Schema, v string) {
	if t.Type != "" && t.Type != String {
		return
	}
	if ok := formatNamed(t.Format); ok != nil && !ok(v) {
		c.report(field.TypeInvalid(c.at(), v, c.way.String()+" in body must be of type "+t.Format+": "+strconv.Quote(v)))
	}
}

func isHex(s string) bool { _, err := hex.DecodeString(s); return err == nil }

func isBase64(s string) bool {
	_, err := base64.StdEncoding.DecodeString(s)
	return err == nil && s != "" && !strings.ContainsAny(s, "\r\n")
}

func isDateTime(s string) bool {
	_, err := time.Parse(time.RFC3339, strings.ToUpper(s))
	return err == nil
}

var durationPart = regexp.MustCompile(`([0-9]+)\s*([A-Za-zµ]+)`)

// durationUnits are the units of durations in words: by names, and by what longer names begin with.
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

// ParseDuration reads what Go writes, and numbers with units in words, such as "2 days". What stands between those does not count.
func ParseDuration(s string) (sum time.Duration, err error) {
	if d, err := time.ParseDuration(s); err == nil {
		return d, nil
	}
	found := false
	for _, part := range durationPart.FindAllStringSubmatch(s, -1) {
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

// isHostname accepts labels of letters and symbols of any alphabet.
func isHostname(s string) bool {
	if s == "" || len(s) > 255 {
		return false
	}
	for label := range strings.SplitSeq(s, ".") {
		if label == "" || len(label) > 63 || label[0] == '-' || label[len(label)-1] == '-' {
			return false
		}
		for _, r := range label {
			if r != '-' && !('0' <= r && r <= '9') && !unicode.IsLetter(r) && !unicode.IsSymbol(r) {
				return false
			}
		}
	}
	return true
}

var rgbColor = regexp.MustCompile(`^rgb\(\s*([0-9]{1,3})\s*,\s*([0-9]{1,3})\s*,\s*([0-9]{1,3})\s*\)$`)

func isRGBColor(s string) bool {
	parts := rgbColor.FindStringSubmatch(s)
	for _, part := range parts {
		if n, err := strconv.Atoi(part); err == nil && n > 255 {
			return false
		}
	}
	return parts != nil
}

var uuid = regexp.MustCompile(`^[0-9a-fA-F]{8}-?[0-9a-fA-F]{4}-?[0-9a-fA-F]{4}-?[0-9a-fA-F]{4}-?[0-9a-fA-F]{12}$`)

// isUUID reports whether s is a UUID of a version, 0 for any. From version 4 on the variant is that of RFC 4122.
func isUUID(s string, version byte) bool {
	if !uuid.MatchString(s) {
		return false
	}
	digits := strings.ToLower(strings.ReplaceAll(s, "-", ""))
	return version == 0 || digits[12] == version && (version < '4' || strings.IndexByte("89ab", digits[16]) >= 0)
}

// digitsOf returns the digits of s, which otherwise has only what is in between; nil if there is more.
func digitsOf(s, between string) []int {
	var digits []int
	for _, r := range s {
		switch {
		case '0' <= r && r <= '9':
			digits = append(digits, int(r-'0'))
		case !strings.ContainsRune(between, r):
			return nil
		}
	}
	return digits
}

func isISBN10(s string) bool {
	last, isX := 0, strings.HasSuffix(s, "X")
	if isX {
		last, s = 10, strings.TrimSuffix(s, "X")
	}
	digits := digitsOf(s, "- ")
	if isX {
		digits = append(digits, last)
	}
	sum := 0
	for i, d := range digits {
		sum += (10 - i) * d
	}
	return len(digits) == 10 && sum%11 == 0
}

func isISBN13(s string) bool {
	digits := digitsOf(s, "- ")
	sum := 0
	for i, d := range digits {
		sum += d * (1 + 2*(i%2))
	}
	return len(digits) == 13 && sum%10 == 0
}

// isCreditCard checks length and check digit, not whose card it is.
func isCreditCard(s string) bool {
	digits := digitsOf(s, "- ")
	sum := 0
	for i := range digits {
		d := digits[len(digits)-1-i]
		if i%2 == 1 {
			if d *= 2; d > 9 {
				d -= 9
			}
		}
		sum += d
	}
	return len(digits) >= 13 && len(digits) <= 19 && sum%10 == 0
}
