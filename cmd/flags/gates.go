package flags

import (
	_ "embed"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"sync"
)

// gate is a feature gate: a switch of Kubernetes for what is new, or on its way out.
type gate struct {
	name, stage string
	on          bool   // by default
	here        string // what becomes of it, see gates.txt
	locked      bool
	needs       []string // gates that must be on if it is
}

// What becomes of gates here.
const (
	gateOn, gateOff = "on", "off"
	gateAsked       = "asked"
	gateInside      = "inside"
	gateElsewhere   = "elsewhere"
)

//go:embed gates.txt
var gatesText string

// knownGates reads gates.txt, once somebody gives a gate.
var knownGates = sync.OnceValue(func() map[string]gate {
	known := map[string]gate{}
	for line := range strings.Lines(gatesText) {
		words := strings.Fields(line)
		if len(words) == 0 || words[0] == "#" {
			continue
		}
		g := gate{name: words[0], stage: words[1], on: words[2] == "true", here: words[3]}
		for _, word := range words[4:] {
			if needs, are := strings.CutPrefix(word, "needs="); are {
				g.needs = strings.Split(needs, ",")
			} else {
				g.locked = true
			}
		}
		known[g.name] = g
	}
	return known
})

// The gates that stand for all of a stage. What is said of single ones counts before them.
const (
	allAlpha = "AllAlpha"
	allBeta  = "AllBeta"
)

// guards are gates whose being ignored would leave something unguarded, with the value that asks
// for the guard and the reason.
var guards = map[string]struct {
	asked bool
	why   string
}{
	"AllowServiceExternalIPs":             {false, "nothing here keeps externalIPs out of services"},
	"ConstrainedImpersonation":            {false, "who has rights to impersonate with constraints would go on to have them"},
	"ManifestBasedAdmissionControlConfig": {true, "no policies or webhooks are read from files"},
}

// gates is what --feature-gates asks for: components, or "" where none is named, with what is said
// of their gates, unread.
type gates struct {
	asked map[string][]string
	on    map[string]bool // what comes of it, for gates that are not as they are by default
}

// String implements pflag.Value.
func (g *gates) String() string {
	var all []string
	for _, component := range slices.Sorted(maps.Keys(g.asked)) {
		for _, one := range g.asked[component] {
			all = append(all, component+":"+one)
		}
	}
	return strings.Join(all, ",")
}

// Set implements pflag.Value.
func (g *gates) Set(s string) error {
	if g.asked == nil {
		g.asked = map[string][]string{}
	}
	for one := range strings.SplitSeq(s, ",") {
		if one == "" {
			continue
		}
		component, value, named := strings.Cut(one, ":")
		if !named {
			component, value = "", one
		}
		component = strings.TrimSpace(component)
		g.asked[component] = append(g.asked[component], strings.TrimSpace(value))
	}
	return nil
}

// Type implements pflag.Value.
func (*gates) Type() string { return "colonSeparatedMultimapStringString" }

// enabled reports whether a gate is on.
func (g *gates) enabled(name string) bool {
	if on, said := g.on[name]; said {
		return on
	}
	return knownGates()[name].on
}

// component is the one whose gates these are.
const component = "kube"

// finishGates reads the versions and the gates.
func (o *Options) finishGates() error {
	if err := o.generic.versions.read(); err != nil {
		return err
	}
	g := &o.generic.gates
	for _, name := range slices.Sorted(maps.Keys(g.asked)) {
		switch {
		case name == "" && len(g.asked[component]) > 0:
			return fmt.Errorf("set kube feature gates with default empty prefix or kube: prefix consistently, do not mix use")
		case name != "" && name != component:
			return fmt.Errorf("component not registered: %s", name)
		}
		asked, err := readGates(g.asked[name])
		if err == nil {
			err = g.take(asked)
		}
		if err != nil {
			return err
		}
		o.judgeGates(asked)
	}
	return nil
}

// readGates reads entries Name=bool. Of several about one gate the last counts.
func readGates(list []string) (map[string]bool, error) {
	asked := map[string]bool{}
	for entry := range strings.SplitSeq(strings.Join(list, ","), ",") {
		if entry == "" {
			continue
		}
		name, value, found := strings.Cut(entry, "=")
		name, value = strings.TrimSpace(name), strings.TrimSpace(value)
		if !found {
			return nil, fmt.Errorf("missing bool value for %s", name)
		}
		on, err := strconv.ParseBool(value)
		if err != nil {
			return nil, fmt.Errorf("invalid value of %s=%s, err: %w", name, value, err)
		}
		asked[name] = on
	}
	return asked, nil
}

// take turns gates on and off.
func (g *gates) take(asked map[string]bool) error {
	known := knownGates()
	g.on = maps.Clone(asked)
	var m mistakes
	for _, name := range slices.Sorted(maps.Keys(asked)) {
		on, one := asked[name], known[name]
		switch {
		case one.name == "":
			m.add("unrecognized feature gate: %s", name)
			return m
		case one.locked && one.on != on:
			m.add("cannot set feature gate %s to %t, feature is locked to %t", name, on, one.on)
		}
	}
	if len(m) > 0 {
		return m
	}
	for all, stage := range map[string]string{allAlpha: "alpha", allBeta: "beta"} {
		on, said := asked[all]
		for name, one := range known {
			if _, itself := g.on[name]; said && !itself && one.stage == stage && name != allAlpha && name != allBeta {
				g.on[name] = on
			}
		}
	}
	for _, name := range slices.Sorted(maps.Keys(known)) {
		if !g.enabled(name) {
			continue
		}
		if off := slices.DeleteFunc(slices.Clone(known[name].needs), g.enabled); len(off) > 0 {
			m.add("%s is enabled, but depends on features that are disabled: %v", name, off)
		}
	}
	return m.err()
}

// judgeGates refuses gates that ask for a guard that is not here, and says which others make no
// difference.
func (o *Options) judgeGates(asked map[string]bool) {
	var without []string
	for _, name := range slices.Sorted(maps.Keys(o.generic.gates.on)) {
		on := o.generic.gates.on[name]
		guard, guarding := guards[name]
		_, said := asked[name]
		switch {
		case guarding && said && guard.asked == on:
			o.refusals = append(o.refusals, fmt.Errorf("--feature-gates %s=%t is refused: %s", name, on, guard.why))
		case !knownGates()[name].follows(on):
			without = append(without, fmt.Sprintf("%s=%t", name, on))
		}
	}
	if len(without) > 0 {
		o.warnings = append(o.warnings, "these feature gates make no difference here: "+strings.Join(without, ", "))
	}
}

// follows reports whether a gate that is asked to be so is so, or concerns others.
func (g gate) follows(on bool) bool {
	switch g.here {
	case gateOn:
		return on
	case gateOff:
		return !on
	case gateInside:
		return on == g.on
	}
	return true
}
