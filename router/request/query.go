package request

import (
	"errors"
	"net/http"
	"net/url"
	"strings"
)

// maxParams bounds the parameters of a query, as url.ParseQuery does.
const maxParams = 10_000

// fewParams is up to how many parameters a query costs no allocation.
const fewParams = 8

// Query holds the parameters of a request, taken apart once for everybody who reads them. It says what url.ParseQuery
// says: whoever asks, authorization or the list, gets the same answer. The zero Query is empty.
//
// Parameters stay where they were sent and are unescaped when somebody asks for them, so a query costs 4 bytes for each
// parameter if there are more than a few, whatever is in it.
type Query struct {
	raw string
	// Where the parameters end, each at the & before the next or at the end of raw; in many if there are more than few holds.
	few  [fewParams]int32
	many []int32
	n    int32
	// The first letters of all names, a bit each, so that most questions need no search.
	heads uint32
}

// The queries that are refused.
var (
	errSemicolon = errors.New("invalid semicolon separator in query")
	errParams    = errors.New("number of URL query parameters exceeded limit")
)

// parse takes a raw query apart; q must be empty. The error is one that url.ParseQuery returns as well. kube-apiserver
// drops what it cannot read and serves the rest; here the request as a whole is refused, since a client that is half
// understood deletes what it meant to delete dry, and lists what it meant to select from.
func (q *Query) parse(raw string) error {
	if raw == "" {
		return nil
	}
	n := strings.Count(raw, "&") + 1
	switch {
	case strings.IndexByte(raw, ';') >= 0:
		return errSemicolon
	case n > maxParams:
		return errParams
	}
	if err := checkEscapes(raw); err != nil {
		return err
	}
	q.raw, q.n, q.heads = raw, int32(n), head(raw[0])
	if n > fewParams {
		q.many = make([]int32, n)
	}
	ends, at := q.ends(), 0
	for i := range len(raw) { // a search for each & would cost more where they are many
		if raw[i] == '&' {
			ends[at] = int32(i)
			at++
			if i+1 < len(raw) {
				q.heads |= head(raw[i+1])
			}
		}
	}
	ends[at] = int32(len(raw))
	return nil
}

// head is the bit of a name that begins with c; what begins with an escape may be any.
func head(c byte) uint32 {
	if c == '%' || c == '+' {
		return ^uint32(0)
	}
	return 1 << (c & 31)
}

func (q *Query) ends() []int32 {
	if q.many != nil {
		return q.many
	}
	return q.few[:q.n]
}

// checkEscapes returns an error for a % that no two hexadecimal digits follow.
func checkEscapes(s string) error {
	for {
		at := strings.IndexByte(s, '%')
		if at < 0 {
			return nil
		}
		if s = s[at:]; len(s) < 3 || !isHex(s[1]) || !isHex(s[2]) {
			return url.EscapeError(s[:min(len(s), 3)])
		}
		s = s[3:]
	}
}

func isHex(c byte) bool {
	return '0' <= c && c <= '9' || 'a' <= c && c <= 'f' || 'A' <= c && c <= 'F'
}

// QueryOf returns the query of r, which the filters have parsed. Outside of their chain it is parsed now, and empty if
// it cannot be.
func QueryOf(r *http.Request) *Query {
	if info := From(r.Context()); info != nil {
		return &info.Query
	}
	q := new(Query)
	_ = q.parse(r.URL.RawQuery)
	return q
}

// Get returns the first value of a parameter, "" if there is none.
func (q *Query) Get(name string) string {
	value, _ := q.Lookup(name)
	return value
}

// Lookup returns the first value of a parameter, and whether there is one. Only a value with escapes costs an
// allocation.
func (q *Query) Lookup(name string) (value string, ok bool) {
	for value := range q.values(name) {
		return value, true
	}
	return "", false
}

// All returns the values of a parameter in the order in which they were sent, nil if there is none.
func (q *Query) All(name string) []string {
	var all []string
	for value := range q.values(name) {
		all = append(all, value)
	}
	return all
}

// Bool reads a boolean parameter: everything is true but 0, false, and its absence.
func (q *Query) Bool(name string) bool {
	value, ok := q.Lookup(name)
	return ok && value != "0" && !strings.EqualFold(value, "false")
}

// Empty reports whether there are no parameters.
func (q *Query) Empty() bool { return q.raw == "" }

// values yields the values of a parameter, whose name must not be empty.
func (q *Query) values(name string) func(yield func(string) bool) {
	return func(yield func(string) bool) {
		if q.heads&head(name[0]) == 0 {
			return
		}
		start := 0
		for _, end := range q.ends() {
			if value, ok := valueOf(q.raw[start:end], name); ok && !yield(unescape(value)) {
				return
			}
			start = int(end) + 1
		}
	}
}

// valueOf returns what follows the name of a parameter, if that means name, escapes and all. It allocates nothing: most
// names are none that anybody asks for.
func valueOf(sent, name string) (value string, ok bool) {
	for i := range len(name) {
		if sent == "" || sent[0] == '=' {
			return "", false
		}
		c, n := sent[0], 1
		switch c {
		case '%':
			c, n = fromHex(sent[1])<<4|fromHex(sent[2]), 3
		case '+':
			c = ' '
		}
		if c != name[i] {
			return "", false
		}
		sent = sent[n:]
	}
	if sent == "" {
		return "", true
	}
	return sent[1:], sent[0] == '='
}

// fromHex is the value of a hexadecimal digit.
func fromHex(c byte) byte {
	if c <= '9' {
		return c - '0'
	}
	return c&0xf + 9
}

// unescape is url.QueryUnescape of what checkEscapes has found good.
func unescape(s string) string {
	text, err := url.QueryUnescape(s)
	if err != nil { // checked
		panic(err)
	}
	return text
}
