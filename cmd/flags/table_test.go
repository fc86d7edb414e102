package flags

import (
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/spf13/pflag"
)

// theirFlag is a flag as kube-apiserver's help shows it.
type theirFlag struct{ section, name, kind, value string }

// theirs reads the flags and gates of kube-apiserver from testdata/kube-apiserver.txt.
func theirs(t *testing.T) (flags []theirFlag, gates []string) {
	t.Helper()
	text, err := os.ReadFile("testdata/kube-apiserver.txt")
	if err != nil {
		t.Fatal(err)
	}
	section := ""
	for line := range strings.Lines(string(text)) {
		line = strings.TrimSpace(line)
		switch words := append(strings.Fields(line), ""); {
		case line == "" || line[0] == '#':
		case line[0] == '[':
			section = strings.Trim(line, "[]")
		case section == "Feature gates":
			gates = append(gates, line)
		default:
			flags = append(flags, theirFlag{section, words[0], words[1], words[2]})
		}
	}
	return flags, gates
}

// shownDefault matches the default at the end of a flag's help.
var shownDefault = regexp.MustCompile(`\(default "?(.*?)"?\)( \(DEPRECATED: .*\))?\n$`)

// helpOf returns the type and the default of a flag as the help shows them.
func helpOf(f *pflag.Flag) (kind, value string) {
	alone := pflag.NewFlagSet("", pflag.ContinueOnError)
	alone.AddFlag(f)
	if match := shownDefault.FindStringSubmatch(alone.FlagUsages()); match != nil {
		value = match[1]
	}
	if kind, _ = pflag.UnquoteUsage(f); kind == "" {
		kind = "bool"
	}
	return kind, value
}

// TestTable compares the flags with those of kube-apiserver: sections, names, types and defaults.
// kube-apiserver's help also has --help and --version, which the command adds.
func TestTable(t *testing.T) {
	theirs, _ := theirs(t)
	if len(theirs) != 170 {
		t.Fatalf("got %d flags of kube-apiserver, want 170", len(theirs))
	}
	ours := map[string]*section{}
	for _, s := range KubeAPIServer().sections {
		s.VisitAll(func(f *pflag.Flag) {
			if !f.Hidden {
				ours[f.Name] = s
			}
		})
	}
	for _, their := range theirs {
		s, here := ours[their.name]
		delete(ours, their.name)
		if !here {
			t.Errorf("--%s is missing", their.name)
			continue
		}
		got := theirFlag{section: s.name, name: their.name}
		if got.kind, got.value = helpOf(s.Lookup(their.name)); got != their {
			t.Errorf("got %+v, want %+v", got, their)
		}
	}
	for name, s := range ours {
		if s.name != "Coracle" {
			t.Errorf("--%s is in the section %s, but kube-apiserver has no such flag", name, s.name)
		}
	}
}

// TestGateTable compares gates.txt with the gates in kube-apiserver's help.
func TestGateTable(t *testing.T) {
	_, gates := theirs(t)
	if len(gates) != 150 {
		t.Fatalf("got %d gates of kube-apiserver, want 150", len(gates))
	}
	known := allGates()
	for _, line := range gates {
		words := strings.Fields(line)
		if g := known[words[0]]; g.stage != words[1] || g.on != (words[2] == "true") {
			t.Errorf("got %+v, want %s", g, line)
		}
	}
	for name, g := range known {
		fresh := g.stage == "alpha" || g.stage == "beta"
		if listed := slices.ContainsFunc(gates, func(l string) bool { return strings.HasPrefix(l, name+" ") }); listed != fresh {
			t.Errorf("%s is %s: is in the help: %t", name, g.stage, listed)
		}
		if !slices.Contains([]string{gateOn, gateOff, gateAsked, gateInside, gateElsewhere}, g.here) {
			t.Errorf("%s is %q here", name, g.here)
		}
		for _, need := range g.needs {
			if known[need].name == "" {
				t.Errorf("%s needs %s, which is not known", name, need)
			}
		}
	}
	for name := range guards {
		if known[name].name == "" {
			t.Errorf("%s guards something, but is not known", name)
		}
	}
}
