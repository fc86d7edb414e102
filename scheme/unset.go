package scheme

// SetDefault sets *p to v if *p is the zero value. It is meant for functions of AddDefaulting.
func SetDefault[T comparable](p *T, v T) {
	var zero T
	if *p == zero {
		*p = v
	}
}

// SetPointer makes *p point to a copy of v if *p is nil. It is meant for functions of
// AddDefaulting.
func SetPointer[T any](p **T, v T) {
	if *p == nil {
		made := v // a pointer to v itself would allocate even if *p is set
		*p = &made
	}
}

// OrZero returns the value that p points to, or the zero value if p is nil.
func OrZero[T any](p *T) T {
	if p == nil {
		var zero T
		return zero
	}
	return *p
}
