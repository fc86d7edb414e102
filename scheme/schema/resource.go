package schema

import (
	"encoding/json"
	"errors"
	"strings"

	"github.com/coracle-project/coracle/scheme/field"
	"github.com/coracle-project/coracle/scheme/jsontext"
	"github.com/coracle-project/coracle/scheme/meta"
	"github.com/coracle-project/coracle/scheme/names"
)

// isHead reports whether a field is one that every resource has.
func isHead(name string) bool { return name == "apiVersion" || name == "kind" || name == "metadata" }

// resource judges what an embedded resource has because it is one. That holds even if nothing changed.
func (c *checker) resource(v map[string]any) {
	at := c.at()
	report := func(errs ...*field.Error) {
		for _, err := range errs {
			if c.full() {
				return
			}
			c.always = append(c.always, err)
		}
	}
	for _, name := range []string{"apiVersion", "kind"} {
		text, isString := v[name].(string)
		switch held, ok := v[name]; {
		case !ok || isString && text == "":
			report(field.Required(at.Child(name), ""))
		case !isString:
			report(field.Invalid(at.Child(name), held, "must be a string"))
		case name == "apiVersion":
			if _, ok := meta.ParseGroupVersion(text); !ok {
				report(field.Invalid(at.Child(name), text, "unexpected GroupVersion string: "+text))
			}
		default:
			if msgs := names.IsDNS1035Label(strings.ToLower(text)); len(msgs) > 0 {
				report(field.Invalid(at.Child(name), text,
					"may have mixed case, but should otherwise match: "+strings.Join(msgs, ",")))
			}
		}
	}
	held, ok := v["metadata"]
	if !ok {
		return
	}
	head, err := readMeta(held)
	if err != nil {
		report(field.Invalid(at.Child("metadata"), held, err.Error()))
		return
	}
	if head.Name == "" {
		head.Name = "unnamed" // an embedded resource need not have one
	}
	report(meta.ValidateObjectMeta(head, head.Namespace != "", names.PathSegmentName, at.Child("metadata"))...)
}

// readMeta reads metadata from a tree.
func readMeta(v any) (*meta.ObjectMeta, error) {
	if _, ok := v.(map[string]any); !ok && v != nil {
		return nil, errors.New("must be an object")
	}
	data, err := jsontext.AppendTree(nil, v, jsontext.HTML)
	if err != nil {
		return nil, err
	}
	var head meta.ObjectMeta
	return &head, json.Unmarshal(data, &head)
}
