package apply

import "github.com/coracle-project/coracle/scheme/schema"

// Merge returns what live becomes when config, which lists what somebody wants, is put into it.
func Merge(live, config any, s *schema.Schema) (any, error) { panic("not written yet") }
