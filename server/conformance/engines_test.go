//go:build !race

package conformance

import "testing"

// TestEngines plays on the other engines what the tests of the same names play on the first.
func TestEngines(t *testing.T) {
	for name, play := range map[string]func(*testing.T, []engine){"Scenarios": playScenarios, "Errors": playErrors, "TooLarge": storeTooLarge, "Follow": follows} {
		t.Run(name, func(t *testing.T) { play(t, engines[1:]) })
	}
}
