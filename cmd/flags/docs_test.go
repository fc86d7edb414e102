package flags

import (
	"bytes"
	"flag"
	"fmt"
	"maps"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/spf13/pflag"

	"github.com/coracle-project/coracle/server"
)

var update = flag.Bool("update", false, "write docs/flags.md anew")

// TestDocs holds docs/flags.md against the flags, the plugins and the gates that there are.
func TestDocs(t *testing.T) {
	const path = "../../docs/flags.md"
	want := document()
	if *update {
		if err := os.WriteFile(path, want, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	got, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(got, want) {
		t.Errorf("%s is not what the code says: go test ./cmd/flags -run TestDocs -update writes it anew", path)
	}
}

const introduction = `# Flags

This file is written by ` + "`go test ./cmd/flags -run TestDocs -update`" + ` and held against the code by the same test.

` + "`coracle kube-apiserver`" + `, or this program under the name ` + "`kube-apiserver`" + `, takes the flags of kube-apiserver %s and has their defaults;
` + "`coracle serve`" + ` takes the same and works without any. Values are read, and mistakes are worded, as kube-apiserver does. A flag is

- **honoured**,
- or it makes no difference here: the table says why, and so does one line of the log if it is given another value than its default,
- or it is refused with another value than its default, because it would be dangerous to ignore.

kube-apiserver does not start without --etcd-servers, --service-account-issuer, --service-account-key-file and --service-account-signing-key-file;
neither does ` + "`coracle kube-apiserver`" + `, but for --etcd-servers where --storage is given. There
a store in a folder (--storage=embedded or file), or an authority of its own (an empty --cert-dir), needs --data-dir.
Underscores in names count as dashes. --help and --version are there as well.
`

// document is docs/flags.md.
func document() []byte {
	var b bytes.Buffer
	fmt.Fprintf(&b, introduction, server.KubernetesVersion)
	serve := Serve()
	for i, s := range KubeAPIServer().sections {
		fmt.Fprintf(&b, "\n## %s\n\n| flag | default | here |\n|---|---|---|\n", s.name)
		s.VisitAll(func(f *pflag.Flag) {
			fmt.Fprintf(&b, "| `--%s` | %s | %s |\n", f.Name, defaultsOf(f, serve.sections[i].Lookup(f.Name)), fate(f))
		})
	}
	documentPlugins(&b)
	documentGates(&b)
	return b.Bytes()
}

// defaultsOf are the defaults of both commands.
func defaultsOf(f, serve *pflag.Flag) string {
	_, value := helpOf(f)
	_, other := helpOf(serve)
	text := code(value)
	if other != value {
		text += " (serve: " + code(other) + ")"
	}
	return text
}

func code(s string) string {
	if s == "" {
		return ""
	}
	return "`" + s + "`"
}

// fate is what becomes of a flag.
func fate(f *pflag.Flag) string {
	text := "honoured"
	if why := note(f, ignored); why != "" {
		text = "no difference: " + why
	} else if why := note(f, refused); why != "" {
		text = "refused: " + why
	}
	if f.Hidden {
		text += " (not in the help)"
	}
	return text
}

func documentPlugins(b *bytes.Buffer) {
	b.WriteString(`
## Admission plugins

Names for --enable-admission-plugins, --disable-admission-plugins and --admission-control. All that are here are on by default;
NodeRestriction is where --authorization-mode has Node, unless it is disabled. A plugin that is not here is refused if it is asked for and
guards something. What kube-apiserver has on by default and is not here is not there without a word.

| plugin | here |
|---|---|
`)
	here := server.AdmissionPlugins()
	for _, name := range slices.Sorted(slices.Values(slices.Concat(here, slices.Collect(maps.Keys(absentPlugins))))) {
		text := "yes"
		if why, absent := absentPlugins[name]; absent {
			text = "no: a line of the log"
			if why != "" {
				text = "refused: " + why
			}
		}
		fmt.Fprintf(b, "| %s | %s |\n", name, text)
	}
}

// gateFates say what becomes of gates.
var gateFates = map[string]string{
	gateOn:        "always on",
	gateOff:       "never on",
	gateAsked:     "as asked",
	gateInside:    "inside of kube-apiserver",
	gateElsewhere: "elsewhere: nodes, schedulers, controllers, proxies",
}

func documentGates(b *bytes.Buffer) {
	b.WriteString(`
## Feature gates

All that kube-apiserver knows. One line of the log names those that are asked to be other than they are here. Gates of the stages alpha
and beta are those in kube-apiserver's help; a locked one cannot be other than its default, in either.

| gate | stage | default | here |
|---|---|---|---|
`)
	known := knownGates()
	for _, name := range slices.Sorted(maps.Keys(known)) {
		g := known[name]
		value, text := fmt.Sprint(g.on), gateFates[g.here]
		if g.locked {
			value += ", locked"
		}
		if guard, is := guards[name]; is {
			text += fmt.Sprintf("; %t is refused: %s", guard.asked, guard.why)
		}
		fmt.Fprintf(b, "| %s | %s | %s | %s |\n", name, strings.ReplaceAll(g.stage, "ga", "GA"), value, text)
	}
}
