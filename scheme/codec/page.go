package codec

import (
	"slices"
	"strings"

	"github.com/coracle-project/coracle/scheme/meta"
)

// NegotiatePage chooses the form of a page such as /statusz, which is text for people and an object
// for programs. If a clause of the Accept header asks for one of kinds, by its parameters g, v and
// as, the client gets the object as JSON or YAML, and convert is true. Otherwise the client gets
// text. The error is a *meta.StatusError with code 406.
func NegotiatePage(accept string, kinds ...meta.GroupVersionKind) (m Media, convert bool, err error) {
	if strings.TrimSpace(accept) == "" {
		return m, false, nil
	}
	var buf [maxClauses]clause
	clauses, _ := parseAccept(accept, &buf)
	for i := range clauses {
		c := &clauses[i]
		for _, t := range []Type{JSON, YAML} {
			m, convert, stream, server := c.read(t)
			gvk, _ := m.GVK()
			if c.matches(t) && convert && stream == "" && server == "" && slices.Contains(kinds, gvk) {
				return m, true, nil
			}
		}
		_, convert, stream, server := c.read(JSON)
		text := c.typ == "*" && c.sub == "*" || c.typ == "text" && (c.sub == "plain" || c.sub == "*")
		if text && !convert && stream == "" && server == "" {
			return Media{}, false, nil
		}
	}
	return Media{}, false, notAcceptable([]string{JSONType, YAMLType, "text/plain"})
}
