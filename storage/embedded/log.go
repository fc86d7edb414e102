package embedded

import (
	"sync/atomic"

	"go.uber.org/zap"
	"go.uber.org/zap/zapcore"
)

// quiet passes on only the warnings and errors of etcd's storage.
type quiet struct {
	zapcore.Core
	// closing drops everything else, too: a compaction warns that Close has interrupted it.
	closing *atomic.Bool
}

// newLogger returns a logger for the member over log, which may be nil.
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
	if e.Level < zapcore.WarnLevel || q.closing.Load() {
		return c
	}
	return q.Core.Check(e, c)
}
