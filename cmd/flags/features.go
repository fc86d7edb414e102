package flags

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/spf13/pflag"

	"github.com/coracle-project/coracle/server/inspect"
)

// features holds the values of flags about features that do not go into the Config as they are.
type features struct {
	fairness bool
}

// bindFeatures declares the flags about profiles, and about priority and fairness.
func (o *Options) bindFeatures(s *section) {
	s.BoolVar(&o.config.Serving.Debug.Profiles.Contention, "contention-profiling", false,
		"collect the profiles block and mutex, which slows the server down a little")
	s.StringVar(&o.config.Serving.Debug.Profiles.Socket, "debug-socket-path", "",
		"path of a Unix socket that serves profiles, without authentication, to all processes that may open it")
	s.BoolVar(&o.config.Serving.Debug.Profiles.Serve, "profiling", true, "serve profiles at /debug/pprof/, and /debug/flags/v, which changes -v")
	s.BoolVar(&o.features.fairness, "enable-priority-and-fairness", true,
		"keep the status of FlowSchemas up to date; FlowSchemas do not affect requests yet")
	s.explain("if false, the server does not write the status of FlowSchemas. --max-requests-inflight and --max-mutating-requests-inflight bound requests "+
		"either way", "enable-priority-and-fairness")
}

// finishFeatures returns an error if priority and fairness is on, but --runtime-config turns off
// the API that configures it. If --runtime-config has several of the three names, the first in the
// order of the loop decides: a version counts before api/ga, and api/ga before api/all.
func (o *Options) finishFeatures() error {
	o.config.API.Without.PriorityAndFairness = !o.features.fairness
	if !o.features.fairness {
		return nil
	}
	for _, name := range []string{"flowcontrol.apiserver.k8s.io/v1", "api/ga", "api/all"} {
		switch o.enablement.runtime.values[name] {
		case "false":
			return fmt.Errorf("--runtime-config=%s=false conflicts with --enable-priority-and-fairness=true", name)
		case "true":
			return nil
		}
	}
	return nil
}

// finishStatusPages turns the pages /statusz and /flagz on, as their feature gates say (KEP-4827,
// KEP-4828), and shows the feature gates as a metric.
func (o *Options) finishStatusPages() {
	debug, gates := &o.config.Serving.Debug, &o.generic.gates
	debug.Features = o.featureGates
	debug.NoStatus = !gates.enabled("ComponentStatusz")
	if gates.enabled("ComponentFlagz") {
		debug.Flags = o.values
	}
}

// featureGates returns the feature gates by name, for the metric kubernetes_feature_enabled. A gate
// that decides nothing in this server is enabled if the server has what the gate stands for.
func (o *Options) featureGates() (list []inspect.Feature) {
	gates := &o.generic.gates
	for _, name := range slices.Sorted(maps.Keys(allGates())) {
		g := allGates()[name]
		f := inspect.Feature{Name: name, Enabled: gates.enabled(name)}
		if g.stage != "ga" {
			f.Stage = strings.ToUpper(g.stage)
		}
		if g.here == gateOn || g.here == gateOff {
			f.Enabled = g.here == gateOn
		}
		list = append(list, f)
	}
	return list
}

// values returns the value of each flag by its name. The page /flagz shows them.
func (o *Options) values() map[string]string {
	values := map[string]string{}
	for _, s := range o.sections {
		s.VisitAll(func(f *pflag.Flag) { values[f.Name] = f.Value.String() })
	}
	return values
}
