//go:build !unix

package connections

import "math"

// maxFiles returns the number of file descriptors that the process may open. This system does not
// tell its limit.
func maxFiles() uint64 { return math.MaxUint64 }
