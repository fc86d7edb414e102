//go:build cluster

package interop

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"

	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/webhook/admission"
)

// lanternHooks are the admission webhooks of a manager of lanterns, made by controller-runtime's
// builders. They see lanterns in v2.
type lanternHooks struct{}

const (
	defaultLumens = 2 * lumensOfCandle
	maxLumens     = 100 * lumensOfCandle
)

// Default sets the lumens of a lantern that has none.
func (lanternHooks) Default(_ context.Context, l *lanternV2) error {
	if l.Spec.Lumens == 0 {
		l.Spec.Lumens = defaultLumens
	}
	return nil
}

func (lanternHooks) ValidateCreate(_ context.Context, l *lanternV2) (admission.Warnings, error) {
	if l.Spec.Lumens > maxLumens {
		return nil, fmt.Errorf("%d lumens are too bright", l.Spec.Lumens)
	}
	return nil, nil
}

func (h lanternHooks) ValidateUpdate(ctx context.Context, old, l *lanternV2) (admission.Warnings, error) {
	if l.DeletionTimestamp == nil && l.Spec.Lumens < old.Spec.Lumens {
		return nil, errors.New("a lantern never dims")
	}
	return h.ValidateCreate(ctx, l)
}

func (lanternHooks) ValidateDelete(context.Context, *lanternV2) (admission.Warnings, error) {
	return nil, nil
}

// lanternConfigurations are the configurations by which the server calls lanternHooks, with
// services that the environment replaces by its own address.
func lanternConfigurations(group string) []any {
	name := "lanterns." + group
	client := func(kind string) admissionregistrationv1.WebhookClientConfig {
		path := fmt.Sprintf("/%s-%s-v2-lantern", kind, strings.ReplaceAll(group, ".", "-"))
		return admissionregistrationv1.WebhookClientConfig{
			Service: &admissionregistrationv1.ServiceReference{Namespace: "default", Name: "hooks", Path: &path},
		}
	}
	rules := []admissionregistrationv1.RuleWithOperations{{
		Operations: []admissionregistrationv1.OperationType{"CREATE", "UPDATE", "DELETE"},
		Rule: admissionregistrationv1.Rule{
			APIGroups: []string{group}, APIVersions: []string{"v2"}, Resources: []string{"lanterns"},
		},
	}}
	harmless, versions := new(admissionregistrationv1.SideEffectClassNone), []string{"v1"}
	return []any{
		&admissionregistrationv1.MutatingWebhookConfiguration{
			TypeMeta:   metav1.TypeMeta{APIVersion: "admissionregistration.k8s.io/v1", Kind: "MutatingWebhookConfiguration"},
			ObjectMeta: metav1.ObjectMeta{Name: name},
			Webhooks: []admissionregistrationv1.MutatingWebhook{{
				Name: name, ClientConfig: client("mutate"), Rules: rules, SideEffects: harmless, AdmissionReviewVersions: versions,
			}},
		},
		&admissionregistrationv1.ValidatingWebhookConfiguration{
			TypeMeta:   metav1.TypeMeta{APIVersion: "admissionregistration.k8s.io/v1", Kind: "ValidatingWebhookConfiguration"},
			ObjectMeta: metav1.ObjectMeta{Name: name},
			Webhooks: []admissionregistrationv1.ValidatingWebhook{{
				Name: name, ClientConfig: client("validate"), Rules: rules, SideEffects: harmless, AdmissionReviewVersions: versions,
			}},
		},
	}
}

// checkLanternHooks writes lanterns in v1. The rules name v2, so the server converts the lanterns
// for the hooks and converts the changed lanterns back, by the conversion webhook of the same
// manager.
func checkLanternHooks(t *testing.T, config *rest.Config, types *runtime.Scheme, ns string) {
	t.Helper()
	c, err := client.New(config, client.Options{Scheme: types})
	if err != nil {
		t.Fatal(err)
	}
	lantern := func(candles int64) *lanternV1 {
		return &lanternV1{ObjectMeta: metav1.ObjectMeta{Namespace: ns, Name: "hooked"}, Spec: lanternSpec{Candles: candles}}
	}
	refused := func(err error, because string) {
		t.Helper()
		if !apierrors.IsForbidden(err) || !strings.Contains(err.Error(), because) {
			t.Errorf("got %v, want a refusal because %s", err, because)
		}
	}
	refused(c.Create(t.Context(), lantern(101)), "1212 lumens are too bright")
	l := lantern(0)
	if err := c.Create(t.Context(), l); err != nil || l.Spec.Candles != defaultLumens/lumensOfCandle {
		t.Fatalf("a lantern without light has %d candles, %v", l.Spec.Candles, err)
	}
	refused(c.Patch(t.Context(), lantern(1), client.RawPatch("application/merge-patch+json", []byte(`{"spec":{"candles":1}}`))), "a lantern never dims")
	if err := c.Delete(t.Context(), l); err != nil {
		t.Error(err)
	}
}
