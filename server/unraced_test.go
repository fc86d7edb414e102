//go:build !race

package server_test

// ifRaced returns the ceiling without the race detector. The other one is higher, because with the
// race detector pools drop some of their objects.
func ifRaced(ceiling, _ float64) float64 { return ceiling }
