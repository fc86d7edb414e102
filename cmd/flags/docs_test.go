package flags

import (
	"bytes"
	"cmp"
	"flag"
	"fmt"
	"maps"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/spf13/pflag"

	"github.com/coracle-project/coracle/server"
	"github.com/coracle-project/coracle/server/plugins"
)

var update = flag.Bool("update", false, "write docs/flags.md anew")

// TestDocs compares docs/flags.md with the flags, plugins and gates of the code. With -update it
// writes the file.
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
		t.Errorf("%s differs from the code: go test ./cmd/flags -run TestDocs -update writes it", path)
	}
}

const introduction = `# Flags

This file is written by ` + "`go test ./cmd/flags -run TestDocs -update`" + ` and held against the code by the same test.

` + "`coracle kube-apiserver`" + `, or this program under the name ` + "`kube-apiserver`" + `, takes the flags of kube-apiserver %s and has their defaults;
` + "`coracle serve`" + ` takes the same and works without any; some more are for it alone (serve only). Values are read, and mistakes are
worded, as kube-apiserver does. A flag is

- **honoured**; what follows the word, if anything, says which values are taken, or what they do,
- or it makes no difference here: the table says why, and so does one line of the log if it is given another value than its default,
- or it is refused with another value than its default, because it would be dangerous to ignore.

kube-apiserver does not start without --etcd-servers, --service-account-issuer, --service-account-key-file and --service-account-signing-key-file;
neither does ` + "`coracle kube-apiserver`" + `, but for --etcd-servers where --storage is given. There
a store in a folder (--storage=embedded or file), or an authority of its own (an empty --cert-dir), needs --data-dir.
A file that a flag names is a regular file of at most 16 MiB, or a pipe that ends within a minute: a device is refused. A pipe is read once,
and so it cannot be a file that is needed twice, such as the serving certificate, and does not change later.
Underscores in names count as dashes. --help and --version are there as well.
`

// document returns the text of docs/flags.md.
func document() []byte {
	var b bytes.Buffer
	fmt.Fprintf(&b, introduction, server.KubernetesVersion)
	inPlace := KubeAPIServer()
	for i, s := range Serve().sections {
		fmt.Fprintf(&b, "\n## %s\n\n| flag | default | here |\n|---|---|---|\n", s.name)
		s.VisitAll(func(serve *pflag.Flag) {
			f := inPlace.sections[i].Lookup(serve.Name)
			fmt.Fprintf(&b, "| `--%s` | %s | %s |\n", serve.Name, defaultsOf(f, serve), fate(cmp.Or(f, serve)))
		})
	}
	documentPlugins(&b)
	documentGates(&b)
	return b.Bytes()
}

// defaultsOf returns a flag's default in `coracle kube-apiserver`, and in `coracle serve` if it
// differs. f is nil if `coracle kube-apiserver` does not know the flag.
func defaultsOf(f, serve *pflag.Flag) string {
	_, other := helpOf(serve)
	if f == nil {
		return strings.TrimSpace("serve only " + code(other))
	}
	_, value := helpOf(f)
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

// fate returns what becomes of a flag, for the column "here".
func fate(f *pflag.Flag) string {
	text := "honoured"
	if why := annotation(f, ignored); why != "" {
		text = "no difference: " + why
	} else if why := annotation(f, refused); why != "" {
		text = "refused: " + why
	} else if what := annotation(f, explained); what != "" {
		text += ": " + what
	}
	if f.Hidden {
		text += " (not in the help)"
	}
	return text
}

func documentPlugins(b *bytes.Buffer) {
	b.WriteString(`
## Admission plugins

Names for --enable-admission-plugins, --disable-admission-plugins and --admission-control, in the order in which plugins run, and which are
on by default, as in kube-apiserver. NodeRestriction is also on where --authorization-mode has Node.
[admission.md](admission.md) says what each plugin does.

| plugin | by default | here |
|---|---|---|
`)
	for _, p := range plugins.Table() {
		byDefault, here := "", "yes"
		if p.Default {
			byDefault = "on"
		}
		if p.Idle != "" {
			here = "yes, and with nothing to do: " + p.Idle
		}
		fmt.Fprintf(b, "| %s | %s | %s |\n", p.Name, byDefault, here)
	}
}

// gateFates are the words of docs/flags.md for the values of gate.here.
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

All gates that kube-apiserver knows. One line of the log names the gates whose given value this server does not follow. kube-apiserver's
help has the gates of the stages alpha and beta. A locked gate cannot be other than its default, in either program.

| gate | stage | default | here |
|---|---|---|---|
`)
	known := allGates()
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
