package schema

import (
	"encoding/json"
	"errors"
	"strings"

	"github.com/coracle-project/coracle/scheme/field"
	"github.com/coracle-project/coracle/scheme/jsontext"
	"github.com/coracle-project/coracle/scheme/meta"
	"github.com/coracle-project/coracle/scheme/meter"
	"github.com/coracle-project/coracle/scheme/names"
)

// resource.go checks and coerces apiVersion, kind and metadata of embedded resources
// (x-kubernetes-embedded-resource).

// isHead reports whether a field is one that every resource has: apiVersion, kind or metadata.
func isHead(name string) bool { return name == "apiVersion" || name == "kind" || name == "metadata" }

// ValidateResources checks apiVersion, kind and metadata of the resources that are embedded in a
// tree. Once m has ended, the rest is not checked.
func (s *Schema) ValidateResources(m *meter.Meter, path *field.Path, tree any) field.ErrorList {
	return embeddedResources.all(m, path, s, tree)
}

// embeddedResources is the concern of ValidateResources, roughResources that of Coerce, which also
// changes the resources that it visits.
var (
	embeddedResources = concern{holdsResources, func(c *checker, s *Schema, v any) {
		if object, ok := v.(map[string]any); ok && s.EmbeddedResource {
			c.errs = append(c.errs, validateHead(c.bracketed(), object)...)
		}
	}}
	roughResources = concern{holdsResources, func(c *checker, s *Schema, v any) {
		if object, ok := v.(map[string]any); ok && s.EmbeddedResource && len(c.errs) == 0 {
			c.coerceHead(object)
		}
	}}
)

func holdsResources(s *Schema) bool { return s.resources }

// validateHead checks apiVersion, kind and metadata of an embedded resource. at is its path.
func validateHead(at *field.Path, v map[string]any) field.ErrorList {
	var errs field.ErrorList
	for _, name := range []string{"apiVersion", "kind"} {
		text, isString := v[name].(string)
		switch held, ok := v[name]; {
		case !ok:
			errs = append(errs, field.Required(at.Child(name), ""))
		case !isString:
			errs = append(errs, field.Invalid(at.Child(name), held, "must be a string"))
		case text == "":
			errs = append(errs, field.Invalid(at.Child(name), text, "must not be empty"))
		case name == "apiVersion":
			if _, ok := meta.ParseGroupVersion(text); !ok {
				errs = append(errs, field.Invalid(at.Child(name), text, "unexpected GroupVersion string: "+text))
			}
		default:
			if msgs := names.IsDNS1035Label(strings.ToLower(text)); len(msgs) > 0 {
				errs = append(errs, field.Invalid(at.Child(name), text,
					"may have mixed case, but should otherwise match: "+strings.Join(msgs, ",")))
			}
		}
	}
	held, ok := v["metadata"]
	if !ok {
		return errs
	}
	head, err := readMeta(held)
	if err != nil {
		return append(errs, field.Invalid(at.Child("metadata"), held, err.Error()))
	}
	if head.Name == "" {
		head.Name = "unnamed" // an embedded resource need not have one
	}
	return append(errs, meta.ValidateObjectMeta(head, head.Namespace != "", names.PathSegmentName,
		at.Child("metadata"))...)
}

// readMeta decodes metadata from a tree. Its errors are worded as kube-apiserver words them.
func readMeta(v any) (*meta.ObjectMeta, error) {
	if _, ok := v.(map[string]any); !ok && v != nil {
		return nil, errors.New("json: cannot unmarshal " + jsonName(v) + " into Go value of type v1.ObjectMeta")
	}
	data, err := jsontext.AppendTree(nil, v, jsontext.HTML)
	if err != nil {
		return nil, err
	}
	var head meta.ObjectMeta
	err = json.Unmarshal(data, &head)
	if wrong, ok := errors.AsType[*json.UnmarshalTypeError](err); ok {
		err = errors.New(theirTypes.Replace(wrong.Error()))
	}
	return &head, err
}

// theirTypes replaces the Go types in messages of encoding/json by those of kube-apiserver.
var theirTypes = strings.NewReplacer("of type meta.UID", "of type types.UID", "of type []meta.", "of type []v1.",
	"of type meta.", "of type v1.")

// jsonName returns the type of a value as messages of encoding/json call it.
func jsonName(v any) string {
	switch typ := typeOf(v); typ {
	case Integer:
		return Number
	case Boolean:
		return "bool"
	default:
		return typ
	}
}

// Coerce replaces the metadata of each resource that is embedded in a tree by its decoded and
// encoded form, which has no unknown fields and the usual form of times. The error is about the
// first metadata that cannot be decoded. Once m has ended, the rest stays as it is.
func (s *Schema) Coerce(m *meter.Meter, path *field.Path, tree any) *field.Error {
	c := checker{meter: m, path: path}
	if c.walk(&roughResources, s, tree); len(c.errs) == 0 {
		return nil
	}
	return c.errs[0]
}

// coerceHead coerces the metadata of one resource, and reports an apiVersion or kind that is no
// string.
func (c *checker) coerceHead(v map[string]any) {
	for _, name := range []string{"apiVersion", "kind"} {
		if held, ok := v[name]; ok {
			if _, isString := held.(string); !isString {
				c.report(field.Invalid(c.bracketed().Child(name), held, "must be a string"))
				return
			}
		}
	}
	held, ok := v["metadata"]
	if !ok {
		return
	}
	head, err := readMeta(held)
	if err == nil {
		v["metadata"], err = treeOf(head)
	}
	if err != nil {
		c.report(field.Invalid(c.bracketed().Child("metadata"), held, err.Error()))
	}
}

// treeOf returns metadata as a tree, without creationTimestamp if it is zero.
func treeOf(head *meta.ObjectMeta) (any, error) {
	data, err := json.Marshal(head)
	if err != nil {
		return nil, err
	}
	tree, err := jsontext.Decode(data, nil)
	if fields, ok := tree.(map[string]any); ok && head.CreationTimestamp.IsZero() {
		delete(fields, "creationTimestamp")
	}
	return tree, err
}
