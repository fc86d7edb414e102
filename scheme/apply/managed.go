package apply

import "github.com/coracle-project/coracle/scheme/meta"

// Decodable reports why entries of metadata.managedFields cannot be what somebody owns; nil if they can.
func Decodable(entries []meta.ManagedFieldsEntry) error { panic("not written yet") }
