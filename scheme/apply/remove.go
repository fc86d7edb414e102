package apply

import "github.com/coracle-project/coracle/scheme/schema"

// Remove returns tree without the fields of a set.
func Remove(tree any, fields *Set, s *schema.Schema) any { panic("not written yet") }

// Extract returns what of tree is in a set.
func Extract(tree any, fields *Set, s *schema.Schema) any { panic("not written yet") }
