package filters

import (
	"hash/maphash"
	"maps"
	"sync"
	"time"

	"go.uber.org/zap"
	"go.uber.org/zap/zapcore"

	"github.com/coracle-project/coracle/scheme/field"
)

// This file keeps the log small when clients cause many lines or long ones. Steps wraps the log of
// all filters; the server wraps its other logs.

// linesPerPause lines with the same cause are written in each logPause. logCauses causes are
// counted separately.
const (
	logPause      = 10 * time.Second
	linesPerPause = 10
	logCauses     = 128
)

// logLevels is the number of log levels.
const logLevels = zapcore.FatalLevel - zapcore.DebugLevel + 1

// Texts are cut, in bytes: values at maxText, stacks and the message at maxStack.
const (
	maxText  = 256
	maxStack = 16 << 10
)

// LimitLog returns a logger over log for lines that anybody can cause: by sending requests, by
// connecting, or by writing objects that make a controller log. It cuts values, and of the lines
// with the same cause it writes only the first ten in ten seconds, so neither many lines nor long
// ones can fill the disk. The field "suppressed" of the next line that is written tells how many
// were left out. The cause of a line is the beginning of its message together with the fields
// status, verb, resource, check, error and panic. Each cause is counted separately, up to logCauses
// causes in ten seconds; the lines of all further causes count as one cause for each level.
func LimitLog(log *zap.Logger) *zap.Logger {
	return log.WithOptions(zap.WrapCore(func(core zapcore.Core) zapcore.Core {
		return &limitedCore{Core: core, causes: &causes{seed: maphash.MakeSeed(), counts: map[uint64]*lineCount{}}}
	}))
}

// limitedCore is a zapcore.Core that writes to another core fewer and shorter lines.
type limitedCore struct {
	zapcore.Core
	causes *causes
}

// With implements zapcore.Core. The fields are not part of the cause of lines.
func (c *limitedCore) With(fields []zapcore.Field) zapcore.Core {
	return &limitedCore{Core: c.Core.With(fields), causes: c.causes}
}

// Check implements zapcore.Core. It only checks the level; Write counts.
func (c *limitedCore) Check(entry zapcore.Entry, checked *zapcore.CheckedEntry) *zapcore.CheckedEntry {
	if c.Enabled(entry.Level) {
		return checked.AddCore(entry, c)
	}
	return checked
}

// Write implements zapcore.Core: it cuts the line's texts, and writes the line if its cause allows.
func (c *limitedCore) Write(entry zapcore.Entry, fields []zapcore.Field) error {
	entry.Message = field.Cut(entry.Message, maxStack)
	short := make([]zapcore.Field, len(fields), len(fields)+1)
	for i, f := range fields {
		short[i] = cutField(f)
	}
	suppressed, ok := c.causes.allow(entry, short)
	if !ok {
		return nil
	}
	if suppressed > 0 {
		short = append(short, zap.Int("suppressed", suppressed))
	}
	if line := c.Core.Check(entry, nil); line != nil {
		line.Write(short...)
	}
	return nil
}

// causes count lines by cause. mu guards counts and rest.
type causes struct {
	seed   maphash.Seed
	mu     sync.Mutex
	counts map[uint64]*lineCount // by cause; at most logCauses
	rest   [logLevels]lineCount  // by level, for causes that came when counts was full
}

// lineCount counts the lines of one cause in the current logPause.
type lineCount struct {
	since             time.Time // when the first of them was written
	lines, suppressed int
}

// allow reports whether a line may be written, and how many lines of its cause were left out since
// the last one.
func (c *causes) allow(entry zapcore.Entry, fields []zapcore.Field) (suppressed int, ok bool) {
	cause := c.cause(entry, fields)
	c.mu.Lock()
	defer c.mu.Unlock()
	n := c.count(cause, entry)
	if n.over(entry.Time) {
		n.since, n.lines = entry.Time, 0
	}
	if n.lines++; n.lines > linesPerPause {
		n.suppressed++
		return 0, false
	}
	suppressed, n.suppressed = n.suppressed, 0
	return suppressed, true
}

// count returns the lineCount of a cause. The caller holds mu.
func (c *causes) count(cause uint64, entry zapcore.Entry) *lineCount {
	n := c.counts[cause]
	if n != nil {
		return n
	}
	if len(c.counts) >= logCauses {
		maps.DeleteFunc(c.counts, func(_ uint64, n *lineCount) bool { return n.over(entry.Time) })
	}
	if len(c.counts) >= logCauses {
		return &c.rest[entry.Level-zapcore.DebugLevel]
	}
	n = new(lineCount)
	c.counts[cause] = n
	return n
}

// over reports whether the logPause of n is over.
func (n *lineCount) over(now time.Time) bool { return now.Sub(n.since) >= logPause }

// cause returns the hash of a line's cause.
func (c *causes) cause(entry zapcore.Entry, fields []zapcore.Field) uint64 {
	const enough = 24 // bytes of the message: net/http's messages say first what happened, then to whom
	var h maphash.Hash
	h.SetSeed(c.seed)
	h.WriteString(entry.Message[:min(len(entry.Message), enough)])
	for i := range fields {
		switch f := &fields[i]; f.Key {
		case "status", "verb", "resource", "check", "error", "panic":
			h.WriteString(f.String)
			h.WriteByte(byte(f.Integer >> 8))
			h.WriteByte(byte(f.Integer))
		}
	}
	return h.Sum64()
}

// cutField cuts the text in a field.
func cutField(f zapcore.Field) zapcore.Field {
	switch f.Type {
	case zapcore.StringType:
		f.String = field.Cut(f.String, maxText)
	case zapcore.ByteStringType:
		b := f.Interface.([]byte)
		f.Interface = b[:min(len(b), maxStack)]
	case zapcore.ErrorType:
		return zap.String(f.Key, field.Cut(f.Interface.(error).Error(), maxText))
	}
	return f
}
