package manifest_test

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/coracle-project/coracle/scheme/manifest"
	"github.com/coracle-project/coracle/scheme/meta"
)

// shown returns objects as "document: apiVersion kind namespace/name".
func shown(objects []manifest.Object) string {
	var lines []string
	for _, o := range objects {
		lines = append(lines, fmt.Sprintf("%d: %s %s %s/%s", o.Document, o.Kind.GroupVersion(), o.Kind.Kind, o.Namespace, o.Name))
	}
	return strings.Join(lines, "\n")
}

func TestRead(t *testing.T) {
	for name, tt := range map[string]struct{ text, want, err string }{
		"nothing":          {},
		"comments":         {text: "# nothing\n---\n# here\n"},
		"one":              {text: "apiVersion: v1\nkind: Secret\nmetadata: {name: a}", want: "1: v1 Secret /a"},
		"separated":        {text: "kind: A\napiVersion: x/v1\n--- # b\nkind: B\napiVersion: x/v1\n---\n", want: "1: x/v1 A /\n2: x/v1 B /"},
		"separated first":  {text: "---\nkind: A\napiVersion: x/v1\n", want: "1: x/v1 A /"},
		"a line in a text": {text: "kind: A\napiVersion: v1\ntext: |\n  ---\n  b\n", want: "1: v1 A /"},
		"JSON":             {text: `{"kind":"A","apiVersion":"v1","metadata":{"namespace":"n","name":"a"}} {"kind":"B","apiVersion":"v1"}`, want: "1: v1 A n/a\n2: v1 B /"},
		"flow":             {text: `{kind: A, apiVersion: v1}`, want: "1: v1 A /"},
		"list":             {text: "kind: List\napiVersion: v1\nitems:\n- {kind: A, apiVersion: v1}\n- {kind: B, apiVersion: v2}", want: "1: v1 A /\n1: v2 B /"},
		"no kind":          {text: "kind: A\napiVersion: v1\n---\nspec: {}", want: "1: v1 A /", err: "f: document 2: kind is not set"},
		"no version":       {text: "kind: A", err: "f: document 1: apiVersion is not set"},
		"bad version":      {text: "kind: A\napiVersion: a/b/c", err: "f: document 1: apiVersion: unexpected GroupVersion string: a/b/c"},
		"no object":        {text: "- kind: A", err: "f: document 1: not a JSON object"},
		"a key twice":      {text: "kind: A\nkind: B\napiVersion: v1", err: `line 2: key "kind" already set`},
		"no YAML":          {text: "kind: A\n\tb: [", err: "f: document 1: yaml: "},
		"bad item":         {text: "kind: List\napiVersion: v1\nitems: [{kind: A}]", err: "f: document 1: items[0]: apiVersion is not set"},
	} {
		objects, err := manifest.Read("f", []byte(tt.text))
		if got := shown(objects); got != tt.want {
			t.Errorf("%s: got %s, want %s", name, got, tt.want)
		}
		if (err == nil) != (tt.err == "") || err != nil && !strings.Contains(err.Error(), tt.err) {
			t.Errorf("%s: got the error %v, want %q", name, err, tt.err)
		}
	}
}

// TestReadMany reads no more documents, and no more objects, than Max.
func TestReadMany(t *testing.T) {
	object := `{"kind":"A","apiVersion":"v1"}`
	for name, text := range map[string]string{
		"YAML":             strings.Repeat("---\n"+object+"\n", manifest.Max+9),
		"JSON":             strings.Repeat(object+"\n", manifest.Max+9),
		"a list":           `{"kind":"List","apiVersion":"v1","items":[` + strings.Repeat(object+",", manifest.Max+9) + object + "]}",
		"nothing, in YAML": strings.Repeat("---\n", manifest.Max+9),
	} {
		objects, err := manifest.Read("f", []byte(text))
		if err == nil || err.Error() != "f: more than 100000 documents or objects: the rest has not been read" {
			t.Errorf("%s: got %.200v", name, err)
		}
		if want := manifest.Max; len(objects) != want && !strings.HasPrefix(name, "nothing") {
			t.Errorf("%s: got %d objects, want %d", name, len(objects), want)
		}
	}
	objects, err := manifest.Read("f", []byte(strings.Repeat("---\n"+object+"\n", manifest.Max)))
	if err != nil || len(objects) != manifest.Max {
		t.Errorf("as many as may be: got %d objects, %v", len(objects), err)
	}
}

func TestReadPath(t *testing.T) {
	dir := t.TempDir()
	for name, text := range map[string]string{
		"b.yaml": "kind: B\napiVersion: v1", "a.json": `{"kind":"A","apiVersion":"v1"}`, "c.yml": "kind: C\napiVersion: v1",
		"notes.txt": "kind: D", ".hidden": "", "deep/e.yaml": "kind: E\napiVersion: v1",
	} {
		path := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	objects, err := manifest.ReadPath(dir)
	if want := "1: v1 A /\n1: v1 B /\n1: v1 C /"; err != nil || shown(objects) != want {
		t.Errorf("the folder: got %s, %v, want %s", shown(objects), err, want)
	}
	objects, err = manifest.ReadPath(filepath.Join(dir, "b.yaml"))
	if err != nil || len(objects) != 1 || objects[0].Position() != filepath.Join(dir, "b.yaml")+": document 1" {
		t.Errorf("a file: got %v, %v", objects, err)
	}
	for name, text := range map[string]string{"d.yaml": "resources: [b.yaml]", "f.yaml": "- of a tool", "g.yaml": "kind: List\napiVersion: v1\nitems: [{kind: B, apiVersion: v1}, {}]"} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	objects, err = manifest.ReadPath(dir, meta.GroupKind{Kind: "B"}, meta.GroupKind{Group: "x", Kind: "A"})
	if want := "1: v1 B /\n1: v1 B /"; err != nil || shown(objects) != want {
		t.Errorf("some kinds: got %s, %v, want %s", shown(objects), err, want)
	}
	if _, err := manifest.ReadPath(filepath.Join(dir, "none")); !os.IsNotExist(err) {
		t.Errorf("no file: got %v", err)
	}
}
