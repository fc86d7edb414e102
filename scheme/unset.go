package scheme

// SetDefault sets *p to v if it is empty. Like SetPointer it is for functions given to AddDefaulting.
func SetDefault[T comparable](p *T, v T) {
	var zero T
	if *p == zero {
		*p = v
	}
}

// SetPointer makes *p point to v if it is nil.
func SetPointer[T any](p **T, v T) {
	if *p == nil {
		made := v // v itself would be allocated even where it is not needed
		*p = &made
	}
}

// OrZero is the value that a field stands for which may be unset: what p points to, or the zero value if it is nil.
func OrZero[T any](p *T) T {
	if p == nil {
		var zero T
		return zero
	}
	return *p
}
