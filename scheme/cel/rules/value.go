package rules

import (
	"encoding/base64"
	"time"

	"github.com/google/cel-go/common/types"
	"github.com/google/cel-go/common/types/ref"

	"github.com/coracle-project/coracle/scheme/schema"
)

// value returns the CEL value of a tree. Nothing is converted before an expression reads it. A tree
// that does not have the type of the schema is an error value; only objects that were stored under
// an older schema contain such a tree, because validation by the schema comes first.
func (sh *shape) value(tree any) ref.Val {
	if tree == nil {
		if sh.schema.Nullable {
			return types.NullValue
		}
		return types.NewErr("invalid data, got null for schema with nullable=false")
	}
	switch sh.form {
	case intOrString:
		switch v := tree.(type) {
		case string:
			return types.String(v)
		case int64:
			return types.Int(v)
		}
		return types.NewErr("invalid data, expected XIntOrString value to be either a string or integer")
	case object, entries:
		if v, ok := tree.(map[string]any); ok {
			return &objectValue{sh, v}
		}
		return types.NewErr("invalid data, expected a map for the provided schema with type=object")
	case list:
		return sh.listValue(tree)
	case text, bytes, duration, date, datetime:
		if v, ok := tree.(string); ok {
			return sh.textValue(v)
		}
		return types.NewErr("invalid data, expected string, got %T", tree)
	case double:
		switch v := tree.(type) {
		case int64:
			return types.Double(v)
		case float64:
			return types.Double(v)
		}
		return types.NewErr("invalid data, expected float, got %T", tree)
	case integer:
		if v, ok := tree.(int64); ok {
			return types.Int(v)
		}
		return types.NewErr("invalid data, expected int, got %T", tree)
	case boolean:
		if v, ok := tree.(bool); ok {
			return types.Bool(v)
		}
		return types.NewErr("invalid data, expected bool, got %T", tree)
	case preserved:
		return &preservedValue{tree}
	}
	return types.NewErr("invalid type, expected object, array, number, integer, boolean or string, or no type with "+
		"x-kubernetes-int-or-string or x-kubernetes-preserve-unknown-fields is true, got %s", sh.schema.Type)
}

// textValue returns the CEL value of a string by its format.
func (sh *shape) textValue(v string) ref.Val {
	switch sh.form {
	case duration:
		d, err := schema.ParseDuration(v)
		if err != nil {
			return types.NewErr("Invalid duration %s: %v", v, err)
		}
		return types.Duration{Duration: d}
	case date:
		t, err := time.Parse(time.DateOnly, v)
		if err != nil {
			return types.NewErr("Invalid date formatted string %s: %v", v, err)
		}
		return types.Timestamp{Time: t}
	case datetime:
		t, err := parseDateTime(v)
		if err != nil {
			return types.NewErr("Invalid date-time formatted string %s: %v", v, err)
		}
		return types.Timestamp{Time: t}
	case bytes:
		// Kubernetes validates byte strings as standard base64 but decodes them here as URL-safe
		// base64.
		data, err := base64.URLEncoding.DecodeString(v)
		if err != nil {
			return types.NewErr("Invalid byte formatted string %s: %v", v, err)
		}
		return types.Bytes(data)
	}
	return types.String(v)
}

// parseDateTime parses a time. The empty string is the epoch, and the time zone may be missing,
// which means UTC.
func parseDateTime(v string) (t time.Time, err error) {
	if v == "" {
		return time.Unix(0, 0).UTC(), nil
	}
	if t, err = time.Parse(time.RFC3339, v); err != nil {
		t, err = time.Parse("2006-01-02T15:04:05", v)
	}
	return t, err
}

// preservedValue is a value without a schema (x-kubernetes-preserve-unknown-fields). Expressions
// cannot read it, but it counts when they compare a value that contains it.
type preservedValue struct{ tree any }
