package codec

import (
	"mime"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"sync"

	"github.com/coracle-project/coracle/scheme/meta"
)

// Offer says what an endpoint can answer with, beyond plain objects.
type Offer uint8

// The offers; they combine.
const (
	// OfferStream is set on endpoints that can be watched (lists): ";stream=watch" is accepted there.
	OfferStream Offer = 1 << iota
	// OfferTable is set where a printer makes Tables.
	OfferTable
	// OfferWatch is set for a watch itself. YAML has no streaming form.
	OfferWatch
	// OfferPartial is set where as=PartialObjectMetadata and its list are served.
	OfferPartial
)

// maxRemembered bounds the Accept headers remembered, which clients choose, and maxHeader the length of each in bytes.
const (
	maxRemembered = 1024
	maxHeader     = 512
)

// acceptCache remembers how Accept headers were understood: clients send the same few again and again.
var acceptCache struct {
	sync.RWMutex
	known map[acceptKey]acceptResult
}

type acceptKey struct {
	header string
	offer  Offer
}

type acceptResult struct {
	media Media
	err   *meta.StatusError
}

// Negotiate picks the form of an answer from an Accept header, as kube-apiserver does. The error is a
// *meta.StatusError with code 406. A header seen before costs no allocation.
func Negotiate(accept string, offer Offer) (Media, error) {
	if accept == "" || accept == JSONType || accept == "*/*" {
		return Media{}, nil
	}
	key := acceptKey{accept, offer}
	acceptCache.RLock()
	res, ok := acceptCache.known[key]
	acceptCache.RUnlock()
	if !ok {
		res.media, res.err = negotiate(accept, offer)
		if len(accept) <= maxHeader {
			acceptCache.Lock()
			if len(acceptCache.known) >= maxRemembered || acceptCache.known == nil {
				acceptCache.known = make(map[acceptKey]acceptResult)
			}
			key.header = strings.Clone(accept)
			acceptCache.known[key] = res
			acceptCache.Unlock()
		}
	}
	if res.err != nil {
		return Media{}, res.err
	}
	return res.media, nil
}

// negotiate takes the two steps that kube-apiserver takes: the route must be able to produce one of the types at
// all, parameters apart, and then a clause must be servable with its parameters. They differ in their errors.
func negotiate(accept string, offer Offer) (Media, *meta.StatusError) {
	if !producible(accept, offer) {
		return Media{}, &meta.StatusError{Status: meta.Status{
			Status:  "Failure",
			Code:    http.StatusNotAcceptable,
			Reason:  "NotAcceptable",
			Message: "406: Not Acceptable\n\nAvailable representations: " + strings.Join(produced(offer), ", "),
			Details: &meta.StatusDetails{},
		}}
	}
	clauses := parseAccept(accept)
	for i := range clauses {
		for t := JSON; t <= Protobuf; t++ {
			if !clauses[i].matches(t) {
				continue
			}
			if m, ok := clauses[i].media(t, offer); ok {
				if offer&OfferWatch != 0 && t == YAML {
					return Media{}, notAcceptable(streamTypes)
				}
				return m, nil
			}
		}
	}
	if offer&OfferWatch != 0 {
		return Media{}, notAcceptable(streamTypes)
	}
	return Media{}, notAcceptable(typeNames[:])
}

var streamTypes = []string{JSONType + ";stream=watch", ProtobufType + ";stream=watch"}

func produced(offer Offer) []string {
	if offer&(OfferStream|OfferWatch) == 0 {
		return typeNames[:]
	}
	return append(append([]string{}, typeNames[:]...), streamTypes...)
}

func notAcceptable(types []string) *meta.StatusError {
	return &meta.StatusError{Status: meta.Status{
		Status:  "Failure",
		Code:    http.StatusNotAcceptable,
		Reason:  "NotAcceptable",
		Message: "only the following media types are accepted: " + strings.Join(types, ", "),
	}}
}

// producible reports whether some element of the header, parameters cut off, is */* or a type that is served.
func producible(accept string, offer Offer) bool {
	for rest, more := accept, true; more; {
		var part string
		part, rest, more = strings.Cut(rest, ",")
		part, _, _ = strings.Cut(part, ";")
		part = strings.Trim(part, " ")
		if part == "*/*" {
			return true
		}
		for _, t := range typeNames {
			if part == t {
				return true
			}
		}
		if rest == "" {
			break
		}
	}
	return false
}

// clause is one element of an Accept header.
type clause struct {
	typ, sub string
	quality  float64
	params   []param
}

type param struct{ name, value string }

// parseAccept splits a header into clauses, the preferred ones first. The order is that of an insertion sort with a
// comparison that is not quite an order (a wildcard yields even to a lower quality), which is what clients of
// kube-apiserver get.
func parseAccept(header string) []clause {
	var out []clause
	for rest := header; rest != ""; {
		var part string
		part, rest, _ = strings.Cut(rest, ",")
		if c, ok := parseClause(strings.Trim(part, " ")); ok {
			out = append(out, c)
		}
		if len(out) == 64 {
			break
		}
	}
	for i := 1; i < len(out); i++ {
		for j := i; j > 0 && out[j].before(&out[j-1]); j-- {
			out[j], out[j-1] = out[j-1], out[j]
		}
	}
	return out
}

func parseClause(part string) (clause, bool) {
	c := clause{quality: 1}
	full, rest, _ := strings.Cut(part, ";")
	typ, sub, ok := strings.Cut(full, "/")
	c.typ = strings.Trim(typ, " ")
	switch {
	case !ok || sub == "":
		if c.typ != "*" {
			return c, false
		}
		c.sub = "*"
	case strings.Contains(strings.TrimSuffix(sub, "/"), "/"):
		return c, false
	default:
		c.sub = strings.Trim(strings.TrimSuffix(sub, "/"), " ")
	}
	for rest != "" {
		var p string
		p, rest, _ = strings.Cut(rest, ";")
		name, value, ok := strings.Cut(p, "=")
		if !ok || value == "" || strings.Contains(strings.TrimSuffix(value, "="), "=") {
			continue
		}
		value = strings.TrimSuffix(value, "=")
		name = strings.Trim(name, " ")
		if name == "q" {
			c.quality, _ = strconv.ParseFloat(value, 32)
		} else {
			c.set(param{name, strings.Trim(value, " ")})
		}
	}
	return c, true
}

// set stores a parameter: of repeated ones the last counts.
func (c *clause) set(p param) {
	for i := range c.params {
		if c.params[i].name == p.name {
			c.params[i] = p
			return
		}
	}
	c.params = append(c.params, p)
}

func (c *clause) before(o *clause) bool {
	return c.quality > o.quality || (c.typ != "*" && o.typ == "*") || (c.sub != "*" && o.sub == "*")
}

func (c *clause) matches(t Type) bool {
	if c.typ == "*" {
		return c.sub == "*"
	}
	typ, sub, _ := strings.Cut(typeNames[t], "/")
	return c.typ == typ && (c.sub == sub || c.sub == "*")
}

// media applies the parameters of a clause to type t. Parameters nobody knows are ignored; a transformation that
// is not served makes the clause unusable.
func (c *clause) media(t Type, offer Offer) (Media, bool) {
	m := Media{Type: t}
	convert := false
	for _, p := range c.params {
		switch p.name {
		case "as":
			m.As, convert = p.value, true
		case "g":
			m.Group, convert = p.value, true
		case "v":
			m.Version, convert = p.value, true
		case "stream":
			if p.value == "" {
				continue
			}
			if p.value != "watch" || t == YAML || offer&(OfferStream|OfferWatch) == 0 {
				return m, false
			}
			m.Stream = true
		case "sv": // a version of the server's own kinds
			if p.value != "" && p.value != "v1" {
				return m, false
			}
		case "pretty":
			m.Pretty = p.value == "1"
		}
	}
	if !convert {
		return m, true
	}
	if m.Group != "meta.k8s.io" || (m.Version != "v1" && m.Version != "v1beta1") {
		return m, false
	}
	switch m.As {
	case AsTable:
		return m, offer&OfferTable != 0 && t != Protobuf
	case AsPartial, AsPartialList:
		return m, offer&OfferPartial != 0
	}
	return m, false
}

// BodyType picks the encoding of a request body from its Content-Type; an empty one means JSON. The error is a
// *meta.StatusError with code 415.
func BodyType(contentType string) (Type, error) {
	switch contentType {
	case "", JSONType:
		return JSON, nil
	case ProtobufType:
		return Protobuf, nil
	case YAMLType:
		return YAML, nil
	}
	if base, _, err := mime.ParseMediaType(contentType); err == nil {
		for t, name := range typeNames {
			if base == name {
				return Type(t), nil
			}
		}
	}
	return JSON, UnsupportedBody(typeNames[:]...)
}

// UnsupportedBody returns the 415 for a body in none of the accepted media types.
func UnsupportedBody(accepted ...string) *meta.StatusError {
	return &meta.StatusError{Status: meta.Status{
		Status:  "Failure",
		Code:    http.StatusUnsupportedMediaType,
		Reason:  "UnsupportedMediaType",
		Message: "the body of the request was in an unknown format - accepted media types include: " + strings.Join(accepted, ", "),
	}}
}

// Pretty reports whether a request wants indented JSON: by the query parameter "pretty", else if its user agent is
// curl, wget or a browser. rawQuery is the undecoded query.
func Pretty(rawQuery, userAgent string) bool {
	if strings.Contains(rawQuery, "pretty") {
		if values, err := url.ParseQuery(rawQuery); err == nil || values != nil {
			if p := values.Get("pretty"); p != "" {
				pretty, _ := strconv.ParseBool(p)
				return pretty
			}
		}
	}
	return strings.HasPrefix(userAgent, "curl") || strings.HasPrefix(userAgent, "Wget") ||
		strings.HasPrefix(userAgent, "Mozilla/5.0")
}
