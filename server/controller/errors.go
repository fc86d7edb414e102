package controller

import "github.com/coracle-project/coracle/scheme/meta"

// Errors of requests that mean nothing to a loop.

// IgnoreNotFound drops the error that says that something is gone.
func IgnoreNotFound(err error) error {
	if meta.IsNotFound(err) {
		return nil
	}
	return err
}

// NamespaceEnds reports whether something could not be made because its namespace is gone, or is
// going.
func NamespaceEnds(err error) bool {
	if meta.IsNotFound(err) {
		return true
	}
	if status := meta.StatusOf(err); status != nil && status.Details != nil {
		for _, cause := range status.Details.Causes {
			if cause.Type == "NamespaceTerminating" {
				return true
			}
		}
	}
	return false
}

// IgnoreOvertaken returns nil if a write failed because another client changed, deleted or created
// the object first. The loop sees that change through its watch and works on the object again.
func IgnoreOvertaken(err error) error {
	if meta.IsNotFound(err) || meta.IsConflict(err) || meta.IsAlreadyExists(err) {
		return nil
	}
	return err
}
