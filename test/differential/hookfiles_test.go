package differential

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"

	policyloader "k8s.io/kubernetes/pkg/admission/plugin/policy/manifest/loader"
	webhookloader "k8s.io/kubernetes/pkg/admission/plugin/webhook/manifest/loader"
	"sigs.k8s.io/yaml"

	"github.com/coracle-project/coracle/registry/admission/hookfiles"
	"github.com/coracle-project/coracle/server/reload"
)

// hookLoader reads a directory of hooks by both sides. Each returns all objects and the hash of the
// content.
type hookLoader struct {
	name         string
	kinds        []string // that the directory may hold
	theirs, ours func(dir string) (objects any, hash string, err error)
}

var hookLoaders = []hookLoader{
	{"validating webhooks", []string{"ValidatingWebhookConfiguration"},
		func(dir string) (any, string, error) {
			r, err := webhookloader.LoadValidatingManifests(dir)
			if err != nil {
				return nil, "", err
			}
			return []any{r.Configurations}, r.Hash, nil
		},
		func(dir string) (any, string, error) {
			list, content, err := hookfiles.ValidatingWebhooks(dir)
			return []any{list}, reload.HashLabel(content), err
		}},
	{"mutating webhooks", []string{"MutatingWebhookConfiguration"},
		func(dir string) (any, string, error) {
			r, err := webhookloader.LoadMutatingManifests(dir)
			if err != nil {
				return nil, "", err
			}
			return []any{r.Configurations}, r.Hash, nil
		},
		func(dir string) (any, string, error) {
			list, content, err := hookfiles.MutatingWebhooks(dir)
			return []any{list}, reload.HashLabel(content), err
		}},
	{"validating policies", []string{"ValidatingAdmissionPolicy", "ValidatingAdmissionPolicyBinding"},
		func(dir string) (any, string, error) {
			r, err := policyloader.LoadValidatingManifestsFromDirectory(dir)
			if err != nil {
				return nil, "", err
			}
			return []any{r.Policies, r.Bindings}, r.Hash, nil
		},
		func(dir string) (any, string, error) {
			p, content, err := hookfiles.ValidatingPolicies(dir)
			return []any{p.Policies, p.Bindings}, reload.HashLabel(content), err
		}},
	{"mutating policies", []string{"MutatingAdmissionPolicy", "MutatingAdmissionPolicyBinding"},
		func(dir string) (any, string, error) {
			r, err := policyloader.LoadMutatingManifestsFromDirectory(dir)
			if err != nil {
				return nil, "", err
			}
			return []any{r.Policies, r.Bindings}, r.Hash, nil
		},
		func(dir string) (any, string, error) {
			p, content, err := hookfiles.MutatingPolicies(dir)
			return []any{p.Policies, p.Bindings}, reload.HashLabel(content), err
		}},
}

// hookFiles makes directories.
type hookFiles struct {
	*mutator
	t        *testing.T
	kinds    []string
	examples map[string][]map[string]any // by kind
	types    map[string]reflect.Type
	policies []string // the names of the policies of the present directory
	next     int      // for names
}

// object returns an object that is valid in most cases.
func (h *hookFiles) object() map[string]any {
	kind := one(h.mutator, h.kinds...)
	if chance(h.rand, 60) {
		kind = one(h.mutator, "ValidatingWebhookConfiguration", "MutatingAdmissionPolicy", "ValidatingAdmissionPolicyBinding")
	}
	obj := tree(h.examples[kind][h.rand.IntN(len(h.examples[kind]))]).(map[string]any)
	if chance(h.rand, 12) {
		obj = h.mutate(h.types[kind], obj)
	}
	h.next++
	name := fmt.Sprintf("n%d.static.k8s.io", h.next%70)
	if chance(h.rand, 60) {
		name = one(h.mutator, "a", "", "static.k8s.io", "A.static.k8s.io", ".static.k8s.io", fmt.Sprintf("n%d.static.k8s.io", (h.next+69)%70))
	}
	if strings.HasSuffix(kind, "Policy") {
		h.policies = append(h.policies, name)
	}
	if m, is := obj["metadata"].(map[string]any); is {
		m["name"] = name
	}
	if spec, is := obj["spec"].(map[string]any); is && !chance(h.rand, 40) {
		h.detach(spec)
	}
	if hooks, is := obj["webhooks"].([]any); is && !chance(h.rand, 40) {
		for _, hook := range hooks {
			if hook, is := hook.(map[string]any); is {
				hook["clientConfig"] = map[string]any{"url": "https://a/"}
			}
		}
	}
	switch h.rand.IntN(200) {
	case 0:
		delete(obj, "kind")
	case 1:
		delete(obj, "apiVersion")
	case 2:
		obj["apiVersion"] = one(h.mutator, "v1", "admissionregistration.k8s.io/v1beta1", "a/b/c", "")
	case 3:
		obj["kind"] = one[any](h.mutator, "Pod", "List", kind+"List", 1)
	case 4:
		obj["unknown"] = 1
	}
	return obj
}

// detach removes what a policy or binding says about params, and makes a binding's policy one of a
// few.
func (h *hookFiles) detach(spec map[string]any) {
	delete(spec, "paramRef")
	if _, is := spec["paramKind"]; is {
		delete(spec, "paramKind")
		for _, user := range []string{"matchConditions", "variables", "auditAnnotations"} {
			delete(spec, user) // they may read params
		}
		if _, is := spec["mutations"]; !is {
			spec["validations"] = []any{map[string]any{"expression": "object.metadata.name != 'x'"}}
		} else {
			spec["mutations"] = []any{map[string]any{"patchType": "JSONPatch", "jsonPatch": map[string]any{"expression": "[JSONPatch{op: 'test'}]"}}}
		}
	}
	if _, is := spec["policyName"]; is {
		spec["policyName"] = one(h.mutator, append([]string{"n1.static.k8s.io"}, h.policies...)...)
	}
}

// document returns one or several objects as text.
func (h *hookFiles) document() string {
	var obj map[string]any
	switch h.rand.IntN(10) {
	case 0:
		obj = map[string]any{"apiVersion": "v1", "kind": "List", "items": h.items(0)}
	case 1:
		kind := one(h.mutator, h.kinds...)
		items := []any{}
		for range h.rand.IntN(3) {
			if item := h.object(); item["kind"] == kind {
				items = append(items, item)
			}
		}
		obj = map[string]any{"apiVersion": "admissionregistration.k8s.io/v1", "kind": kind + "List", "items": items}
	default:
		obj = h.object()
	}
	text := encode(obj)
	made, err := yaml.JSONToYAML(text)
	if err != nil || chance(h.rand, 3) { // some JSON is no YAML
		return h.spoilText(string(text))
	}
	return h.spoilText(string(made))
}

// items returns the items of a List.
func (h *hookFiles) items(depth int) []any {
	items := []any{}
	for range h.rand.IntN(3) {
		switch {
		case depth < 3 && chance(h.rand, 6):
			items = append(items, map[string]any{"apiVersion": one(h.mutator, "v1", "x/y"), "kind": "List", "items": h.items(depth + 1)})
		case chance(h.rand, 60):
			items = append(items, nil)
		default:
			items = append(items, h.object())
		}
	}
	return items
}

// spoilText makes a text wrong in rare cases.
func (h *hookFiles) spoilText(text string) string {
	switch h.rand.IntN(100) {
	case 0:
		return text[:h.rand.IntN(len(text))]
	case 1:
		return text + text
	case 2:
		return strings.Replace(text, ":", "", 1)
	case 3:
		return strings.Replace(text, "\n", "\r\n", -1)
	case 4:
		return strings.Replace(text, "{", "{ \"kind\": \"List\", ", 1)
	case 5:
		return "# a comment\n" + text
	}
	return text
}

// file returns the content of a file.
func (h *hookFiles) file() string {
	text := one(h.mutator, "", "", "", "---\n", "--- # first\n", "\n---\n", " \n")
	if chance(h.rand, 40) {
		text = one(h.mutator, "\t", "# only a comment\n---\n", "---\n---\n")
	}
	for i := range h.rand.IntN(4) {
		if i > 0 {
			text += one(h.mutator, "---\n", "---\r\n", "--- # more\n", "---\n\n---\n", "...\n---\n")
			if chance(h.rand, 40) {
				text += one(h.mutator, "---x\n", " ---\n", "----\n")
			}
		}
		text += strings.TrimSuffix(h.document(), "\n") + "\n"
	}
	return text
}

// directory makes a directory of up to four files.
func (h *hookFiles) directory() string {
	dir := h.t.TempDir()
	h.policies = nil
	for range h.rand.IntN(4) {
		name := one(h.mutator, "a", "b", "c", "d") + one(h.mutator, ".yaml", ".yaml", ".yml", ".json", ".YAML", ".txt", "")
		if err := os.WriteFile(filepath.Join(dir, name), []byte(h.file()), 0o600); err != nil {
			h.t.Fatal(err)
		}
	}
	return dir
}

// TestHookFiles lets both sides read made-up directories of webhooks and policies: the objects with
// their defaults, the hash of the content, and the texts of errors.
func TestHookFiles(t *testing.T) {
	examples, types, all := map[string][]map[string]any{}, map[string]reflect.Type{}, donors{}
	for _, row := range rows {
		if row.Kind.Group == "admissionregistration.k8s.io" {
			examples[row.Kind.Kind], types[row.Kind.Kind] = row.examples(t), goType(t, row.Kind)
			for _, example := range examples[row.Kind.Kind] {
				all.learn(types[row.Kind.Kind], example)
			}
		}
	}
	for _, loader := range hookLoaders {
		t.Run(loader.name, func(t *testing.T) {
			h := &hookFiles{mutator: &mutator{rand: random("hookfiles", loader.name), donors: all}, t: t, kinds: loader.kinds, examples: examples, types: types}
			accepted, objects, texts := 0, 0, map[string]bool{}
			for range times(1000) {
				dir := h.directory()
				n, text := loader.compare(t, dir)
				if t.Failed() {
					return
				}
				if text == "" {
					accepted++
				}
				objects += n
				texts[text] = true
				if err := os.RemoveAll(dir); err != nil {
					t.Fatal(err)
				}
			}
			t.Logf("%d of %d directories were accepted, with %d objects; %d different errors", accepted, times(1000), objects, len(texts)-1)
		})
	}
}

// compare lets both sides read a directory. It returns the number of objects, and the error without
// the name of the directory.
func (l *hookLoader) compare(t *testing.T, dir string) (objects int, text string) {
	t.Helper()
	theirs, theirHash, theirErr := l.theirs(dir)
	ours, ourHash, ourErr := l.ours(dir)
	saying := func(err error) string {
		text := strings.NewReplacer(dir, "DIR", `in scheme "pkg/runtime/scheme.go:111"`, `in scheme "coracle"`).Replace(fmt.Sprint(err))
		if strings.Contains(text, ".labels: ") || strings.Contains(text, ".annotations: ") || strings.Contains(text, "matchLabels: ") {
			parts := strings.Split(strings.NewReplacer(": [", ": , ", "]", "").Replace(text), ", ") // they walk maps in no order
			slices.Sort(parts)
			text = strings.Join(parts, ", ")
		}
		return text[:min(len(text), 2000)] // ours are cut at some length
	}
	if saying(theirErr) != saying(ourErr) {
		t.Errorf("errors:\ntheirs %s\nours   %s\n%s", saying(theirErr), saying(ourErr), show(dir))
		return 0, ""
	}
	if theirErr != nil {
		return 0, saying(theirErr)
	}
	if theirHash != ourHash {
		t.Errorf("hashes: theirs %s, ours %s\n%s", theirHash, ourHash, show(dir))
	}
	wanted, got := tree(theirs).([]any), tree(ours).([]any)
	for i := range wanted {
		if list, is := wanted[i].([]any); is {
			objects += len(list)
		}
		if wanted[i] == nil || got[i] == nil { // an empty list may be null
			wanted[i], got[i] = nilList(wanted[i]), nilList(got[i])
		}
	}
	difference("", any(wanted), any(got), func(path string, theirs, ours any) {
		if path == "[*][*].apiVersion" || path == "[*][*].kind" { // they lose both while they convert
			return
		}
		t.Errorf("%s: theirs %s, ours %s\n%s", path, encode(theirs), encode(ours), show(dir))
	})
	return objects, ""
}

// nilList returns a list of JSON, which is empty for null.
func nilList(v any) []any {
	list, _ := v.([]any)
	return append([]any{}, list...)
}

// show returns the files of a directory.
func show(dir string) string {
	var b strings.Builder
	entries, err := os.ReadDir(dir)
	for _, e := range entries {
		data, failed := os.ReadFile(filepath.Join(dir, e.Name()))
		err = errors.Join(err, failed)
		fmt.Fprintf(&b, "=== %s\n%s", e.Name(), data)
	}
	if err != nil {
		return err.Error()
	}
	return b.String()
}
