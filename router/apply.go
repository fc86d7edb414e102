package router

import (
	"context"
	"fmt"

	"github.com/coracle-project/coracle/router/request"
	"github.com/coracle-project/coracle/scheme/codec"
	"github.com/coracle-project/coracle/scheme/jsontext"
	"github.com/coracle-project/coracle/scheme/meta"
	"github.com/coracle-project/coracle/scheme/meter"
)

// applied makes of the body of an apply what the registry is told.
func (e *endpoint) applied(ctx context.Context, info *request.Info, body []byte, opts *meta.PatchOptions) (*request.Apply, error) {
	config, repeated, err := readConfig(body, opts.FieldValidation != validateIgnore, meter.For(ctx, len(body)))
	if err != nil {
		return nil, err
	}
	return &request.Apply{
		Config: config, Force: opts.Force != nil && *opts.Force,
		Check: func(m *meta.ObjectMeta, exists bool) error {
			if repeated != "" {
				if opts.FieldValidation == validateStrict {
					return meta.NewBadRequest("error strict decoding YAML: error converting YAML to JSON: " + repeated)
				}
				for _, w := range codec.Warnings([]string{repeated}) {
					info.Warn(w)
				}
			}
			if !exists && m.UID != "" {
				return meta.NewConflict(e.gr, info.Name, fmt.Errorf(
					"uid mismatch: the provided object specified uid %s, and no existing object was found", meta.Excerpt(string(m.UID))))
			}
			if err := e.checkNamespace(m, info); err != nil {
				return err
			}
			return checkName(m, info)
		},
	}, nil
}

// readConfig reads what is applied: YAML, or the JSON that is the same in less time. repeated is what is wrong if keys repeat, which
// is looked for if strict is set.
func readConfig(body []byte, strict bool, m *meter.Meter) (config map[string]any, repeated string, err error) {
	s := jsontext.NewScanner(body, true, m) // nobody changes the body
	s.Unique = strict
	if s.Next() == '{' {
		if tree, err := s.Document(); err == nil && codec.IsPlainYAML(body) {
			return tree.(map[string]any), "", nil
		}
	}
	data, repeated, err := codec.YAMLToJSON(body, strict, m)
	if over := m.Err(); over != nil {
		return nil, "", over
	}
	if err != nil {
		return nil, "", meta.NewBadRequest("error decoding YAML: error converting YAML to JSON: " + meta.Excerpt(err.Error()))
	}
	tree, err := jsontext.Decode(data, m)
	if over := m.Err(); over != nil {
		return nil, "", over
	}
	if err != nil {
		return nil, "", meta.NewBadRequest("error decoding YAML: error unmarshaling JSON: while decoding JSON: " + meta.Excerpt(err.Error()))
	}
	switch tree := tree.(type) {
	case map[string]any:
		return tree, repeated, nil
	case nil:
		return nil, repeated, nil
	}
	return nil, "", meta.NewBadRequest("error decoding YAML: error unmarshaling JSON: while decoding JSON: json: cannot unmarshal " +
		sortOf(tree) + " into Go value of type map[string]interface {}")
}

// sortOf is what encoding/json calls a value.
func sortOf(tree any) string {
	switch tree.(type) {
	case string:
		return "string"
	case bool:
		return "bool"
	case []any:
		return "array"
	}
	return "number"
}
