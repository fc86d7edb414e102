package etcd

import (
	"go.uber.org/zap"
	"go.uber.org/zap/zapcore"
)

// debugOnly logs at the debug level what the client library logs at any level. The library writes a
// line for each failed attempt at each request; the link reports what an operator needs of it.
type debugOnly struct{ zapcore.Core }

// newDebugLogger returns a logger for the client library that writes to log.
func newDebugLogger(log *zap.Logger) *zap.Logger {
	return log.WithOptions(zap.WrapCore(func(c zapcore.Core) zapcore.Core { return debugOnly{c} }))
}

// Enabled implements zapcore.Core.
func (m debugOnly) Enabled(zapcore.Level) bool { return m.Core.Enabled(zapcore.DebugLevel) }

// With implements zapcore.Core.
func (m debugOnly) With(fields []zapcore.Field) zapcore.Core { return debugOnly{m.Core.With(fields)} }

// Check implements zapcore.Core.
func (m debugOnly) Check(e zapcore.Entry, c *zapcore.CheckedEntry) *zapcore.CheckedEntry {
	e.Level = zapcore.DebugLevel
	return m.Core.Check(e, c)
}
