//go:build !unix

package file

import "os"

// lockFile does nothing on systems without flock: nothing keeps two processes from using one
// folder.
func lockFile(*os.Root, string) (unlock func() error, err error) {
	return func() error { return nil }, nil
}
