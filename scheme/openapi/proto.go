package openapi

import (
	"math"
	"strings"

	"google.golang.org/protobuf/encoding/protowire"

	"github.com/coracle-project/coracle/scheme/jsontext"
	"github.com/coracle-project/coracle/scheme/schema"
)

// message writes a message of openapi.v2, the protobuf form of Swagger 2.0. It is written field by field: the numbers
// are those of that package's definition, named where they are used.
type message struct {
	b []byte
}

func (m *message) str(field protowire.Number, value string) {
	if value != "" {
		m.b = protowire.AppendTag(m.b, field, protowire.BytesType)
		m.b = protowire.AppendString(m.b, value)
	}
}

func (m *message) strs(field protowire.Number, values []string) {
	for _, v := range values {
		m.b = protowire.AppendTag(m.b, field, protowire.BytesType)
		m.b = protowire.AppendString(m.b, v)
	}
}

func (m *message) boolean(field protowire.Number, value bool) {
	if value {
		m.b = protowire.AppendTag(m.b, field, protowire.VarintType)
		m.b = protowire.AppendVarint(m.b, 1)
	}
}

// sub writes a nested message, also an empty one. Its length is filled in behind it.
func (m *message) sub(field protowire.Number, fill func()) {
	m.b = protowire.AppendTag(m.b, field, protowire.BytesType)
	start := len(m.b)
	fill()
	size := len(m.b) - start
	var length [10]byte
	prefix := protowire.AppendVarint(length[:0], uint64(size))
	m.b = append(m.b, prefix...)
	copy(m.b[start+len(prefix):], m.b[start:start+size])
	copy(m.b[start:], prefix)
}

// named writes an entry of the maps of openapi.v2: a message with name 1 and value 2.
func (m *message) named(field protowire.Number, name string, fill func()) {
	m.sub(field, func() {
		m.str(1, name)
		m.sub(2, fill)
	})
}

// writeV2Proto writes what was collected as an openapi.v2.Document.
func (b *builder) writeV2Proto(info Info) []byte {
	var m message
	m.str(1, "2.0")
	m.sub(2, func() {
		m.str(1, info.title())
		m.str(2, info.version())
	})
	items := b.finish()
	shared := sharedParameters(items)
	m.sub(8, func() { // paths
		for _, item := range items {
			m.named(2, item.path, func() { m.path(item, shared) })
		}
	})
	m.sub(9, func() { // definitions
		for _, s := range b.sortedModels() {
			m.named(1, s.Name, func() { m.schema(s) })
		}
	})
	m.sub(10, func() { // parameters
		for _, key := range jsontext.Keys(shared) {
			m.named(1, key, func() { m.parameter(shared[key]) })
		}
	})
	m.sub(12, func() { m.named(1, "BearerToken", func() {}) }) // security
	m.sub(13, func() {                                         // securityDefinitions
		m.named(1, "BearerToken", func() {
			m.sub(2, func() { // apiKeySecurity
				m.str(1, "apiKey")
				m.str(2, "authorization")
				m.str(3, "header")
				m.str(4, tokenDescription)
			})
		})
	})
	return m.b
}

var methodFields = map[string]protowire.Number{"get": 2, "put": 3, "post": 4, "delete": 5, "options": 6, "head": 7, "patch": 8}

func (m *message) path(item *pathItem, shared map[string]parameter) {
	for i := range item.operations {
		op := &item.operations[i]
		m.sub(methodFields[op.method], func() { m.operation(op, shared) })
	}
	m.parameters(9, item.parameters, shared)
}

func (m *message) operation(op *operation, shared map[string]parameter) {
	m.strs(1, []string{op.tag})
	m.str(3, op.description)
	m.str(5, op.id)
	m.strs(6, op.produces)
	m.strs(7, op.consumes)
	if op.body != nil {
		m.sub(8, func() { // parametersItem: parameter: bodyParameter
			m.sub(1, func() {
				m.sub(1, func() {
					m.str(2, "body")
					m.str(3, "body")
					m.boolean(4, !op.optional)
					m.sub(5, func() { m.str(1, v2Models+op.body.Name) })
				})
			})
		})
	}
	m.parameters(8, op.parameters, shared)
	m.sub(9, func() { // responses
		for _, a := range op.answers {
			m.named(1, a.code, func() { m.sub(1, func() { m.answer(a) }) })
		}
	})
	m.strs(10, []string{"https"})
	if op.action != "" {
		m.extension(13, "x-kubernetes-action", op.action+"\n")
		m.extension(13, "x-kubernetes-group-version-kind", kindYAML(op.kind.Group, op.kind.Kind, op.kind.Version, ""))
	}
}

func (m *message) answer(a answer) {
	m.str(1, a.text)
	if a.code == "401" {
		return
	}
	m.sub(2, func() { // schemaItem: schema
		m.sub(1, func() {
			if a.model != nil {
				m.str(1, v2Models+a.model.Name)
			} else {
				m.sub(22, func() { m.str(1, schema.String) })
			}
		})
	})
}

func (m *message) parameters(field protowire.Number, parameters []parameter, shared map[string]parameter) {
	for _, p := range parameters {
		m.sub(field, func() {
			if shared[p.name] == p {
				m.sub(2, func() { m.str(1, "#/parameters/"+p.name) }) // jsonReference
			} else {
				m.sub(1, func() { m.parameter(p) })
			}
		})
	}
}

// parameter writes a Parameter: nonBodyParameter, and in it one of the query (3) or of the path (4), whose numbers
// differ because a query parameter may be empty.
func (m *message) parameter(p parameter) {
	m.sub(2, func() {
		kind, typ, unique := protowire.Number(4), protowire.Number(5), protowire.Number(19)
		if p.in == "query" {
			kind, typ, unique = 3, 6, 20
		}
		m.sub(kind, func() {
			m.boolean(1, p.required)
			m.str(2, p.in)
			m.str(3, p.description)
			m.str(4, p.name)
			m.str(typ, p.typ)
			m.boolean(unique, true)
		})
	})
}

func (m *message) schema(s *schema.Schema) {
	if s.Model != nil {
		m.str(1, v2Models+s.Model.Name)
	}
	m.str(2, s.Format)
	m.str(4, s.Description)
	limits := s.Limits
	if limits == nil || s.Go != nil {
		limits = &schema.Limits{}
	}
	m.limits(limits)
	m.strs(19, s.Required)
	for _, v := range s.Enum {
		m.sub(20, func() { m.any(v) })
	}
	switch p := s.AdditionalProperties; {
	case p == nil:
	case saysNothing(p):
		m.sub(21, func() { m.boolean(2, true) })
	default:
		m.sub(21, func() { m.sub(1, func() { m.schema(p) }) })
	}
	if s.Type != "" {
		m.sub(22, func() { m.str(1, s.Type) })
	}
	if s.Items != nil {
		m.sub(23, func() { m.sub(1, func() { m.schema(s.Items) }) })
	}
	if len(s.Properties) > 0 {
		m.sub(25, func() {
			for _, name := range jsontext.Keys(s.Properties) {
				m.named(1, name, func() { m.schema(s.Properties[name]) })
			}
		})
	}
	m.docs(s.Docs)
	m.extensions(s, limits)
}

// any writes a value of any kind; its value is YAML.
func (m *message) any(v any) { m.str(2, string(appendTree(nil, v))+"\n") } // JSON is YAML

// limits writes the limits that version 2 knows. A limit of 0 cannot be told from none.
func (m *message) limits(l *schema.Limits) {
	number := func(field protowire.Number, f *float64) {
		if f != nil && *f != 0 {
			m.b = protowire.AppendTag(m.b, field, protowire.Fixed64Type)
			m.b = protowire.AppendFixed64(m.b, math.Float64bits(*f))
		}
	}
	count := func(field protowire.Number, n *int64) {
		if n != nil && *n != 0 {
			m.b = protowire.AppendTag(m.b, field, protowire.VarintType)
			m.b = protowire.AppendVarint(m.b, uint64(*n))
		}
	}
	number(6, l.MultipleOf)
	number(7, l.Maximum)
	m.boolean(8, l.ExclusiveMaximum)
	number(9, l.Minimum)
	m.boolean(10, l.ExclusiveMinimum)
	count(11, l.MaxLength)
	count(12, l.MinLength)
	if l.Pattern != nil {
		m.str(13, l.Pattern.String())
	}
	count(14, l.MaxItems)
	count(15, l.MinItems)
	m.boolean(16, l.UniqueItems)
	count(17, l.MaxProperties)
	count(18, l.MinProperties)
}

func (m *message) docs(d *schema.Docs) {
	if d == nil {
		return
	}
	m.str(3, d.Title)
	if d.External {
		m.sub(29, func() {
			m.str(1, d.URLDescription)
			m.str(2, d.URL)
		})
	}
	if d.Example != nil {
		m.sub(30, func() { m.any(d.Example) })
	}
}

func (m *message) extensions(s *schema.Schema, limits *schema.Limits) {
	const field = 31
	flag := func(name string, value bool) {
		if value && s.Go == nil {
			m.extension(field, "x-kubernetes-"+name, "true\n")
		}
	}
	flag("embedded-resource", s.EmbeddedResource)
	if len(s.Kinds) > 0 {
		var yaml strings.Builder
		for _, kind := range s.Kinds {
			yaml.WriteString(kindYAML(kind.Group, kind.Kind, kind.Version, "- "))
		}
		m.extension(field, "x-kubernetes-group-version-kind", yaml.String())
	}
	flag("int-or-string", s.IntOrString)
	if len(s.ListKeys) > 0 {
		var w writer
		w.strs("", s.ListKeys)
		m.extension(field, "x-kubernetes-list-map-keys", string(w.b)+"\n") // JSON is YAML
	}
	for _, e := range [][2]string{{"list-type", s.ListType}, {"map-type", s.MapType}, {"patch-merge-key", s.PatchMergeKey}, {"patch-strategy", s.PatchStrategy}} {
		if e[1] != "" {
			m.extension(field, "x-kubernetes-"+e[0], string(jsontext.AppendString(nil, e[1], jsontext.HTML))+"\n")
		}
	}
	flag("preserve-unknown-fields", s.PreserveUnknown)
	if len(limits.Rules) > 0 {
		var w writer
		w.rules("", limits.Rules)
		m.extension(field, "x-kubernetes-validations", string(w.b)+"\n")
	}
}

// extension writes a vendor extension; its value is YAML.
func (m *message) extension(field protowire.Number, name, yaml string) {
	m.named(field, name, func() { m.str(2, yaml) })
}

// kindYAML writes a kind as YAML, with item before its first key.
func kindYAML(group, kind, version, item string) string {
	indent := strings.Repeat(" ", len(item))
	return item + "group: " + string(jsontext.AppendString(nil, group, jsontext.HTML)) + "\n" + indent + "kind: " + kind + "\n" + indent + "version: " + version + "\n"
}
