package server_test

import (
	"testing"
	"time"

	"github.com/coracle-project/coracle/server"
	"github.com/coracle-project/coracle/server/servertest"
	"github.com/coracle-project/coracle/server/servertest/quaytest"
)

const definitions = quaytest.Definitions

// quay is a harbor with the methods of a quaytest.Quay, for tests that use both.
type quay struct {
	*harbor
	group string
}

func newQuay(t testing.TB, config ...server.Config) *quay {
	return &quay{&harbor{servertest.Start(t, config...), t}, "quay.example.com"}
}

func twoQuays(t testing.TB, late time.Duration) (near, far *quay, there *quaytest.DelayedStore) {
	one, other, there := quaytest.Two(t, late)
	return &quay{&harbor{one.Server, t}, one.Group}, &quay{&harbor{other.Server, t}, other.Group}, there
}

func (q *quay) quay() *quaytest.Quay { return &quaytest.Quay{Caller: q.caller(), Group: q.group} }

func (q *quay) path(plural, version string) string { return q.quay().Path(plural, version) }

func (q *quay) define(plural, kind string, versions ...string) {
	q.t.Helper()
	q.quay().Define(plural, kind, versions...)
}

func (q *quay) change(patch string) {
	q.t.Helper()
	q.quay().Change(patch)
}

func (q *quay) gone(path string) {
	q.t.Helper()
	q.quay().Gone(path)
}

func version(name string, stored bool) string { return quaytest.Version(name, stored) }
