package controller_test

import (
	"sync"
	"testing"

	"github.com/coracle-project/coracle/server/servertest/looptest"
)

// fakeWorld is a server in fake time, and a log of what happens.
type fakeWorld struct {
	*looptest.Fake

	mu  sync.Mutex
	log []string
}

// inFakeTime runs f with a server that works in fake time, and has no controllers.
func inFakeTime(t *testing.T, f func(t *testing.T, w *fakeWorld)) {
	looptest.InFakeTime(t, func(t *testing.T, w *looptest.Fake) { f(t, &fakeWorld{Fake: w}) })
}
