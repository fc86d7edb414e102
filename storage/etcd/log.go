package etcd

import (
	"go.uber.org/zap"
	"go.uber.org/zap/zapcore"
)

// murmur takes what the client library says, a line for each failed attempt at each request, to the debug level. What
// there is to know of it, link says.
type murmur struct{ zapcore.Core }

// newMurmur returns a logger for the library over log.
func newMurmur(log *zap.Logger) *zap.Logger {
	return log.WithOptions(zap.WrapCore(func(c zapcore.Core) zapcore.Core { return murmur{c} }))
}

// Enabled implements zapcore.Core.
func (m murmur) Enabled(zapcore.Level) bool { return m.Core.Enabled(zapcore.DebugLevel) }

// With implements zapcore.Core.
func (m murmur) With(fields []zapcore.Field) zapcore.Core { return murmur{m.Core.With(fields)} }

// Check implements zapcore.Core.
func (m murmur) Check(e zapcore.Entry, c *zapcore.CheckedEntry) *zapcore.CheckedEntry {
	e.Level = zapcore.DebugLevel
	return m.Core.Check(e, c)
}
