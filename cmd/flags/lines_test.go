package flags

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/spf13/pflag"
	"go.uber.org/zap/zapcore"
)

// otherValues are valid values of flags that do not accept every value of their type.
var otherValues = map[string]string{
	"vmodule":                             "a=1",
	"coordinated-leadership-retry-period": "3s",
	"watch-cache-sizes":                   "pods#0",
}

// otherValue returns a valid value of a flag that is not its default.
func otherValue(f *pflag.Flag) string {
	if value, special := otherValues[f.Name]; special {
		return value
	}
	switch f.Value.Type() {
	case "bool":
		return map[string]string{"true": "false", "false": "true"}[f.DefValue]
	case "int", "int64", "uint", "float32":
		return "12"
	case "duration":
		return "11s"
	}
	return "x"
}

// TestLines gives each ignored or refused flag another value than its default. An ignored flag must
// cost one line of the log, and a refused flag must be an error. A flag that repeats its default
// must cause neither.
func TestLines(t *testing.T) {
	file := filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(file, []byte("a,b: c\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	var tried [2]int
	for _, s := range Serve().sections {
		s.VisitAll(func(f *pflag.Flag) {
			why, never := annotation(f, ignored), annotation(f, refused)
			if why == "" && never == "" {
				return
			}
			args := strings.Fields("--" + f.Name + "=" + strings.ReplaceAll(otherValue(f), "FILE", file))
			lines, err := outcome(args)
			switch {
			case why != "":
				tried[0]++
				if want := "flag has no effect flag=--" + f.Name + " reason=" + why; err != nil || len(lines) != 1 || lines[0] != want {
					t.Errorf("%q: got lines %q, error %v, want %q", args, lines, err, want)
				}
			default:
				tried[1]++
				if want := "--" + f.Name + " is refused: " + never; err == nil || err.Error() != want {
					t.Errorf("%q: got error %v, want %s", args, err, want)
				}
			}
			if f.Value.Type() == "stringToString" { // no value of the flag stands for its default
				return
			}
			args = []string{"--" + f.Name + "=" + strings.Trim(f.DefValue, "[]")}
			if lines, err := outcome(args); err != nil || len(lines) > 0 {
				t.Errorf("%q: got lines %q, error %v", args, lines, err)
			}
		})
	}
	t.Logf("%d flags make no difference, %d are refused", tried[0], tried[1])
}

// outcome returns the lines for the log, and the error, that a command line of `coracle serve`
// causes.
func outcome(args []string) ([]string, error) {
	o := Serve()
	f := pflag.NewFlagSet("test", pflag.ContinueOnError)
	f.SetOutput(new(strings.Builder))
	o.Bind(f)
	err := f.Parse(append([]string{"--log-level=error"}, args...))
	if err == nil {
		_, err = o.Finish()
	}
	var lines []string
	for _, w := range o.warnings {
		lines = append(lines, lineOf(w))
	}
	return lines, err
}

// lineOf returns a line for the log as text: the message, then key=value for each field.
func lineOf(w warning) string {
	line := w.message
	for _, f := range w.fields {
		fields := zapcore.NewMapObjectEncoder()
		f.AddTo(fields)
		line += fmt.Sprintf(" %s=%v", f.Key, fields.Fields[f.Key])
	}
	return line
}

// TestValueLines checks values of honoured flags that are ignored or refused although the flag is
// not.
func TestValueLines(t *testing.T) {
	for _, tt := range []struct{ args, line, err string }{
		{"--enable-admission-plugins=NodeRestriction,Priority", "", ""},
		{"--enable-admission-plugins=RuntimeClass", "", ""},
		{"--enable-admission-plugins=PodSecurity,ResourceQuota", "", ""},
		{"--admission-control=ValidatingAdmissionWebhook", "", ""},
		{"--enable-admission-plugins=AlwaysAdmit", "admission plugin is deprecated plugin=AlwaysAdmit", ""},
		{"--disable-admission-plugins=PodSecurity,ServiceAccount", "", ""},
		{"--feature-gates=CBORServingAndStorage=true,OpenAPIEnums=false", "feature gates have no effect gates=[CBORServingAndStorage=true OpenAPIEnums=false]", ""},
		{"--feature-gates=CBORServingAndStorage=false,OpenAPIEnums=true", "", ""},
		{"--feature-gates=KubeletInUserNamespace=true", "", ""},
		{"--feature-gates=AtomicFIFO=true", "", ""},
		{"--feature-gates=ListFromCacheSnapshot=false", "feature gates have no effect gates=[ListFromCacheSnapshot=false]", ""},
		{"--feature-gates=WatchList=false,APIResponseCompression=false", "", ""},
		{"--feature-gates=AllowServiceExternalIPs=false", "", ""},
		{"--feature-gates=ConstrainedImpersonation=false", "", "--feature-gates ConstrainedImpersonation=false is refused: this server always has constrained impersonation, so users with rights to it would keep them"},
		{"--feature-gates=ManifestBasedAdmissionControlConfig=true", "", ""},
		{"--emulated-version=1.33", "", "--emulated-version 1.33 is refused: " + whyOneRelease},
		{"--emulated-version=1.35", "", "--emulated-version 1.35 is refused: " + whyOneRelease},
		{"--emulated-version=1.35 --emulation-forward-compatible", "", "--emulated-version 1.35 is refused: " + whyOneRelease},
		{"--emulated-version=1.35 --runtime-config-emulation-forward-compatible", "", "--emulated-version 1.35 is refused: " + whyOneRelease},
		{"--emulated-version=1.36.0 --emulation-forward-compatible=false --runtime-config-emulation-forward-compatible=false", "", ""},
		{"--emulated-version=kube=1.36 --min-compatibility-version=1.35", "", ""},
		{"--min-compatibility-version=1.33", "", ""},
		{"--min-compatibility-version=1.36", "", ""},
		{"--min-compatibility-version=1.32", "", "minCompatibilityVersion version 1.32 is not between [1.33, 1.36]"},
		{"--min-compatibility-version=1.37", "", "minCompatibilityVersion version 1.37 is not between [1.33, 1.36]"},
	} {
		lines, err := outcome(strings.Fields(tt.args))
		if got := strings.Join(lines, "\n"); got != tt.line || text(err) != tt.err {
			t.Errorf("%s: got %q, error %q", tt.args, got, text(err))
		}
	}
}

func text(err error) string {
	if err == nil {
		return ""
	}
	return err.Error()
}
