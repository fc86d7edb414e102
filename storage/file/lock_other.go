//go:build !unix

package file

// lockFile does nothing where there is no flock: two processes over one folder are not kept apart.
func lockFile(string) (unlock func() error, err error) { return func() error { return nil }, nil }

func isNotDir(error) bool { return false }
