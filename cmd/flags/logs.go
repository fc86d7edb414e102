package flags

import (
	"fmt"

	"go.uber.org/zap"
	"go.uber.org/zap/zapcore"
)

// logs is what flags about the log say.
type logs struct {
	format string
}

func (o *Options) bindLogs(s *section) {
	s.StringVar(&o.logs.format, "logging-format", "text", "form of the log: text or json")
}

// finishLogs opens the log.
func (o *Options) finishLogs() error {
	level, err := zapcore.ParseLevel(o.own.logLevel)
	if err != nil {
		return fmt.Errorf("--log-level: %w", err)
	}
	config := zap.NewProductionConfig()
	switch o.logs.format {
	case "json":
	case "text":
		config.Encoding = "console"
		config.EncoderConfig = zap.NewDevelopmentEncoderConfig()
	default:
		return fmt.Errorf("--logging-format %q: must be text or json", o.logs.format)
	}
	config.Level = zap.NewAtomicLevelAt(level)
	config.DisableCaller = true
	config.DisableStacktrace = true
	o.config.Log, err = config.Build()
	return err
}

func (o *Options) bindTraces(s *section) {
}
