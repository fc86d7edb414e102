package controller

import "github.com/coracle-project/coracle/scheme/meta"

// What of the errors of requests is none to a controller.

// ignoreNotFound drops the error that says that something is gone.
func ignoreNotFound(err error) error {
	if meta.IsNotFound(err) {
		return nil
	}
	return err
}

// namespaceEnds reports whether something could not be made because its namespace is gone, or is going.
func namespaceEnds(err error) bool {
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

// ignoreOvertaken drops the error of a write that somebody else came before: whoever watches is told of that, too.
func ignoreOvertaken(err error) error {
	if meta.IsNotFound(err) || meta.IsConflict(err) || meta.IsAlreadyExists(err) {
		return nil
	}
	return err
}
