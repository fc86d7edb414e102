//go:build !unix

package connections

import "math"

// maxFiles is how many descriptors the process may have: there is no limit to ask for.
func maxFiles() uint64 { return math.MaxUint64 }
