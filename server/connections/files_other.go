//go:build !unix

package connections

import "math"

// maxFiles returns the number of file descriptors that the process may have: this system has no
// limit that could be asked for.
func maxFiles() uint64 { return math.MaxUint64 }
