package flags

import (
	"fmt"
	"strconv"
	"strings"
	"time"

	"go.uber.org/zap"
	"go.uber.org/zap/zapcore"

	"github.com/coracle-project/coracle/scheme/field"
	"github.com/coracle-project/coracle/scheme/meta"
)

// logs is what flags about the log say.
type logs struct {
	format    string
	flush     time.Duration
	verbosity level
	files     levels
	text      stream
	json      stream
}

// stream is how a form of the log goes out.
type stream struct {
	name   string
	split  bool
	buffer quantity
}

func (o *Options) bindLogs(s *section) {
	l := &o.logs
	s.StringVar(&l.format, "logging-format", "text", "form of the log: text or json")
	s.VarP(&l.verbosity, "v", "v", "how much is logged: from 4 on as much as --log-level=debug")
	s.DurationVar(&l.flush, "log-flush-frequency", 5*time.Second, "how long lines of the log may wait")
	s.ignore("each line is written at once", "log-flush-frequency")
	s.Var(&l.files, "vmodule", "how much is logged by files of kube-apiserver, as pattern=N")
	s.ignore("the log has one level", "vmodule")
	l.text.name, l.json.name = "text", "json"
	for _, form := range []*stream{&l.text, &l.json} {
		split, buffer := "log-"+form.name+"-split-stream", "log-"+form.name+"-info-buffer-size"
		s.BoolVar(&form.split, split, false, "write errors and other lines of the log to different streams")
		s.Var(&form.buffer, buffer, "bytes that other lines are put together to")
		s.ignore("all lines go to standard error at once", split, buffer)
	}
}

// debugVerbosity is from which verbosity on Kubernetes says what only those want to know who look for a mistake.
const debugVerbosity = 4

// finishLogs opens the log.
func (o *Options) finishLogs() error {
	if err := o.checkLogs(); err != nil {
		return err
	}
	level, err := zapcore.ParseLevel(o.own.logLevel)
	if err != nil {
		return fmt.Errorf("--log-level: %w", err)
	}
	if o.logs.verbosity >= debugVerbosity {
		level = zapcore.DebugLevel
	}
	config := zap.NewProductionConfig()
	if o.logs.format == "text" {
		config.Encoding = "console"
		config.EncoderConfig = zap.NewDevelopmentEncoderConfig()
	}
	config.Level = zap.NewAtomicLevelAt(level)
	config.DisableCaller = true
	config.DisableStacktrace = true
	o.config.Log, err = config.Build()
	return err
}

func (o *Options) checkLogs() error {
	l, enabled := &o.logs, o.generic.gates.enabled
	var m mistakes
	if l.flush <= 0 {
		m.addErr(field.Invalid(field.NewPath("flushFrequency"), l.flush.String(), "Must be greater than zero"))
	}
	switch {
	case l.format != "text" && l.format != "json":
		m.addErr(field.Invalid(field.NewPath("format"), l.format, "Unsupported log format"))
	case l.format == "json" && !enabled("LoggingBetaOptions"):
		m.addErr(field.Forbidden(field.NewPath("format"), "Log format json is disabled, see LoggingBetaOptions feature"))
	}
	if len(l.files) > 0 && l.format != "text" && l.format != "" {
		m.addErr(field.Forbidden(field.NewPath("vmodule"), "Only supported for text log format"))
	}
	for _, form := range []*stream{&l.text, &l.json} {
		const alpha = "LoggingAlphaOptions"
		path := field.NewPath("options", form.name)
		if form.split && !enabled(alpha) {
			m.addErr(field.Forbidden(path.Child("splitStream"), "Feature "+alpha+" is disabled"))
		}
		if form.buffer.Sign() != 0 && !enabled(alpha) {
			m.addErr(field.Forbidden(path.Child("infoBufferSize"), "Feature "+alpha+" is disabled"))
		}
	}
	return m.err()
}

// level is a flag that says how much is logged.
type level int32

// String implements pflag.Value.
func (l *level) String() string { return strconv.Itoa(int(*l)) }

// Set implements pflag.Value.
func (l *level) Set(s string) error {
	n, err := strconv.ParseUint(s, 10, 31)
	if err == nil {
		*l = level(n)
	}
	return err
}

// Type implements pflag.Value.
func (*level) Type() string { return "Level" }

// levels is a flag that says how much is logged by which files: entries pattern=N.
type levels []string

// String implements pflag.Value.
func (l *levels) String() string { return strings.Join(*l, ",") }

// Set implements pflag.Value.
func (l *levels) Set(s string) error {
	for entry := range strings.SplitSeq(s, ",") {
		if entry == "" {
			continue
		}
		parts := strings.Split(entry, "=")
		if len(parts) != 2 || parts[0] == "" || parts[1] == "" {
			return fmt.Errorf("%q does not have the pattern=N format", entry)
		}
		if _, err := strconv.ParseUint(parts[1], 10, 31); err != nil {
			return fmt.Errorf("parsing verbosity in %q: %w", entry, err)
		}
		*l = append(*l, entry)
	}
	return nil
}

// Type implements pflag.Value.
func (*levels) Type() string { return "pattern=N,..." }

// quantity is a flag that is a quantity, such as 4Mi.
type quantity struct{ meta.Quantity }

// String implements pflag.Value.
func (q *quantity) String() string {
	if text := q.Quantity.String(); text != "" {
		return text
	}
	return "0"
}

// Set implements pflag.Value.
func (q *quantity) Set(s string) (err error) {
	q.Quantity, err = meta.ParseQuantity(s)
	return err
}

// Type implements pflag.Value.
func (*quantity) Type() string { return "quantity" }

func (o *Options) bindTraces(s *section) {
	s.String("tracing-config-file", "", "TracingConfiguration file: where traces of requests go")
	s.ignore("no traces are made", "tracing-config-file")
}
