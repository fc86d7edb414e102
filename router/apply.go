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

// readApply makes the request.Apply of a server-side apply from its body and options.
func (e *endpoint) readApply(
	ctx context.Context, info *request.Info, body []byte, opts *meta.PatchOptions,
) (*request.Apply, error) {
	config, repeated, err := readConfig(body, opts.FieldValidation != validateIgnore, meter.ForSize(ctx, len(body)))
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
					"uid mismatch: the provided object specified uid %s, and no existing object was found",
					meta.Excerpt(string(m.UID))))
			}
			if err := e.checkNamespace(m, info); err != nil {
				return err
			}
			return checkName(m, info)
		},
	}, nil
}

// readConfig reads an applied configuration, which is YAML. JSON is a subset of YAML and is parsed
// directly when that gives the same tree (codec.IsPlainYAML), because it is faster. If strict is
// set, repeated tells about keys that occur twice.
func readConfig(body []byte, strict bool, m *meter.Meter) (config map[string]any, repeated string, err error) {
	s := jsontext.NewScanner(body, true, m) // true: strings may share the body, which is never changed
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
		return nil, "", meta.NewBadRequest(
			"error decoding YAML: error converting YAML to JSON: " + meta.Excerpt(err.Error()),
		)
	}
	tree, err := jsontext.Decode(data, m)
	if over := m.Err(); over != nil {
		return nil, "", over
	}
	if err != nil {
		return nil, "", meta.NewBadRequest(
			"error decoding YAML: error unmarshaling JSON: while decoding JSON: " + meta.Excerpt(err.Error()),
		)
	}
	switch tree := tree.(type) {
	case map[string]any:
		return tree, repeated, nil
	case nil:
		return nil, repeated, nil
	}
	return nil, "", meta.NewBadRequest(
		"error decoding YAML: error unmarshaling JSON: while decoding JSON: json: cannot unmarshal " +
			jsonTypeOf(tree) +
			" into Go value of type map[string]interface {}")
}

// jsonTypeOf returns the name that encoding/json uses for the type of a value, for its error
// message.
func jsonTypeOf(tree any) string {
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
