// Package flags reads a command line into a server.Config: all flags that kube-apiserver 1.36 has,
// under its names, and those that Coracle adds.
//
// Each flag of kube-apiserver is honoured, or ignored because it makes no difference here, or
// refused because ignoring it would be dangerous; docs/flags.md lists which is which, and a test
// holds that list against this package. A flag that is ignored costs one line of the log that says
// why, if it is given another value than its default. Values are read, and mistakes are worded, as
// kube-apiserver reads and words them, so that scripts need not know whom they start.
//
// Each section of kube-apiserver's help is a file, which declares the section's flags, and checks
// and hands over what they say.
//
// Read: flags.go, section.go, mistakes.go, values.go, own.go, generic.go and the other sections,
// gates.go.
package flags

import (
	"errors"
	"fmt"
	"io"

	"github.com/spf13/pflag"

	"github.com/coracle-project/coracle/server"
	"github.com/coracle-project/coracle/server/access"
)

// Options are the flags of a command that runs a server. Bind them, parse a command line, and
// Finish.
type Options struct {
	defaults defaults
	config   server.Config
	sections []*section
	warnings []string // what makes no difference, and why
	refusals []error  // of values that must not be ignored

	own            own
	generic        generic
	etcd           etcd
	serving        serving
	authentication authentication
	authorization  authorization
	enablement     enablement
	auditing       auditing
	admission      admission
	metrics        metrics
	features       features
	logs           logs
	misc           misc
}

// defaults are what the commands differ in.
type defaults struct {
	dataDir, bindAddress, certDir, mediaType string
	modes, issuers, controllers              []string
	clusterIPRange                           string
	strict                                   bool // some flags must be given
}

// Serve returns the flags of `coracle serve`, which works without any.
func Serve() *Options {
	return newOptions(defaults{
		dataDir: ".coracle", bindAddress: "127.0.0.1", mediaType: mediaJSON,
		modes: []string{access.RBAC}, issuers: []string{"https://kubernetes.default.svc.cluster.local"},
		clusterIPRange: "10.0.0.0/24", controllers: []string{"*"},
	})
}

// KubeAPIServer returns the same flags with the defaults of kube-apiserver, beside which somebody
// else runs controllers, or nobody.
func KubeAPIServer() *Options {
	return newOptions(defaults{bindAddress: "0.0.0.0", certDir: "/var/run/kubernetes", mediaType: mediaProtobuf, strict: true})
}

func newOptions(d defaults) *Options {
	o := &Options{defaults: d}
	for _, s := range []struct {
		name string
		bind func(*section)
	}{
		{"Generic", o.bindGeneric}, {"Etcd", o.bindEtcd}, {"Secure serving", o.bindServing}, {"Auditing", o.bindAuditing},
		{"Features", o.bindFeatures}, {"Authentication", o.bindAuthentication}, {"Authorization", o.bindAuthorization},
		{"API enablement", o.bindEnablement}, {"Egress selector", o.bindEgress}, {"Admission", o.bindAdmission},
		{"Metrics", o.bindMetrics}, {"Logs", o.bindLogs}, {"Traces", o.bindTraces}, {"Misc", o.bindMisc}, {"Coracle", o.bindOwn},
	} {
		section := newSection(s.name)
		s.bind(section)
		o.sections = append(o.sections, section)
	}
	return o
}

// Bind adds the flags to those of a command. Underscores in their names count as dashes.
func (o *Options) Bind(f *pflag.FlagSet) {
	f.SetNormalizeFunc(dashes)
	for _, s := range o.sections {
		f.AddFlagSet(s.FlagSet)
	}
}

// Usage writes what the flags are, under the headings that kube-apiserver's help has, in lines of
// at most so many columns; 0 wraps none.
func (o *Options) Usage(w io.Writer, columns int) {
	for _, s := range o.sections {
		fmt.Fprintf(w, "\n%s flags:\n\n%s", s.name, s.FlagUsagesWrapped(columns))
	}
}

// Finish returns what a parsed command line asks for, or all that is wrong with it. What it ignores
// is told to the Config's log.
//
// It finds mistakes in the order in which kube-apiserver finds them: feature gates, the log, what
// has to be worked out before anything can be checked, each of which ends it; then what the
// sections have to say, all together; then what shows when it is used. What is refused comes last:
// there is no mistake in it.
func (o *Options) Finish() (server.Config, error) {
	for _, step := range []func() error{o.finishGates, o.finishLogs, o.completeMisc, o.completeAuthentication, o.completeEtcd} {
		if err := step(); err != nil {
			return server.Config{}, err
		}
	}
	var all mistakes
	for _, finish := range []func() error{
		o.finishGeneric, o.finishEtcd, o.finishFeatures, o.finishServing, o.finishAuthentication, o.finishAuthorization, o.finishAuditing,
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
	o.finishPages()
	for _, s := range o.sections {
		o.warnings = append(o.warnings, s.without()...)
	}
	for _, text := range o.warnings {
		o.config.Log.Warn(text)
	}
	return o.config, nil
}

// refusal returns the error of what the command line asks for that would be dangerous to ignore.
func (o *Options) refusal() error {
	for _, s := range o.sections {
		if err := s.refusal(); err != nil {
			return err
		}
	}
	return errors.Join(o.refusals...)
}

// given reports whether a flag stands on the command line.
func (o *Options) given(name string) bool {
	f := o.lookup(name)
	return f != nil && f.Changed
}

// value returns what a flag says, as text.
func (o *Options) value(name string) string { return o.lookup(name).Value.String() }

// lookup returns a flag; nil if there is no such.
func (o *Options) lookup(name string) *pflag.Flag {
	for _, s := range o.sections {
		if f := s.Lookup(name); f != nil {
			return f
		}
	}
	return nil
}
