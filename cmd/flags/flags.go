// Package flags reads a command line into a server.Config: all flags that kube-apiserver 1.36 has,
// under its names, and those that Coracle adds.
//
// Words. A section is one heading of kube-apiserver's help with the flags below it. A flag is
// honoured, ignored or refused: an ignored flag makes no difference here, and a refused flag must
// keep its default, because ignoring it would be dangerous. A gate is a feature gate of Kubernetes.
// A refusal is the error about a refused flag, gate or value.
//
// Laws:
//
//   - docs/flags.md says of each flag, gate and admission plugin what becomes of it. TestDocs
//     writes that file and fails if it differs from the code.
//   - An ignored flag that has another value than its default costs one line of the log, which says
//     why.
//   - Values are read, and mistakes are worded and ordered, as kube-apiserver does it, so that
//     scripts need not know which program they start. test/differential compares the two programs.
//   - A section only fills the Config. It reads a file only where kube-apiserver reads it before it
//     starts. The section "Logs" is the exception: it opens the log.
//
// A command makes its Options with Serve or KubeAPIServer, calls Bind, parses its command line, and
// calls Finish once. Nothing here is safe for concurrent use before Finish has returned; after it,
// the Config's flags page reads the flags, which no longer change.
//
// Not here: what a value does (server and the packages that its Config names); starting a server,
// and the flags of the other commands (cmd/coracle).
//
// Read: flags.go, section.go, mistakes.go, values.go, own.go, generic.go and the other sections,
// gates.go.
package flags

import (
	"errors"
	"fmt"
	"io"

	"github.com/spf13/pflag"
	"go.uber.org/zap"

	"github.com/coracle-project/coracle/server"
	"github.com/coracle-project/coracle/server/access"
)

// Options are the flags of a command that runs a server, and the Config that they fill. A command
// calls Bind, parses its command line, and calls Finish.
type Options struct {
	defaults defaults
	config   server.Config
	sections []*section
	warnings []warning // what is ignored, and why
	refusals []error   // errors about gates, plugins and versions that must not be ignored; flags have annotations

	own            own
	generic        generic
	etcd           etcd
	serving        serving
	authentication authentication
	authorization  authorization
	enablement     enablement
	admission      admission
	metrics        metrics
	features       features
	logs           logs
	misc           misc
}

// warning is a line for the log about something that the command line asks for and this server
// ignores. It is kept until the whole command line has been read: only then is the log used.
type warning struct {
	message string // one of a few constant phrases
	fields  []zap.Field
}

// defaults are the values in which `coracle serve` and `coracle kube-apiserver` differ.
type defaults struct {
	dataDir, bindAddress, certDir, mediaType string
	modes, issuers, controllers              []string
	clusterIPRange                           string
	strict                                   bool // kube-apiserver's checks hold: some flags must be given
}

// Serve returns the flags of `coracle serve`. Each has a default that works: the server keeps its
// data and its own certificates in ./.coracle, listens on the loopback address, and runs all its
// controllers.
func Serve() *Options {
	return newOptions(defaults{
		dataDir: ".coracle", bindAddress: "127.0.0.1", mediaType: mediaJSON,
		modes: []string{access.RBAC}, issuers: []string{"https://kubernetes.default.svc.cluster.local"},
		clusterIPRange: "10.0.0.0/24", controllers: []string{"*"},
	})
}

// KubeAPIServer returns the flags of `coracle kube-apiserver`: those of Serve, with the defaults of
// kube-apiserver. By default the server runs no controllers, because kube-controller-manager runs
// them. Some flags are required, as in kube-apiserver.
func KubeAPIServer() *Options {
	return newOptions(defaults{
		bindAddress: "0.0.0.0", certDir: "/var/run/kubernetes", mediaType: mediaProtobuf, strict: true,
	})
}

// newOptions declares all flags. The sections stand in the order of kube-apiserver's help;
// Coracle's own come last.
func newOptions(d defaults) *Options {
	o := &Options{defaults: d}
	for _, s := range []struct {
		name string
		bind func(*section)
	}{
		{"Generic", o.bindGeneric}, {"Etcd", o.bindEtcd}, {"Secure serving", o.bindServing}, {"Auditing",
			o.bindAuditing},
		{"Features", o.bindFeatures}, {"Authentication", o.bindAuthentication}, {"Authorization", o.bindAuthorization},
		{"API enablement", o.bindEnablement}, {"Egress selector", o.bindEgress}, {"Admission", o.bindAdmission},
		{"Metrics", o.bindMetrics}, {"Logs", o.bindLogs}, {"Traces", o.bindTraces}, {"Misc", o.bindMisc},
		{"Coracle", o.bindOwn},
	} {
		section := newSection(s.name)
		s.bind(section)
		o.sections = append(o.sections, section)
	}
	return o
}

// Bind adds the flags to the flag set of a command. In the names of all flags of that set an
// underscore counts as a dash.
func (o *Options) Bind(f *pflag.FlagSet) {
	f.SetNormalizeFunc(dashes)
	for _, s := range o.sections {
		f.AddFlagSet(s.FlagSet)
	}
}

// Usage writes the help of the flags to w, under the headings that kube-apiserver's help has, in
// lines of at most the given number of columns; 0 wraps no line.
func (o *Options) Usage(w io.Writer, columns int) {
	for _, s := range o.sections {
		fmt.Fprintf(w, "\n%s flags:\n\n%s", s.name, s.FlagUsagesWrapped(columns))
	}
}

// Finish returns the Config that a parsed command line asks for, or an error that lists all
// mistakes in it. It writes a line to the Config's log for each thing that the command line asks
// for and this server ignores. It must be called once.
//
// It looks for mistakes in the order in which kube-apiserver finds them:
//
//  1. Feature gates, the log, and values that other checks depend on. The first mistake among
//     these is the only one that is reported.
//  2. The checks of all sections. Their mistakes are reported together.
//  3. Values that kube-apiserver looks at only when it uses them. Again the first mistake is the
//     only one reported.
//
// Refusals come last: they are reported only if the command line has no mistakes.
func (o *Options) Finish() (server.Config, error) {
	for _, step := range []func() error{o.finishGates, o.finishLogs, o.completeMisc, o.completeAuthentication,
		o.completeEtcd} {
		if err := step(); err != nil {
			return server.Config{}, err
		}
	}
	var all mistakes
	for _, finish := range []func() error{
		o.finishGeneric, o.finishEtcd, o.finishFeatures, o.finishServing, o.finishAuthentication,
		o.finishAuthorization, o.finishAuditing,
		o.finishAdmission, o.finishEnablement, o.finishTokens, o.finishMetrics, o.finishMisc, o.finishOwn,
	} {
		all.addErr(finish())
	}
	if len(all) > 0 {
		return server.Config{}, all
	}
	for _, step := range []func() error{o.applyServing, o.applyMisc, o.refusal} {
		if err := step(); err != nil {
			return server.Config{}, err
		}
	}
	o.finishStatusPages()
	for _, s := range o.sections {
		o.warnings = append(o.warnings, s.ignoredFlags()...)
	}
	for _, w := range o.warnings {
		o.config.Log.Warn(w.message, w.fields...)
	}
	return o.config, nil
}

// warn adds a line to those that Finish writes to the log.
func (o *Options) warn(message string, fields ...zap.Field) {
	o.warnings = append(o.warnings, warning{message, fields})
}

// refusal returns an error if the command line asks for something that would be dangerous to
// ignore. Of refused flags it reports the first; refused gates, plugins and versions it reports
// together.
func (o *Options) refusal() error {
	for _, s := range o.sections {
		if err := s.refusal(); err != nil {
			return err
		}
	}
	return errors.Join(o.refusals...)
}

// given reports whether a flag stands on the command line, even with its default as value.
func (o *Options) given(name string) bool {
	f := o.lookup(name)
	return f != nil && f.Changed
}

// value returns the value of a flag as text. The flag must exist.
func (o *Options) value(name string) string { return o.lookup(name).Value.String() }

// lookup returns a flag, or nil if no section has it.
func (o *Options) lookup(name string) *pflag.Flag {
	for _, s := range o.sections {
		if f := s.Lookup(name); f != nil {
			return f
		}
	}
	return nil
}
