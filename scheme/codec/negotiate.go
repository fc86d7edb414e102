package codec

import (
	"mime"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"sync"

	"github.com/coracle-project/coracle/scheme/meta"
)

// Offer says what an endpoint can answer with, beyond plain objects.
type Offer uint8

// The offers; they combine.
const (
	// OfferStream is set on endpoints that can be watched (lists): they name ";stream=watch" among what they can answer with, which
	// others accept and ignore.
	OfferStream Offer = 1 << iota
	// OfferTable is set where a printer makes Tables.
	OfferTable
	// OfferWatch is set for a watch itself. YAML has no streaming form.
	OfferWatch
	// OfferPartial is set where as=PartialObjectMetadata and its list are served.
	OfferPartial
	// OfferCustom is set on endpoints of custom resources: a whole object has no protobuf form there.
	OfferCustom
	// OfferUnrouted is set where kube-apiserver has no route that would refuse what cannot be produced at all.
	OfferUnrouted
	// OfferDiscovery is set where all that is served is shown at once: a clause that does not ask for that is passed over.
	OfferDiscovery
)

// maxRemembered bounds the Accept headers remembered, which clients choose, and maxHeader the length of each in bytes.
// Of an Accept header the first maxClauses elements count, and of those the first maxParams parameters: there are three
// types to choose from and seven parameters that mean something. maxQuality is how long a number in it may be, and
// maxContentType a Content-Type, in bytes.
const (
	maxRemembered  = 1024
	maxHeader      = 512
	maxClauses     = 16
	maxParams      = 128
	maxQuality     = 64
	maxContentType = 1 << 10
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
// *meta.StatusError with code 406. A header seen before costs no allocation, and a header that is refused no more than
// that error.
func Negotiate(accept string, offer Offer) (Media, error) {
	if accept == "" || accept == JSONType || accept == "*/*" {
		return Media{}, nil
	}
	res, known := acceptResult{}, false
	if len(accept) <= maxHeader {
		acceptCache.RLock()
		res, known = acceptCache.known[acceptKey{accept, offer}]
		acceptCache.RUnlock()
	}
	if !known {
		res.media, res.err = negotiate(accept, offer)
		if len(accept) <= maxHeader {
			remember(acceptKey{strings.Clone(accept), offer}, res)
		}
	}
	if res.err != nil {
		return Media{}, res.err
	}
	return res.media, nil
}

func remember(key acceptKey, res acceptResult) {
	acceptCache.Lock()
	defer acceptCache.Unlock()
	if len(acceptCache.known) >= maxRemembered || acceptCache.known == nil {
		acceptCache.known = make(map[acceptKey]acceptResult)
	}
	acceptCache.known[key] = res
}

// negotiate takes the two steps that kube-apiserver takes: the route must be able to produce one of the types at
// all, parameters apart, and then a clause must be servable with its parameters. They differ in their errors.
func negotiate(accept string, offer Offer) (Media, *meta.StatusError) {
	var buf [maxClauses]clause
	clauses, producible := parseAccept(accept, &buf)
	if !producible && offer&(OfferCustom|OfferUnrouted) == 0 {
		return Media{}, notProducible(produced(offer))
	}
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

// Producible returns an error, as Negotiate does, unless an Accept header has everything or the only media type that there is, whatever the
// parameters of either.
func Producible(accept, only string) error {
	if accept == "" {
		return nil
	}
	for elements := 0; accept != "" && elements < maxClauses; elements++ {
		var element string
		element, accept, _ = strings.Cut(accept, ",")
		name, _, _ := strings.Cut(element, ";")
		if name = strings.Trim(name, " "); name == "*/*" || name == only {
			return nil
		}
	}
	return notProducible([]string{only})
}

// notProducible is the refusal of a route.
func notProducible(types []string) *meta.StatusError {
	return &meta.StatusError{Status: meta.Status{
		Status:  "Failure",
		Code:    http.StatusNotAcceptable,
		Reason:  "NotAcceptable",
		Message: "406: Not Acceptable\n\nAvailable representations: " + strings.Join(types, ", "),
		Details: &meta.StatusDetails{},
	}}
}

func notAcceptable(types []string) *meta.StatusError {
	return &meta.StatusError{Status: meta.Status{
		Status:  "Failure",
		Code:    http.StatusNotAcceptable,
		Reason:  "NotAcceptable",
		Message: "only the following media types are accepted: " + strings.Join(types, ", "),
	}}
}

// clause is one element of an Accept header.
type clause struct {
	typ, sub string
	quality  float64
	params   string // those that count, as sent
}

// parseAccept splits a header into clauses, the preferred ones first. The order is that of the sort package with a
// comparison that is not quite an order (a wildcard yields even to a lower quality), which is what clients of
// kube-apiserver get. producible reports whether some element, parameters cut off, is */* or a type that is served.
func parseAccept(header string, buf *[maxClauses]clause) (clauses []clause, producible bool) {
	clauses, left := buf[:0], maxParams
	for elements := 0; header != "" && elements < maxClauses; elements++ {
		var element string
		element, header, _ = strings.Cut(header, ",")
		full, params, _ := strings.Cut(strings.Trim(element, " "), ";")
		name := strings.Trim(full, " ")
		producible = producible || name == "*/*" || slices.Contains(typeNames[:], name)
		if c, ok := parseClause(full); ok {
			c.setParams(params, &left)
			clauses = append(clauses, c)
		}
	}
	slices.SortFunc(clauses, func(a, b clause) int {
		if a.before(&b) {
			return -1
		}
		return 1
	})
	return clauses, producible
}

// parseClause reads an element without its parameters.
func parseClause(full string) (clause, bool) {
	typ, sub, ok := strings.Cut(full, "/")
	c := clause{typ: strings.Trim(typ, " "), sub: "*"}
	if !ok || sub == "" {
		return c, c.typ == "*"
	}
	sub = strings.TrimSuffix(sub, "/")
	c.sub = strings.Trim(sub, " ")
	return c, strings.IndexByte(sub, '/') < 0
}

// setParams keeps the parameters and finds the quality among them. left is how many still count in the header.
func (c *clause) setParams(params string, left *int) {
	quality := "1"
	rest := params
	for ; rest != "" && *left > 0; *left-- {
		var name, value string
		if name, value, rest = cutParam(rest); name == "q" {
			quality = value
		}
	}
	c.params = params[:len(params)-len(rest)]
	if len(quality) <= maxQuality {
		c.quality, _ = strconv.ParseFloat(quality, 32) // 0, if it is no number
	}
}

// cutParam takes the first parameter from the front of params. Without a name it is not one.
func cutParam(params string) (name, value, rest string) {
	one, rest, _ := strings.Cut(params, ";")
	name, value, _ = strings.Cut(one, "=")
	if value == "" {
		return "", "", rest
	}
	if value = strings.TrimSuffix(value, "="); strings.IndexByte(value, '=') >= 0 {
		return "", "", rest
	}
	return strings.Trim(name, " "), value, rest
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

// media applies the parameters of a clause to type t. A transformation that is not served makes the clause unusable.
func (c *clause) media(t Type, offer Offer) (Media, bool) {
	m, convert, stream, server := c.read(t)
	if offer&OfferDiscovery != 0 {
		return m, (stream == "" || stream == "watch") && server == "" && m.As == AsDiscovery && m.Group == "apidiscovery.k8s.io" && m.Version == "v2"
	}
	m.Stream = stream == "watch" && offer&OfferWatch != 0 // to others it says nothing
	if stream != "" && (stream != "watch" || t == YAML) || server != "" && server != "v1" {
		return m, false
	}
	if !convert {
		return m, t != Protobuf || offer&OfferCustom == 0
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

// read reads the parameters of a clause; of repeated ones the last counts. Parameters nobody knows are ignored. server is a version of the
// server's own kinds.
func (c *clause) read(t Type) (m Media, convert bool, stream, server string) {
	m.Type = t
	for rest := c.params; rest != ""; {
		var name, value string
		name, value, rest = cutParam(rest)
		value = strings.Trim(value, " ")
		switch name {
		case "as":
			m.As, convert = value, true
		case "g":
			m.Group, convert = value, true
		case "v":
			m.Version, convert = value, true
		case "drop":
			m.DropManagedFields = drops(value, targetManagedFields)
		case "stream":
			stream = value
		case "sv":
			server = value
		case "pretty":
			m.Pretty = value == "1"
		}
	}
	return m, convert, stream, server
}

// drops reports whether target is among those of a "drop=". Targets that nobody knows are ignored.
func drops(targets, target string) bool {
	for one := range strings.SplitSeq(targets, "+") {
		if strings.Trim(one, " ") == target {
			return true
		}
	}
	return false
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
	base := MediaType(contentType)
	for t, name := range typeNames {
		if base == name {
			return Type(t), nil
		}
	}
	return JSON, UnsupportedBody(typeNames[:]...)
}

// MediaType returns a Content-Type without its parameters, "" if it is malformed, or longer than any that is in use.
func MediaType(contentType string) string {
	if len(contentType) > maxContentType {
		return ""
	}
	base, _, err := mime.ParseMediaType(contentType)
	if err != nil {
		return ""
	}
	return base
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
// curl, wget or a browser.
func Pretty(param, userAgent string) bool {
	if param != "" {
		pretty, _ := strconv.ParseBool(param)
		return pretty
	}
	return strings.HasPrefix(userAgent, "curl") || strings.HasPrefix(userAgent, "Wget") ||
		strings.HasPrefix(userAgent, "Mozilla/5.0")
}
