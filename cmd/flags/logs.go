package flags

import (
	"fmt"
	"io"
	"os"
	"strconv"
	"strings"
	"time"

	"go.uber.org/zap"
	"go.uber.org/zap/zapcore"

	"github.com/coracle-project/coracle/scheme/field"
	"github.com/coracle-project/coracle/scheme/meta"
)

// The section "Logs". It is the only section that does more than fill the Config: finishLogs opens
// the log. Options.Finish calls finishLogs right after the feature gates, because they decide which
// forms the log may have.

// logs holds the values of the flags about the log.
type logs struct {
	format    string        // "text" or "json"
	flush     time.Duration // longest time that a line stays in a buffer
	verbosity verbosity     // -v
	files     levels        // --vmodule, which is ignored
	text      stream
	json      stream
}

// stream says how the log is written in one format.
type stream struct {
	name   string   // the format
	split  bool     // errors go to standard error, all other lines to standard output
	buffer quantity // bytes of lines for standard output that are collected before a write; 0: no buffer
}

// bindLogs declares the flags of the section. Each format has flags of its own.
func (o *Options) bindLogs(s *section) {
	l := &o.logs
	s.StringVar(&l.format, "logging-format", "text", "format of the log: text or json")
	s.VarP(&l.verbosity, "v", "v", "verbosity of the log; 3 and above are like --log-level=debug")
	s.DurationVar(&l.flush, "log-flush-frequency", 5*time.Second,
		"longest time that a line stays in a buffer of the log")
	s.Var(&l.files, "vmodule", "verbosity of single source files of kube-apiserver, as pattern=N")
	s.ignore("this program does not have the source files of kube-apiserver", "vmodule")
	l.text.name, l.json.name = "text", "json"
	for _, form := range []*stream{&l.text, &l.json} {
		s.BoolVar(&form.split, "log-"+form.name+"-split-stream", false,
			"write errors to standard error, and all other lines to standard output; needs the feature gate LoggingAlphaOptions")
		s.Var(&form.buffer, "log-"+form.name+"-info-buffer-size",
			"size in bytes of the buffer for the lines on standard output; 0 for no buffer; needs the feature gate LoggingAlphaOptions")
	}
}

// debugVerbosity is the least -v that turns debug lines on. Kubernetes logs a line for each request
// from -v=3 on; here such lines have the level debug.
const debugVerbosity = 3

// finishLogs checks the section and opens the log. If --log-level and -v differ, the log has the
// lines that either asks for. A PUT to /debug/flags/v changes -v.
func (o *Options) finishLogs() error {
	if err := o.checkLogs(); err != nil {
		return err
	}
	level, err := zapcore.ParseLevel(o.own.logLevel)
	if err != nil {
		return fmt.Errorf("--log-level: %w: give debug, info, warn or error", err)
	}
	enabled := zap.NewAtomicLevelAt(o.logs.verbosity.atLeast(level))
	o.config.Serving.Debug.Profiles.SetVerbosity = func(v int32) {
		enabled.SetLevel(verbosity(v).atLeast(level))
	}
	o.config.Log = o.logs.open(enabled)
	return nil
}

// atLeast returns the level of the log if --log-level is given.
func (v verbosity) atLeast(given zapcore.Level) zapcore.Level {
	if v >= debugVerbosity {
		return zapcore.DebugLevel
	}
	return given
}

// open returns a log of the lines of the given level and above, which may change. It samples: of
// lines with the same level and message it writes the first hundred in a second, and then each
// hundredth, so that a line per request cannot flood the disk.
func (l *logs) open(level zap.AtomicLevel) *zap.Logger {
	encoder, form := zapcore.NewJSONEncoder(zap.NewProductionEncoderConfig()), &l.json
	if l.format == "text" {
		encoder, form = zapcore.NewConsoleEncoder(zap.NewDevelopmentEncoderConfig()), &l.text
	}
	errors := linesTo(os.Stderr)
	core := zapcore.NewCore(encoder, errors, level)
	if form.split {
		core = zapcore.NewTee(
			zapcore.NewCore(encoder, errors, zap.LevelEnablerFunc(func(of zapcore.Level) bool {
				return level.Enabled(of) && of >= zapcore.ErrorLevel
			})),
			zapcore.NewCore(encoder, form.infos(l.flush), zap.LevelEnablerFunc(func(of zapcore.Level) bool {
				return level.Enabled(of) && of < zapcore.ErrorLevel
			})))
	}
	return zap.New(zapcore.NewSamplerWithOptions(core, time.Second, 100, 100), zap.ErrorOutput(errors))
}

// infos returns the writer of lines below the level error, if the streams are split. Lines in its
// buffer are written when the buffer is full, when flush has passed, or when the log is synced.
func (f *stream) infos(flush time.Duration) zapcore.WriteSyncer {
	out := linesTo(os.Stdout)
	if size := f.buffer.Value(); size > 0 {
		return &zapcore.BufferedWriteSyncer{WS: out, Size: int(min(size, maxBuffer)), FlushInterval: flush}
	}
	return out
}

// linesTo returns a writer to a standard stream that may be used concurrently. It hides the file's
// Sync, which fails for a terminal or a pipe, and which is too slow for a line of the log.
func linesTo(file *os.File) zapcore.WriteSyncer {
	return zapcore.Lock(zapcore.AddSync(struct{ io.Writer }{file}))
}

// maxBuffer is the largest buffer of the log in bytes, as in kube-apiserver.
const maxBuffer = 2 << 30

// checkLogs returns what is wrong with the section. As in kube-apiserver, buffers and split streams
// are alpha features, and JSON a beta feature.
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
		m.addErr(field.Forbidden(field.NewPath("format"),
			"Log format json is disabled, see LoggingBetaOptions feature"))
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

// verbosity is the flag -v. A larger number logs more.
type verbosity int32

// String implements pflag.Value.
func (v *verbosity) String() string { return strconv.Itoa(int(*v)) }

// Set implements pflag.Value.
func (v *verbosity) Set(s string) error {
	n, err := strconv.ParseUint(s, 10, 31)
	if err == nil {
		*v = verbosity(n)
	}
	return err
}

// Type implements pflag.Value.
func (*verbosity) Type() string { return "Level" }

// levels is the flag --vmodule: a verbosity for each file of the source that a pattern matches, as
// PATTERN=N with commas between the entries.
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

// quantity is a flag that holds a resource.Quantity, such as 4Mi.
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
