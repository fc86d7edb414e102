package admission_test

import (
	"testing"

	"github.com/coracle-project/coracle/registry/admission"
	"github.com/coracle-project/coracle/scheme/api/corev1"
	"github.com/coracle-project/coracle/scheme/meta"
)

func TestDenyServiceExternalIPs(t *testing.T) {
	service := func(ips ...string) *corev1.Service {
		return &corev1.Service{Spec: corev1.ServiceSpec{ExternalIPs: ips}}
	}
	const refused = `403 Forbidden: services "s" is forbidden: Use of external IPs is denied by admission control`
	for _, tt := range []struct {
		name, sub string
		now, old  *corev1.Service
		want      string
	}{
		{"new without", "", service(), nil, ""},
		{"new with", "", service("192.0.2.1"), nil, refused},
		{"kept", "", service("192.0.2.2", "192.0.2.1"), service("192.0.2.1", "192.0.2.2", "192.0.2.3"), ""},
		{"one more", "", service("192.0.2.1", "192.0.2.2"), service("192.0.2.1"), refused},
		{"the status", "status", service("192.0.2.1"), service(), ""},
	} {
		a := &admission.Attributes{
			Operation: admission.Create, Resource: meta.GroupVersionResource{Version: "v1", Resource: "services"}, Subresource: tt.sub, Name: "s", Object: tt.now,
		}
		if tt.old != nil {
			a.Operation, a.Old = admission.Update, tt.old
		}
		if got := message((admission.DenyServiceExternalIPs{}).Validate(t.Context(), a)); got != tt.want {
			t.Errorf("%s: got %s, want %s", tt.name, got, tt.want)
		}
	}
}
