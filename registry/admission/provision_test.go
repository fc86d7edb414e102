package admission_test

import (
	"context"
	"testing"

	"github.com/coracle-project/coracle/registry/admission"
	"github.com/coracle-project/coracle/router/request"
	"github.com/coracle-project/coracle/scheme/meta"
)

var namespaceResource = meta.GroupResource{Resource: "namespaces"}

// someNamespaces finds "cached" in the cache and in the store, and "stored" only in the store. A
// look-up of "broken" fails.
func someNamespaces(_ context.Context, name string, fresh request.Freshness) (admission.Namespace, error) {
	switch {
	case name == "cached" || name == "stored" && fresh == request.Consistent:
		return admission.Namespace{Labels: meta.Set(nil)}, nil
	case name == "broken":
		return admission.Namespace{}, meta.NewStoreReadError("broken cannot be read", nil)
	}
	return admission.Namespace{}, meta.NewNotFound(namespaceResource, name)
}

// inside returns a write of a config map in a namespace.
func inside(op admission.Operation, namespace string) *admission.Attributes {
	return &admission.Attributes{
		Operation: op, Resource: meta.GroupVersionResource{Version: "v1", Resource: "configmaps"},
		Kind: meta.GroupVersionKind{Version: "v1", Kind: "ConfigMap"}, Namespace: namespace, Name: "c",
	}
}

func TestNamespaceAutoProvision(t *testing.T) {
	created := ""
	plugin := admission.NewNamespaceAutoProvision(admission.NewNamespaces(someNamespaces), func(_ context.Context, name string) error {
		created = name
		switch name {
		case "taken":
			return meta.NewAlreadyExists(namespaceResource, name)
		case "full":
			return meta.NewServiceUnavailable("the store is full")
		}
		return nil
	})
	if plugin.Handles(admission.Update) {
		t.Error("handles updates")
	}
	for _, tt := range []struct {
		name          string
		dry           bool
		created, want string
	}{
		{"cached", false, "", ""},
		{"", false, "", ""},
		{"absent", false, "absent", ""},
		{"absent", true, "", ""},
		{"taken", false, "taken", ""},
		{"full", false, "full", `403 Forbidden: configmaps "c" is forbidden: the store is full`},
		{"broken", false, "", `403 Forbidden: configmaps "c" is forbidden: broken cannot be read`},
	} {
		created = ""
		a := inside(admission.Create, tt.name)
		a.DryRun = tt.dry
		if got := message(plugin.Mutate(t.Context(), a)); got != tt.want || created != tt.created {
			t.Errorf("%q, dry run %t: got %s, created %q, want %s, %q", tt.name, tt.dry, got, created, tt.want, tt.created)
		}
	}
}

func TestNamespaceExists(t *testing.T) {
	plugin := admission.NewNamespaceExists(admission.NewNamespaces(someNamespaces))
	for name, want := range map[string]string{
		"cached": "", "stored": "", "": "",
		"absent": `404 NotFound: namespaces "absent" not found`,
		"broken": "500 InternalError: Internal error occurred: broken cannot be read",
	} {
		for _, op := range []admission.Operation{admission.Create, admission.Update, admission.Delete} {
			if got := message(plugin.Validate(t.Context(), inside(op, name))); got != want || !plugin.Handles(op) {
				t.Errorf("%s in %q: got %s, want %s", op, name, got, want)
			}
		}
	}
	a := inside(admission.Update, "absent")
	a.Kind.Kind = "Namespace"
	if err := plugin.Validate(t.Context(), a); err != nil {
		t.Errorf("a namespace itself: %v", err)
	}
}

func TestAlwaysPlugins(t *testing.T) {
	if (admission.AlwaysAdmit{}).Handles(admission.Create) {
		t.Error("AlwaysAdmit handles creates")
	}
	for _, op := range []admission.Operation{admission.Create, admission.Update, admission.Delete, admission.Connect} {
		err := admission.Chain{admission.AlwaysAdmit{}, admission.AlwaysDeny{}}.Mutate(t.Context(), inside(op, "ns"))
		if got, want := message(err), `403 Forbidden: configmaps "c" is forbidden: admission control is denying all modifications`; got != want {
			t.Errorf("%s: got %s, want %s", op, got, want)
		}
	}
}
