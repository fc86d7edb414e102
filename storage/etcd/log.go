package etcd

import (
	"go.uber.org/zap"
	"go.uber.org/zap/zapcore"
)

// murmur logs at the debug level what the client library logs at any level. The library writes a
// line for each failed attempt at each request; the link reports what an operator needs of it.
type murmur struct{ zapcore.Core }

// newMurmur returns a logger for the client library that writes to log.
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
