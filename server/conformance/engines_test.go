//go:build !race

package conformance

import "testing"

// TestEngines runs the tests of this package on the engines after the first. The tests with the
// names of its subtests run on the first.
func TestEngines(t *testing.T) {
	for name, play := range map[string]func(*testing.T, []engine){"Scenarios": playScenarios, "Errors": playErrors, "TooLarge": storeTooLarge, "Follow": follows} {
		t.Run(name, func(t *testing.T) { play(t, engines[1:]) })
	}
}
