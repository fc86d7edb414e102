package admission_test

import (
	"context"
	"strings"
	"testing"

	"github.com/coracle-project/coracle/registry/admission"
	"github.com/coracle-project/coracle/registry/check/checktest"
	"github.com/coracle-project/coracle/router/request"
	"github.com/coracle-project/coracle/scheme/api/resourcev1"
	"github.com/coracle-project/coracle/scheme/meta"
)

// labelled has the value of the label resource.kubernetes.io/admin-access by namespace. It finds no
// other namespace.
type labelled map[string]string

func (l labelled) lookUp(_ context.Context, name string, fresh request.Freshness) (admission.Namespace, error) {
	value, ok := l[name]
	if !ok || fresh != request.Consistent {
		return admission.Namespace{}, meta.NewNotFound(meta.GroupResource{Resource: "namespaces"}, name)
	}
	return admission.Namespace{Labels: meta.Set{"resource.kubernetes.io/admin-access": value}}, nil
}

func TestDeviceAdminAccess(t *testing.T) {
	claim := func(text string) meta.Object { return checktest.Decode[resourcev1.ResourceClaim](t, text) }
	template := func(text string) meta.Object { return checktest.Decode[resourcev1.ResourceClaimTemplate](t, text) }
	const (
		requests  = `{"devices":{"requests":[{"name":"a","firstAvailable":[{}]},{"name":"b","exactly":{"adminAccess":false}},{"name":"c","exactly":{"adminAccess":true}}]}}`
		plain     = `{"devices":{"requests":[{"name":"a","exactly":{}}]}}`
		none      = `{"status":{"allocation":{"devices":{"results":[{},{"adminAccess":false}]}}}}`
		given     = `{"status":{"allocation":{"devices":{"results":[{},{"adminAccess":true}]}}}}`
		forbidden = `ResourceClaim.resource.k8s.io "x" is invalid: $.adminAccess: Forbidden: admin access to devices requires the ` +
			"`resource.kubernetes.io/admin-access: true` label on the containing namespace"
		inSpec, inStatus = "spec.devices.requests[2]", "status.allocation.devices.results[1]"
	)
	namespaces := labelled{"plain": "", "odd": "yes", "admin": "true"}
	p := admission.NewDeviceAdminAccess(admission.NewNamespaces(namespaces.lookUp))
	for _, tt := range []struct {
		name      string
		obj, old  meta.Object
		forbidden string // the path of the refused field, in namespaces without the label
	}{
		{"another kind", &resourcev1.DeviceClass{}, nil, ""},
		{"a claim", claim(`{"spec":` + plain + `}`), nil, ""},
		{"a claim with a status", claim(given), nil, ""},
		{"access in a claim", claim(`{"spec":` + requests + `}`), nil, inSpec},
		{"access in an old claim", claim(`{"spec":` + requests + `}`), claim(`{}`), ""},
		{"access in a template", template(`{"spec":{"spec":` + requests + `}}`), nil, inSpec},
		{"a template", template(`{"spec":{"spec":` + plain + `}}`), nil, ""},
		{"access in an old template", template(`{"spec":{"spec":` + requests + `}}`), template(`{}`), ""},
		{"an allocation", claim(none), claim(`{}`), ""},
		{"access in an allocation", claim(given), claim(none), inStatus},
		{"access in a first allocation", claim(given), claim(`{}`), inStatus},
		{"access in an old allocation", claim(given), claim(given), ""},
	} {
		for _, ns := range []string{"plain", "odd", "admin", "missing"} {
			a := &admission.Attributes{
				Operation: admission.Create, Kind: resourcev1.GroupVersion.WithKind("ResourceClaim"), Namespace: ns, Name: "x",
				Object: tt.obj,
			}
			if tt.old != nil {
				a.Operation, a.Old = admission.Update, tt.old
			}
			want := ""
			switch {
			case tt.forbidden == "" || ns == "admin":
			case ns == "missing":
				want = `namespaces "missing" not found`
			default:
				want = strings.Replace(forbidden, "$", tt.forbidden, 1)
			}
			got := ""
			if err := p.Validate(t.Context(), a); err != nil {
				got = err.Error()
			}
			if got != want {
				t.Errorf("%s in %s:\ngot  %s\nwant %s", tt.name, ns, got, want)
			}
		}
	}
	if !p.Handles(admission.Create) || !p.Handles(admission.Update) || p.Handles(admission.Delete) || p.Name() != "DeviceAdminAccess" {
		t.Error("wrong name or operations")
	}
}
