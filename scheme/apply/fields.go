package apply

import "github.com/coracle-project/coracle/scheme/schema"

// FieldsOf returns the fields that a tree has.
func FieldsOf(tree any, s *schema.Schema) (*Set, error) { panic("not written yet") }
