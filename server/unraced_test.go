//go:build !race

package server_test

// ifRaced picks a ceiling: the race detector has pools drop some of what they are given.
func ifRaced(ceiling, _ float64) float64 { return ceiling }
