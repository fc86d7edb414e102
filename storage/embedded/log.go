package embedded

import (
	"sync/atomic"

	"go.uber.org/zap"
	"go.uber.org/zap/zapcore"
)

// quiet passes on the server's warnings and errors, apart from those that mean nothing here.
type quiet struct {
	zapcore.Core
	// closing drops everything: the server warns about whatever its own end interrupts.
	closing *atomic.Bool
}

// expected are messages of an ordinary life. The server looks for data that it has yet to write; finds its quota larger than
// ours by the margin that is never used (make.go); makes itself known to the cluster, which it tries without a pause while
// it refuses all requests, because the log is far ahead of what has been applied (until it has succeeded start waits, or
// says why it does not, so that nothing is hidden); and looks for segments of the log to delete while it still needs them.
var expected = map[string]bool{
	"quota exceeds the maximum value":  true,
	"Failed to detect schema version":  true,
	"failed to update storage version": true, // done again some seconds later
	"failed to lock file":              true,

	"failed to publish local member to cluster through raft": true,
	"stopped publish because server is stopping":             true,
}

// newLogger returns a logger for the server over log, which may be nil.
func newLogger(log *zap.Logger, closing *atomic.Bool) *zap.Logger {
	if log == nil {
		log = zap.NewNop()
	}
	return log.WithOptions(zap.WrapCore(func(c zapcore.Core) zapcore.Core { return quiet{c, closing} }))
}

// Enabled implements zapcore.Core.
func (q quiet) Enabled(l zapcore.Level) bool { return l >= zapcore.WarnLevel && q.Core.Enabled(l) }

// With implements zapcore.Core.
func (q quiet) With(fields []zapcore.Field) zapcore.Core {
	return quiet{q.Core.With(fields), q.closing}
}

// Check implements zapcore.Core.
func (q quiet) Check(e zapcore.Entry, c *zapcore.CheckedEntry) *zapcore.CheckedEntry {
	if e.Level < zapcore.WarnLevel || expected[e.Message] || q.closing.Load() {
		return c
	}
	return q.Core.Check(e, c)
}
