package controller

import "github.com/coracle-project/coracle/scheme/meta"

// This file recognizes the errors that a loop expects because other clients change objects at the
// same time.

// IgnoreNotFound returns nil if err says that an object does not exist, else err. A loop uses it
// when it deletes an object or works on one that may be gone.
func IgnoreNotFound(err error) error {
	if meta.IsNotFound(err) {
		return nil
	}
	return err
}

// IsNamespaceEnding reports whether an object could not be created because its namespace has been
// deleted or is terminating.
func IsNamespaceEnding(err error) bool {
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

// IgnoreLostRace returns nil if a write failed because another client changed, deleted or created
// the object first. The loop sees that change through its watch and works on the object again.
func IgnoreLostRace(err error) error {
	if meta.IsNotFound(err) || meta.IsConflict(err) || meta.IsAlreadyExists(err) {
		return nil
	}
	return err
}
