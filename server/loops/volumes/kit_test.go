package volumes_test

import (
	"testing"

	"github.com/coracle-project/coracle/server/servertest/looptest"
)

// fakeWorld is a server in fake time with helpers for claims and volumes.
type fakeWorld struct{ *looptest.Fake }

// inFakeTime runs f with a server that works in fake time, and has no controllers.
func inFakeTime(t *testing.T, f func(t *testing.T, w *fakeWorld)) {
	looptest.InFakeTime(t, func(t *testing.T, w *looptest.Fake) { f(t, &fakeWorld{Fake: w}) })
}
