package apiextensionsv1

import (
	"encoding/json"
	"errors"

	"github.com/coracle-project/coracle/scheme/typeinfo"
)

// A value that has one of several JSON forms is a typeinfo.Choice: the codec reads and writes the
// chosen form. MarshalJSON and UnmarshalJSON are for encoding/json.

// JSON is any JSON value.
type JSON struct {
	// The value as it was written; null if it is empty.
	Raw []byte `json:"-" pb:"1" check:"optional"`
}

// MarshalJSON writes the value.
func (v JSON) MarshalJSON() ([]byte, error) {
	if len(v.Raw) == 0 {
		return []byte("null"), nil
	}
	return v.Raw, nil
}

// UnmarshalJSON keeps a copy of the value; null leaves v as it is.
func (v *JSON) UnmarshalJSON(data []byte) error {
	if string(data) != "null" {
		v.Raw = append([]byte(nil), data...)
	}
	return nil
}

// JSONSchemaPropsOrArray is a schema or an array of schemas.
type JSONSchemaPropsOrArray struct {
	// The schema.
	Schema *JSONSchemaProps `json:"" pb:"1" check:"optional"`
	// The schemas, which come first if there are any.
	JSONSchemas []JSONSchemaProps `json:"" pb:"2" check:"optional"`
}

// Choose makes room for a schema or an array. A value of another form sets neither.
func (s *JSONSchemaPropsOrArray) Choose(first byte) (any, error) {
	*s = JSONSchemaPropsOrArray{}
	switch first {
	case '{':
		s.Schema = new(JSONSchemaProps)
		return s.Schema, nil
	case '[':
		return &s.JSONSchemas, nil
	}
	return nil, nil
}

// Chosen returns the schema or the array.
func (s *JSONSchemaPropsOrArray) Chosen() any {
	switch {
	case len(s.JSONSchemas) > 0:
		return &s.JSONSchemas
	case s.Schema != nil:
		return s.Schema
	}
	return nil
}

// MarshalJSON writes the schema or the array.
func (s JSONSchemaPropsOrArray) MarshalJSON() ([]byte, error) { return json.Marshal(s.Chosen()) }

// UnmarshalJSON reads a schema or an array.
func (s *JSONSchemaPropsOrArray) UnmarshalJSON(data []byte) error { return unmarshal(s, data) }

// JSONSchemaPropsOrBool is a schema, or says whether values are allowed at all.
type JSONSchemaPropsOrBool struct {
	// Whether values are allowed; true if there is a schema.
	Allows bool `json:"" pb:"1" check:"optional"`
	// The schema.
	Schema *JSONSchemaProps `json:"" pb:"2" check:"optional"`
}

// Choose makes room for a schema or a boolean.
func (s *JSONSchemaPropsOrBool) Choose(first byte) (any, error) {
	switch first {
	case '{':
		*s = JSONSchemaPropsOrBool{Allows: true, Schema: new(JSONSchemaProps)}
		return s.Schema, nil
	case 't', 'f':
		*s = JSONSchemaPropsOrBool{}
		return &s.Allows, nil
	}
	return nil, errors.New("boolean or JSON schema expected")
}

// Chosen returns the schema or the boolean.
func (s *JSONSchemaPropsOrBool) Chosen() any {
	if s.Schema != nil {
		return s.Schema
	}
	return &s.Allows
}

// MarshalJSON writes the schema or the boolean.
func (s JSONSchemaPropsOrBool) MarshalJSON() ([]byte, error) { return json.Marshal(s.Chosen()) }

// UnmarshalJSON reads a schema or a boolean.
func (s *JSONSchemaPropsOrBool) UnmarshalJSON(data []byte) error { return unmarshal(s, data) }

// JSONSchemaPropsOrStringArray is a schema or an array of names of properties.
type JSONSchemaPropsOrStringArray struct {
	// The schema.
	Schema *JSONSchemaProps `json:"" pb:"1" check:"optional"`
	// The names, which come first if there are any.
	Property []string `json:"" pb:"2" check:"optional"`
}

// Choose makes room for a schema or names. A value of another form sets neither.
func (s *JSONSchemaPropsOrStringArray) Choose(first byte) (any, error) {
	*s = JSONSchemaPropsOrStringArray{}
	switch first {
	case '{':
		s.Schema = new(JSONSchemaProps)
		return s.Schema, nil
	case '[':
		return &s.Property, nil
	}
	return nil, nil
}

// Chosen returns the schema or the names.
func (s *JSONSchemaPropsOrStringArray) Chosen() any {
	switch {
	case len(s.Property) > 0:
		return &s.Property
	case s.Schema != nil:
		return s.Schema
	}
	return nil
}

// MarshalJSON writes the schema or the names.
func (s JSONSchemaPropsOrStringArray) MarshalJSON() ([]byte, error) { return json.Marshal(s.Chosen()) }

// UnmarshalJSON reads a schema or names.
func (s *JSONSchemaPropsOrStringArray) UnmarshalJSON(data []byte) error { return unmarshal(s, data) }

// unmarshal reads what c chooses.
func unmarshal(c typeinfo.Choice, data []byte) error {
	var first byte
	if len(data) > 0 {
		first = data[0]
	}
	into, err := c.Choose(first)
	if into == nil {
		return err
	}
	return json.Unmarshal(data, into)
}
