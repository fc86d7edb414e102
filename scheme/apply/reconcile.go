package apply

import "github.com/coracle-project/coracle/scheme/schema"

// Reconcile returns the set as it has to be by a schema that may have changed since it was made: parts of what is atomic by
// now become the whole of it. It returns fields itself if there is nothing to change.
func Reconcile(fields *Set, s *schema.Schema) (*Set, error) { panic("not written yet") }

// withNamed returns the set with the fields of objects, other than entries of maps, that hold some of it.
func (s *Set) withNamed(of *schema.Schema) *Set { panic("not written yet") }
