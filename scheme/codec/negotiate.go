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

// Content negotiation: Negotiate chooses the form of a response from the Accept header, BodyType
// the encoding of a request body from its Content-Type. The router calls both for each request.
// Both follow kube-apiserver, including its order of equally good clauses and its two different
// errors. accept_test.go compares Negotiate with a second, simple implementation.

// Offer is a set of flags that say in which forms an endpoint can answer, beside plain objects.
type Offer uint8

// The flags of Offer.
const (
	// OfferStream is set for endpoints that can also be watched (lists). Their 406 lists the media
	// types with ";stream=watch", too. All endpoints accept that parameter; those without
	// OfferWatch ignore it.
	OfferStream Offer = 1 << iota
	// OfferTable is set for endpoints that can answer with a Table.
	OfferTable
	// OfferWatch is set for a watch. A watch cannot be YAML, which has no streaming form.
	OfferWatch
	// OfferPartial is set for endpoints that serve as=PartialObjectMetadata and
	// as=PartialObjectMetadataList.
	OfferPartial
	// OfferCustom is set for custom resources: their objects have no protobuf form, their
	// PartialObjectMetadata have.
	OfferCustom
	// OfferUnrouted is set for paths at which kube-apiserver has no go-restful route, so that no
	// route refuses media types that can never be produced.
	OfferUnrouted
	// OfferDiscovery is set for aggregated discovery: clauses that do not ask for
	// as=APIGroupDiscoveryList are skipped.
	OfferDiscovery
)

// Bounds on what clients choose. maxRemembered is the number of Accept headers in acceptCache, and
// maxHeader the length in bytes of the longest one that is cached. Of an Accept header the first
// maxClauses elements count, and of all their parameters the first maxParams: there are three media
// types to choose from and seven parameters with a meaning. maxQuality is the longest quality value
// in bytes, maxContentType the longest Content-Type.
const (
	maxRemembered  = 1024
	maxHeader      = 512
	maxClauses     = 16
	maxParams      = 128
	maxQuality     = 64
	maxContentType = 1 << 10
)

// acceptCache maps Accept headers to their results, because clients send the same few headers again
// and again. When the map is full it is emptied: the next requests add the headers in use again.
var acceptCache struct {
	sync.RWMutex
	results map[acceptKey]acceptResult
}

// acceptKey is what a result depends on.
type acceptKey struct {
	header string
	offer  Offer
}

// acceptResult is the result of negotiate: media if err is nil.
type acceptResult struct {
	media Media
	err   *meta.StatusError
}

// Negotiate chooses the form of a response from an Accept header, as kube-apiserver does. The error
// is a *meta.StatusError with code 406. A header that is in the cache costs no allocation; a header
// that is refused costs only the error.
func Negotiate(accept string, offer Offer) (Media, error) {
	if accept == "" || accept == JSONType || accept == "*/*" {
		return Media{}, nil
	}
	res, known := acceptResult{}, false
	if len(accept) <= maxHeader {
		acceptCache.RLock()
		res, known = acceptCache.results[acceptKey{accept, offer}]
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

// remember adds a result to acceptCache.
func remember(key acceptKey, res acceptResult) {
	acceptCache.Lock()
	defer acceptCache.Unlock()
	if len(acceptCache.results) >= maxRemembered || acceptCache.results == nil {
		acceptCache.results = make(map[acceptKey]acceptResult)
	}
	acceptCache.results[key] = res
}

// negotiate takes the two steps of kube-apiserver. First the route must be able to produce one of
// the media types, parameters ignored; else the error is notProducible. Then one clause must be
// servable with its parameters; else the error is notAcceptable.
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

// streamTypes are the media types that a watch can produce.
var streamTypes = []string{JSONType + ";stream=watch", ProtobufType + ";stream=watch"}

// produced lists the media types that the 406 of an endpoint names.
func produced(offer Offer) []string {
	if offer&(OfferStream|OfferWatch) == 0 {
		return typeNames[:]
	}
	return append(append([]string{}, typeNames[:]...), streamTypes...)
}

// Producible checks an Accept header for an endpoint that answers in a single media type, which the
// caller passes as only. It returns nil if the header names that type or */*, with any parameters.
// Otherwise it returns the 406 of kube-apiserver's routing, which is a *meta.StatusError.
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

// notProducible is the 406 of go-restful's routing in kube-apiserver.
func notProducible(types []string) *meta.StatusError {
	return &meta.StatusError{Status: meta.Status{
		Status:  "Failure",
		Code:    http.StatusNotAcceptable,
		Reason:  "NotAcceptable",
		Message: "406: Not Acceptable\n\nAvailable representations: " + strings.Join(types, ", "),
		Details: &meta.StatusDetails{},
	}}
}

// notAcceptable is the 406 of kube-apiserver's own negotiation.
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
	// The parameters that count, as they were sent.
	params string
}

// parseAccept splits a header into clauses, the preferred ones first. The comparison
// (clause.before) is not a strict order: a wildcard comes after a plain type even if its quality is
// higher. kube-apiserver passes the same comparison to the sort package, so the result depends on
// the algorithm; slices.SortFunc runs the same one. producible reports whether an element without
// its parameters is */* or a media type that is served.
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

// parseClause parses an element of an Accept header without its parameters. It reports false for an
// element that is no media range.
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

// setParams stores the parameters of the clause and finds the quality among them. left is the
// number of parameters that still count in this header.
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
		c.quality, _ = strconv.ParseFloat(quality, 32) // 0 if it is no number
	}
}

// cutParam cuts the first parameter off params. A parameter without a value, or with more than one
// "=", has no name.
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

// before reports whether c is preferred to o: it has a higher quality, or o has a wildcard where c
// has none.
func (c *clause) before(o *clause) bool {
	return c.quality > o.quality || (c.typ != "*" && o.typ == "*") || (c.sub != "*" && o.sub == "*")
}

// matches reports whether the media range of the clause includes the media type of t.
func (c *clause) matches(t Type) bool {
	if c.typ == "*" {
		return c.sub == "*"
	}
	typ, sub, _ := strings.Cut(typeNames[t], "/")
	return c.typ == typ && (c.sub == sub || c.sub == "*")
}

// media returns the form that the clause asks for, in encoding t. It reports false if the endpoint
// cannot serve the clause: an unknown transformation, for instance, makes the whole clause
// unusable.
func (c *clause) media(t Type, offer Offer) (Media, bool) {
	m, convert, stream, server := c.read(t)
	if offer&OfferDiscovery != 0 {
		return m, (stream == "" || stream == "watch") && server == "" &&
			m.As == AsDiscovery && m.Group == "apidiscovery.k8s.io" && m.Version == "v2"
	}
	// Endpoints other than watches accept the parameter and ignore it.
	m.Stream = stream == "watch" && offer&OfferWatch != 0
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

// read reads the parameters of the clause. Of a repeated parameter the last one counts, and unknown
// parameters are ignored. convert reports whether the clause asks for a transformation. server is
// the value of "sv", the version of the server's own kinds.
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

// drops reports whether target is among the targets of a parameter "drop=". Unknown targets are
// ignored.
func drops(targets, target string) bool {
	for one := range strings.SplitSeq(targets, "+") {
		if strings.Trim(one, " ") == target {
			return true
		}
	}
	return false
}

// BodyType returns the encoding that a Content-Type names; an empty Content-Type means JSON. The
// error is a *meta.StatusError with code 415.
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

// MediaType returns a Content-Type without its parameters, or "" if it is malformed or longer than
// maxContentType bytes.
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

// UnsupportedBody returns the 415 for a body whose media type is not among the accepted ones.
func UnsupportedBody(accepted ...string) *meta.StatusError {
	return &meta.StatusError{Status: meta.Status{
		Status: "Failure",
		Code:   http.StatusUnsupportedMediaType,
		Reason: "UnsupportedMediaType",
		Message: "the body of the request was in an unknown format - accepted media types include: " +
			strings.Join(accepted, ", "),
	}}
}

// Pretty reports whether a request wants indented JSON. The query parameter "pretty" decides if it
// is there; otherwise the user agent does: curl, Wget and browsers get indented JSON.
func Pretty(param, userAgent string) bool {
	if param != "" {
		pretty, _ := strconv.ParseBool(param)
		return pretty
	}
	return strings.HasPrefix(userAgent, "curl") || strings.HasPrefix(userAgent, "Wget") ||
		strings.HasPrefix(userAgent, "Mozilla/5.0")
}
