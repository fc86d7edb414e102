package request

import (
	"bytes"
	"strconv"

	"github.com/coracle-project/coracle/scheme/meta"
)

// Forbidden returns the 403 error that tells a user what they may not do, in the words of
// kube-apiserver. reason is appended after a colon and may be empty.
func Forbidden(a *Attributes, reason string) error {
	var space [384]byte // longer than the usual message, so that it costs one allocation
	gr := meta.GroupResource{Group: a.Group, Resource: a.Resource}
	text := meta.AppendForbidden(space[:0], gr, a.Name)
	begin := len(text)
	text = escapeHTML(appendForbidden(text, a), begin)
	if reason != "" {
		text = append(append(text, ": "...), reason...)
	}
	return meta.NewForbiddenText(gr, a.Name, text)
}

// escapeHTML escapes &, < and > in text from begin on, for browsers that take the message for HTML.
func escapeHTML(text []byte, begin int) []byte {
	i := bytes.IndexAny(text[begin:], "&<>")
	if i < 0 {
		return text
	}
	begin += i
	marked := string(text[begin:])
	text = text[:begin]
	for i := range len(marked) {
		switch c := marked[i]; c {
		case '&':
			text = append(text, "&amp;"...)
		case '<':
			text = append(text, "&lt;"...)
		case '>':
			text = append(text, "&gt;"...)
		default:
			text = append(text, c)
		}
	}
	return text
}

// appendForbidden appends the message before its markup is escaped, such as
//
//	User "jane" cannot list resource "pods" in API group "" in the namespace "default"
func appendForbidden(text []byte, a *Attributes) []byte {
	user := ""
	if a.User != nil {
		user = a.User.Name
	}
	text = appendQuoted(text, "User ", user)
	text = append(append(text, " cannot "...), meta.Excerpt(a.Verb)...)
	if !a.IsResource {
		return appendQuoted(text, " path ", a.Path)
	}
	resource := a.Resource
	if a.Subresource != "" {
		resource = meta.Excerpt(resource) + "/" + a.Subresource
	}
	text = appendQuoted(text, " resource ", resource)
	text = appendQuoted(text, " in API group ", a.Group)
	if a.Namespace == "" {
		return append(text, " at the cluster scope"...)
	}
	return appendQuoted(text, " in the namespace ", a.Namespace)
}

// appendQuoted appends word and then, in quotes, an excerpt of sent, which the client chose.
func appendQuoted(text []byte, word, sent string) []byte {
	text, sent = append(text, word...), meta.Excerpt(sent)
	for i := range len(sent) {
		if c := sent[i]; c < ' ' || c > '~' || c == '"' || c == '\\' {
			return strconv.AppendQuote(text, sent)
		}
	}
	return append(append(append(text, '"'), sent...), '"') // what AppendQuote does with plain ASCII, faster
}
