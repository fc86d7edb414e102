package request

import (
	"errors"
	"net/http"
	"net/url"
	"strings"
)

// This file is the only parser of query strings in the server. Parse calls it for each request, and
// QueryOf gives handlers the result. query_test.go compares it with url.ParseQuery by fuzzing.

// maxParams is the largest number of parameters in a query. url.ParseQuery has the same bound.
const maxParams = 10_000

// fewParams is the number of parameters up to which a Query needs no allocation.
const fewParams = 8

// Query holds the parameters of a request. Its answers are those of url.ParseQuery, and all readers
// (authorization, the handler of a list) use the same Query, so no two of them can understand a
// query differently. The zero Query is empty.
//
// A Query keeps the text as sent and notes only where each parameter ends; a value is unescaped
// when somebody asks for it. So a query costs nothing up to fewParams parameters and 4 bytes for
// each parameter beyond, whatever its content.
type Query struct {
	raw string
	// The index of the & after each parameter, or len(raw) for the last one. The indexes are in
	// few, or in many if there are more than few can hold.
	few  [fewParams]int32
	many []int32
	n    int32
	// A bit for the first letter of each name. A name whose bit is not set needs no search.
	letters uint32
}

// The errors of queries that are refused, in the words of net/url.
var (
	errSemicolon = errors.New("invalid semicolon separator in query")
	errParams    = errors.New("number of URL query parameters exceeded limit")
)

// parse fills q from a raw query; q must be empty. The error is one that url.ParseQuery would also
// return. kube-apiserver drops the parameters that it cannot read and serves the rest. Here the
// whole request is refused, because a half-understood query is dangerous: a lost dryRun deletes for
// real, and a lost selector lists everything.
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
	q.raw, q.n, q.letters = raw, int32(n), letterBit(raw[0])
	if n > fewParams {
		q.many = make([]int32, n)
	}
	ends, at := q.ends(), 0
	for i := range len(raw) { // IndexByte for each & would cost more where there are many
		if raw[i] == '&' {
			ends[at] = int32(i)
			at++
			if i+1 < len(raw) {
				q.letters |= letterBit(raw[i+1])
			}
		}
	}
	ends[at] = int32(len(raw))
	return nil
}

// letterBit returns the bit of names that begin with c. If c begins an escape, all bits are set,
// since the name may begin with any letter.
func letterBit(c byte) uint32 {
	if c == '%' || c == '+' {
		return ^uint32(0)
	}
	return 1 << (c & 31)
}

// ends returns the end indexes of all parameters.
func (q *Query) ends() []int32 {
	if q.many != nil {
		return q.many
	}
	return q.few[:q.n]
}

// checkEscapes returns an error if a % is not followed by two hexadecimal digits.
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

// QueryOf returns the query of r: the one in its Info, or, outside of the filter chain, one parsed
// at this call. A query that cannot be parsed then counts as empty.
func QueryOf(r *http.Request) *Query {
	if info := From(r.Context()); info != nil {
		return &info.Query
	}
	q := new(Query)
	_ = q.parse(r.URL.RawQuery)
	return q
}

// Get returns the first value of a parameter, or "".
func (q *Query) Get(name string) string {
	value, _ := q.Lookup(name)
	return value
}

// Lookup returns the first value of a parameter and whether the parameter was sent. It allocates
// only for a value with escapes.
func (q *Query) Lookup(name string) (value string, ok bool) {
	for value := range q.values(name) {
		return value, true
	}
	return "", false
}

// All returns the values of a parameter in the order in which they were sent, or nil.
func (q *Query) All(name string) []string {
	var all []string
	for value := range q.values(name) {
		all = append(all, value)
	}
	return all
}

// Bool reads a boolean parameter as Kubernetes converts one: "0", "false" in any case, and an
// absent parameter are false; any other value, "" included, is true.
func (q *Query) Bool(name string) bool {
	value, ok := q.Lookup(name)
	return ok && value != "0" && !strings.EqualFold(value, "false")
}

// Empty reports whether the query has no parameters.
func (q *Query) Empty() bool { return q.raw == "" }

// values yields the values of a parameter. name must not be empty.
func (q *Query) values(name string) func(yield func(string) bool) {
	return func(yield func(string) bool) {
		if q.letters&letterBit(name[0]) == 0 {
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

// valueOf compares the name in a parameter as sent ("name=value", escapes included) with name. If
// they are equal, it returns the value, still escaped. It does not allocate, because most
// parameters have another name.
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

// fromHex returns the value of a hexadecimal digit.
func fromHex(c byte) byte {
	if c <= '9' {
		return c - '0'
	}
	return c&0xf + 9
}

// unescape is url.QueryUnescape of text that checkEscapes has accepted.
func unescape(s string) string {
	text, err := url.QueryUnescape(s)
	if err != nil { // impossible: checkEscapes
		panic(err)
	}
	return text
}
