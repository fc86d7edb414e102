package apply

import "github.com/coracle-project/coracle/scheme/schema"

// Check says what keeps a tree from being merged by a schema: fields that it does not know, values of the wrong type, elements
// of lists without what identifies them, and unless repeats is set also such that repeat others.
func Check(tree any, s *schema.Schema, repeats bool) error { panic("not written yet") }
