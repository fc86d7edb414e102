package flags

import (
	_ "embed"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"sync"

	"go.uber.org/zap"
)

// Feature gates (--feature-gates). kube-apiserver knows 242; gates.txt lists each with its
// stage, its default, and what becomes of it here. This file reads the flag as kube-apiserver does,
// with the same mistakes, and then compares the result with what this server does. Options.Finish
// calls finishGates before all else, because other checks ask enabled.

// gate is a line of gates.txt: a feature gate of Kubernetes, a switch for a feature that is new or
// about to be removed.
type gate struct {
	name, stage string   // the stage is alpha, beta, ga or deprecated
	on          bool     // the default
	here        string   // one of the gate... constants
	locked      bool     // it cannot be other than its default
	needs       []string // gates that must be on while this gate is on
}

// The values of gate.here. The head of gates.txt says what each means.
const (
	gateOn, gateOff = "on", "off"
	gateAsked       = "asked"
	gateInside      = "inside"
	gateElsewhere   = "elsewhere"
)

//go:embed gates.txt
var gatesText string

// allGates returns the gates of gates.txt by name. The file is read at the first call.
var allGates = sync.OnceValue(func() map[string]gate {
	byName := map[string]gate{}
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
		byName[g.name] = g
	}
	return byName
})

// The gates that set all gates of a stage. An entry for a single gate counts before them, wherever
// it stands.
const (
	allAlpha = "AllAlpha"
	allBeta  = "AllBeta"
)

// guards are the gates that cannot be ignored, because they ask for a protection that this server
// does not have. asked is the value that asks for the protection; why says what would be
// unprotected.
var guards = map[string]struct {
	asked bool
	why   string
}{
	"ConstrainedImpersonation": {false,
		"this server always has constrained impersonation, so users with rights to it would keep them"},
}

// gates is the flag --feature-gates. It keeps the entries as text until finishGates reads them:
// kube-apiserver, too, reports an unknown gate only after all flags have been parsed.
type gates struct {
	asked map[string][]string // entries Name=bool by component; "" if an entry names no component
	on    map[string]bool     // each gate that the flag sets, also by AllAlpha or AllBeta; from finishGates
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

// enabled reports whether a gate is on, by the flag or by default. An unknown gate is off.
func (g *gates) enabled(name string) bool {
	if on, said := g.on[name]; said {
		return on
	}
	return allGates()[name].on
}

// kube is the component that kube-apiserver's gates and versions belong to. An entry
// kube:Name=true is the same as Name=true.
const kube = "kube"

// finishGates reads the versions, then the gates, and reports the first mistake. Gates whose value
// makes a difference that this server does not make are refused or logged.
func (o *Options) finishGates() error {
	if err := o.generic.versions.read(); err != nil {
		return err
	}
	g := &o.generic.gates
	for _, name := range slices.Sorted(maps.Keys(g.asked)) {
		switch {
		case name == "" && len(g.asked[kube]) > 0:
			return fmt.Errorf("set kube feature gates with default empty prefix or kube: prefix consistently, do not mix use")
		case name != "" && name != kube:
			return fmt.Errorf("component not registered: %s", name)
		}
		asked, err := readGates(g.asked[name])
		if err == nil {
			err = g.resolve(asked)
		}
		if err != nil {
			return err
		}
		o.reportGates(asked)
	}
	return nil
}

// readGates reads entries Name=bool. The last entry for a gate counts.
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

// resolve sets g.on from asked, which has the gates that the flag names. AllAlpha and AllBeta set
// those gates of their stage that the flag does not name. Then resolve checks g.on as
// kube-apiserver does: each gate exists, a locked gate keeps its default, and a gate that is on has
// all the gates on that it needs. An unknown gate ends the check.
func (g *gates) resolve(asked map[string]bool) error {
	byName := allGates()
	g.on = maps.Clone(asked)
	var m mistakes
	for _, name := range slices.Sorted(maps.Keys(asked)) {
		on, one := asked[name], byName[name]
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
		for name, one := range byName {
			if _, itself := g.on[name]; said && !itself && one.stage == stage && name != allAlpha && name != allBeta {
				g.on[name] = on
			}
		}
	}
	for _, name := range slices.Sorted(maps.Keys(byName)) {
		if !g.enabled(name) {
			continue
		}
		if off := slices.DeleteFunc(slices.Clone(byName[name].needs), g.enabled); len(off) > 0 {
			m.add("%s is enabled, but depends on features that are disabled: %v", name, off)
		}
	}
	return m.err()
}

// reportGates refuses each gate of guards whose value asks for the protection. It adds one line for
// the log that names all gates whose value makes no difference to this server.
func (o *Options) reportGates(asked map[string]bool) {
	var without []string
	for _, name := range slices.Sorted(maps.Keys(o.generic.gates.on)) {
		on := o.generic.gates.on[name]
		guard, guarding := guards[name]
		_, said := asked[name]
		switch {
		case guarding && said && guard.asked == on:
			o.refusals = append(o.refusals, fmt.Errorf("--feature-gates %s=%t is refused: %s", name, on, guard.why))
		case !allGates()[name].follows(on):
			without = append(without, fmt.Sprintf("%s=%t", name, on))
		}
	}
	if len(without) > 0 {
		o.warn("feature gates have no effect", zap.Strings("gates", without))
	}
}

// follows reports whether the server behaves as a gate asks. A gate that concerns other programs,
// or that the server reads, is always followed.
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
