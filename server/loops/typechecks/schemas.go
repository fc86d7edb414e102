package typechecks

import (
	"encoding/json"
	"strings"

	"github.com/coracle-project/coracle/scheme/schema"
)

// This file reads the schemas of OpenAPI documents, but only the parts that say which type a value
// has.

// reader makes the schema of a kind from the models of a document, with references inlined.
type reader struct {
	models map[string]json.RawMessage
	within map[string]bool // the models that are being read
	nodes  int             // read so far
}

// maxNodes bounds the schema of a kind. Without it, a short document of a server behind this one
// could name a model in two fields of another model, that one in two of a third, and so on.
const maxNodes = 100_000

// node is a schema in a document.
type node struct {
	Ref                  string                     `json:"$ref"`
	AllOf                []node                     `json:"allOf"`
	Type                 string                     `json:"type"`
	Format               string                     `json:"format"`
	Properties           map[string]json.RawMessage `json:"properties"`
	Items                json.RawMessage            `json:"items"`
	AdditionalProperties json.RawMessage            `json:"additionalProperties"`
	IntOrString          bool                       `json:"x-kubernetes-int-or-string"`
	EmbeddedResource     bool                       `json:"x-kubernetes-embedded-resource"`
}

// ref returns the name of the model that the node refers to, or "". A reference with a description
// of its own stands in allOf.
func (n *node) ref() string {
	if n.Ref != "" {
		return n.Ref[strings.LastIndexByte(n.Ref, '/')+1:]
	}
	for i := range n.AllOf {
		if name := n.AllOf[i].ref(); name != "" {
			return name
		}
	}
	return ""
}

// read returns the schema in data. It is nil if expressions cannot name its values: their type, or
// that of their elements or entries, is unknown. ok is false if data, or a model in it, cannot be
// read, or if the schema is too large.
func (r *reader) read(data json.RawMessage) (s *schema.Schema, ok bool) {
	var n node
	if r.nodes++; r.nodes > maxNodes || json.Unmarshal(data, &n) != nil {
		return nil, false
	}
	if name := n.ref(); name != "" {
		model, known := r.models[name]
		switch {
		case r.within[name]:
			return &schema.Schema{Type: schema.Object}, true // a model that contains itself is cut off
		case !known:
			return nil, false
		}
		r.within[name] = true
		defer delete(r.within, name)
		return r.read(model)
	}
	s = &schema.Schema{
		Type: n.Type, Format: n.Format, EmbeddedResource: n.EmbeddedResource,
		IntOrString: n.IntOrString || n.Format == "int-or-string",
	}
	switch {
	case s.IntOrString:
		return s, true
	case n.Type == "":
		return nil, true
	case n.Type == schema.Array:
		if n.Items != nil {
			s.Items, ok = r.read(n.Items)
		}
		if s.Items == nil {
			return nil, ok
		}
		return s, true
	case n.Type == schema.Object:
		return r.object(s, &n)
	}
	return s, true
}

// object completes the schema of an object or a map.
func (r *reader) object(s *schema.Schema, n *node) (*schema.Schema, bool) {
	if more := n.AdditionalProperties; more != nil && more[0] == '{' {
		entries, ok := r.read(more)
		if entries == nil {
			return nil, ok
		}
		s.AdditionalProperties = entries
	}
	s.Properties = make(map[string]*schema.Schema, len(n.Properties))
	for name, data := range n.Properties {
		p, ok := r.read(data)
		if !ok {
			return nil, false
		}
		if p != nil {
			s.Properties[name] = p
		}
	}
	return s, true
}
