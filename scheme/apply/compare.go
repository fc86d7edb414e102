package apply

import "github.com/coracle-project/coracle/scheme/schema"

// Changes are the fields in which one tree differs from another.
type Changes struct{ Added, Modified, Removed *Set }

// Compare returns what was changed from one tree to the other.
func Compare(from, to any, s *schema.Schema) (Changes, error) { panic("not written yet") }
