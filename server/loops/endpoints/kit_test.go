package endpoints_test

import (
	"testing"

	"github.com/coracle-project/coracle/server"
	"github.com/coracle-project/coracle/server/servertest/looptest"
)

// world is a server with helpers for the tests of this package.
type world struct{ *looptest.World }

// start runs a server until the end of the test.
func start(t testing.TB, cfg server.Config) *world {
	t.Helper()
	return &world{looptest.Start(t, cfg)}
}
