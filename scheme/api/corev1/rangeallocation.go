package corev1

import "github.com/coracle-project/coracle/scheme/meta"

// RangeAllocation records which numbers of a range are taken. It is no resource: servers that share
// a store keep one there for each range that they allocate from.
type RangeAllocation struct {
	meta.TypeMeta `json:",inline"`
	// Name, labels and what else all objects have.
	meta.ObjectMeta `json:"metadata,omitempty" pb:"1"`
	// The range, such as 30000-32767. What data says holds for this range alone.
	Range string `json:"range" pb:"2"`
	// A number without a sign, highest byte first: each bit is a number of the range, the lowest
	// the first, and set if that is taken.
	Data []byte `json:"data" pb:"3"`
}
