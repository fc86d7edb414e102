//go:build !unix

package file

import "os"

// lockFile does nothing where there is no flock: two processes over one folder are not kept apart.
func lockFile(*os.Root, string) (unlock func() error, err error) {
	return func() error { return nil }, nil
}
