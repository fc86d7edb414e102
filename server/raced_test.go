//go:build race

package server_test

// ifRaced returns the ceiling for the race detector, with which pools drop some of their objects.
func ifRaced(_, raced float64) float64 { return raced }
