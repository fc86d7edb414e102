package admission_test

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"github.com/coracle-project/coracle/registry/admission"
	"github.com/coracle-project/coracle/router/request"
	"github.com/coracle-project/coracle/scheme"
	"github.com/coracle-project/coracle/scheme/api/corev1"
	"github.com/coracle-project/coracle/scheme/codec"
	"github.com/coracle-project/coracle/scheme/meta"
)

// accountsOf returns the plugin with the accounts of namespace "ns".
func accountsOf(list ...*corev1.ServiceAccount) *admission.ServiceAccount {
	find := func(_ context.Context, namespace, name string, _ request.Freshness) (*corev1.ServiceAccount, error) {
		for _, account := range list {
			if namespace == "ns" && account.Name == name {
				return account, nil
			}
		}
		return nil, meta.NewNotFound(meta.GroupResource{Resource: "serviceaccounts"}, name)
	}
	return admission.NewServiceAccount(find, func(base string) string { return base + "x" })
}

// account returns a service account that lists the secret "s" and the image pull secret "pull".
// enforce is the value of the annotation for mountable secrets, "" for none.
func account(name, enforce string) *corev1.ServiceAccount {
	account := &corev1.ServiceAccount{
		ObjectMeta: meta.ObjectMeta{Name: name}, Secrets: []corev1.ObjectReference{{Name: "s"}},
		ImagePullSecrets: []corev1.LocalObjectReference{{Name: "pull"}},
	}
	if enforce != "" {
		account.Annotations = map[string]string{"kubernetes.io/enforce-mountable-secrets": enforce}
	}
	return account
}

func decodeSpec(t *testing.T, text string, to *corev1.PodSpec) {
	t.Helper()
	if err := codec.DecodeJSON([]byte(text), to); err != nil {
		t.Fatalf("%s: %v", text, err)
	}
}

// accountPod decodes the spec of a pod, and returns the attributes of its creation.
func accountPod(t *testing.T, spec string) (*corev1.Pod, *admission.Attributes) {
	t.Helper()
	pod := &corev1.Pod{ObjectMeta: meta.ObjectMeta{Name: "p", Namespace: "ns"}}
	decodeSpec(t, spec, &pod.Spec)
	a := podAttributes(admission.Create, pod, nil)
	a.Namespace, a.Name = "ns", ""
	return pod, a
}

const (
	tokenVolumeJSON = `{"name":"kube-api-access-x","projected":{"sources":[` +
		`{"serviceAccountToken":{"expirationSeconds":3607,"path":"token"}},` +
		`{"configMap":{"name":"kube-root-ca.crt","items":[{"key":"ca.crt","path":"ca.crt"}]}},` +
		`{"downwardAPI":{"items":[{"path":"namespace","fieldRef":{"apiVersion":"v1","fieldPath":"metadata.namespace"}}]}}],` +
		`"defaultMode":420}}`
	tokenMountJSON = `{"name":"kube-api-access-x","readOnly":true,"mountPath":"/var/run/secrets/kubernetes.io/serviceaccount"}`
)

// TestServiceAccountMutates checks what the plugin adds to a pod. A second run changes nothing.
func TestServiceAccountMutates(t *testing.T) {
	silent := account("silent", "")
	silent.AutomountServiceAccountToken = new(false)
	bare := &corev1.ServiceAccount{ObjectMeta: meta.ObjectMeta{Name: "bare"}}
	plugin := accountsOf(account("default", ""), silent, bare)
	const (
		pull  = `"imagePullSecrets":[{"name":"pull"}]`
		plain = `"containers":[{"name":"c","resources":{}}]`
	)
	mounted := func(account string) string {
		return `{"volumes":[` + tokenVolumeJSON + `],"containers":[{"name":"c","resources":{},"volumeMounts":[` + tokenMountJSON + `]}],` +
			`"serviceAccountName":"` + account + `","serviceAccount":"` + account + `"`
	}
	for _, tt := range []struct{ name, pod, want string }{
		{"none", `{` + plain + `}`, mounted("default") + `,` + pull + `}`},
		{"own pull secrets", `{` + plain + `,"imagePullSecrets":[{"name":"mine"}]}`, mounted("default") + `,"imagePullSecrets":[{"name":"mine"}]}`},
		{"no pull secrets", `{` + plain + `,"serviceAccountName":"bare","serviceAccount":"bare"}`, mounted("bare") + `}`},
		{"account says no", `{` + plain + `,"serviceAccountName":"silent"}`, `{` + plain + `,"serviceAccountName":"silent",` + pull + `}`},
		{"pod says yes", `{` + plain + `,"serviceAccountName":"silent","serviceAccount":"silent","automountServiceAccountToken":true}`,
			mounted("silent") + `,"automountServiceAccountToken":true,` + pull + `}`},
		{"pod says no", `{` + plain + `,"automountServiceAccountToken":false}`,
			`{` + plain + `,"automountServiceAccountToken":false,"serviceAccountName":"default","serviceAccount":"default",` + pull + `}`},
		{"all have mounts", `{"containers":[{"name":"c","resources":{},"volumeMounts":[{"name":"m","mountPath":"/var/run/secrets/kubernetes.io/serviceaccount"}]}]}`,
			`{"containers":[{"name":"c","resources":{},"volumeMounts":[{"name":"m","mountPath":"/var/run/secrets/kubernetes.io/serviceaccount"}]}],` +
				`"serviceAccountName":"default","serviceAccount":"default",` + pull + `}`},
		{"init containers", `{"initContainers":[{"name":"i","resources":{}}],"containers":[]}`,
			`{"volumes":[` + tokenVolumeJSON + `],"initContainers":[{"name":"i","resources":{},"volumeMounts":[` + tokenMountJSON + `]}],"containers":[],` +
				`"serviceAccountName":"default","serviceAccount":"default",` + pull + `}`},
		{"a token volume is there", `{"volumes":[{"name":"kube-api-access-y","emptyDir":{}}],` + plain + `}`,
			`{"volumes":[{"name":"kube-api-access-y","emptyDir":{}}],"containers":[{"name":"c","resources":{},"volumeMounts":` +
				`[{"name":"kube-api-access-y","readOnly":true,"mountPath":"/var/run/secrets/kubernetes.io/serviceaccount"}]}],` +
				`"serviceAccountName":"default","serviceAccount":"default",` + pull + `}`},
	} {
		t.Run(tt.name, func(t *testing.T) {
			pod, a := accountPod(t, tt.pod)
			var want corev1.PodSpec
			decodeSpec(t, tt.want, &want)
			for range 2 {
				err := plugin.Mutate(t.Context(), a)
				if err == nil {
					err = plugin.Validate(t.Context(), a)
				}
				if err != nil || !scheme.Equal(&pod.Spec, &want) {
					t.Fatalf("got %+v, %v\nwant %+v", pod.Spec, err, want)
				}
			}
		})
	}
}

// TestServiceAccountRefuses checks the message of each refusal.
func TestServiceAccountRefuses(t *testing.T) {
	plugin := accountsOf(account("default", ""), account("strict", "true"), account("lax", "yes"), account("other", "false"))
	const (
		lookUp  = "error looking up service account ns/"
		because = " is not allowed because service account strict does not reference that secret"
		strict  = `"serviceAccountName":"strict",`
		env     = `"env":[{"name":"a","value":"v"},{"name":"b","valueFrom":{"secretKeyRef":{"name":"t","key":"k"}}}]`
		envFrom = `"envFrom":[{"secretRef":{"name":"s"}},{"secretRef":{"name":"t"}}]`
	)
	for _, tt := range []struct{ name, pod, mirror, want string }{
		{"missing", `{"serviceAccountName":"nobody"}`, "", lookUp + `nobody: serviceaccount "nobody" not found`},
		{"no name of an account", `{"serviceAccountName":"a/b"}`, "", lookUp + `a/b: invalid resource name "a/b": [may not contain '/']`},
		{"volume", `{` + strict + `"volumes":[{"name":"v","secret":{"secretName":"s"}},{"name":"w","secret":{"secretName":"t"}}]}`, "",
			`volume with secret.secretName="t"` + because},
		{"projected volume", `{` + strict + `"volumes":[{"name":"v","projected":{"sources":[{"secret":{"name":"t"}}]}}]}`, "", ""},
		{"init env", `{` + strict + `"initContainers":[{"name":"i",` + env + `}]}`, "", `init container i with envVar b referencing secret.secretName="t"` + because},
		{"init envFrom", `{` + strict + `"initContainers":[{"name":"i",` + envFrom + `}]}`, "", `init container i with envFrom referencing secret.secretName="t"` + because},
		{"env", `{` + strict + `"containers":[{"name":"c",` + env + `}]}`, "", `container c with envVar b referencing secret.secretName="t"` + because},
		{"envFrom", `{` + strict + `"containers":[{"name":"c",` + envFrom + `}]}`, "", `container c with envFrom referencing secret.secretName="t"` + because},
		{"pull secret", `{` + strict + `"imagePullSecrets":[{"name":"pull"},{"name":"s"}]}`, "",
			`imagePullSecrets[1].name="s" is not allowed because service account strict does not reference that imagePullSecret`},
		{"all allowed", `{` + strict + `"volumes":[{"name":"v","secret":{"secretName":"s"}}],"containers":[{"name":"c","envFrom":[{"secretRef":{"name":"s"}}]}]}`, "", ""},
		{"not a boolean", `{"serviceAccountName":"lax","containers":[{"name":"c",` + env + `}]}`, "", ""},
		{"not enforced", `{"serviceAccountName":"other","containers":[{"name":"c",` + env + `}]}`, "", ""},
		{"mirror", `{"containers":[{"name":"c"}]}`, "hash", ""},
		{"mirror with account", `{"serviceAccountName":"default"}`, "hash", "a mirror pod may not reference service accounts"},
		{"mirror with secret", `{"volumes":[{"name":"v","csi":{"driver":"d","nodePublishSecretRef":{"name":"t"}}}]}`, "hash", "a mirror pod may not reference secrets"},
		{"mirror with pull secret", `{"imagePullSecrets":[{"name":"t"}]}`, "hash", "a mirror pod may not reference secrets"},
		{"mirror with token", `{"volumes":[{"name":"v","projected":{"sources":[{"serviceAccountToken":{"path":"p"}}]}}]}`, "hash",
			"a mirror pod may not use ServiceAccountToken volume projections"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			pod, a := accountPod(t, tt.pod)
			if tt.mirror != "" {
				pod.Annotations = map[string]string{"kubernetes.io/config.mirror": tt.mirror}
			}
			before := *scheme.DeepCopy(&pod.Spec)
			checkRefused(t, "Mutate", plugin.Mutate(t.Context(), a), tt.want)
			checkRefused(t, "Validate", plugin.Validate(t.Context(), a), tt.want)
			if tt.mirror != "" && !scheme.Equal(&pod.Spec, &before) {
				t.Errorf("the mirror pod has changed: %+v", pod.Spec)
			}
		})
	}
	_, a := accountPod(t, `{}`)
	checkRefused(t, "Validate without an account", plugin.Validate(t.Context(), a), "no service account specified for pod ns/p")
}

// checkRefused compares an error with the expected refusal of pod p; "" stands for no error.
func checkRefused(t *testing.T, what string, err error, want string) {
	t.Helper()
	got := ""
	if err != nil {
		got = err.Error()
	}
	if want != "" {
		want = `pods "p" is forbidden: ` + want
	}
	if got != want || err != nil && !meta.IsForbidden(err) {
		t.Errorf("%s: got %q, want %q", what, got, want)
	}
}

// TestServiceAccountOfUpdates: the plugin checks only one sort of update, that of ephemeral
// containers. It does so for mirror pods, too.
func TestServiceAccountOfUpdates(t *testing.T) {
	plugin := accountsOf(account("strict", "true"), account("default", ""))
	const (
		bad     = `"ephemeralContainers":[{"name":"e","envFrom":[{"secretRef":{"name":"t"}}]}],"containers":[{"name":"c","envFrom":[{"secretRef":{"name":"t"}}]}]`
		refused = `ephemeral container e with envFrom referencing secret.secretName="t" is not allowed because service account strict does not reference that secret`
	)
	for _, tt := range []struct{ name, subresource, pod, want string }{
		{"ephemeral", "ephemeralcontainers", `{"serviceAccountName":"strict",` + bad + `}`, refused},
		{"not enforced", "ephemeralcontainers", `{"serviceAccountName":"default",` + bad + `}`, ""},
		{"no account", "ephemeralcontainers", `{` + bad + `}`, "no service account specified for pod ns/p"},
		{"gone", "ephemeralcontainers", `{"serviceAccountName":"gone"}`, `error looking up service account ns/gone: serviceaccount "gone" not found`},
		{"pod", "", `{"serviceAccountName":"gone",` + bad + `}`, ""},
		{"status", "status", `{"serviceAccountName":"gone",` + bad + `}`, ""},
		{"resize", "resize", `{"serviceAccountName":"gone",` + bad + `}`, ""},
	} {
		pod, a := accountPod(t, tt.pod)
		pod.Annotations = map[string]string{"kubernetes.io/config.mirror": ""}
		a.Operation, a.Subresource, a.Old = admission.Update, tt.subresource, scheme.DeepCopy(pod)
		if err := plugin.Mutate(t.Context(), a); err != nil || !scheme.Equal(pod, a.Old.(*corev1.Pod)) {
			t.Errorf("%s: Mutate: got %+v, %v", tt.name, pod, err)
		}
		err := plugin.Validate(t.Context(), a)
		if tt.want == refused { // like kube-apiserver, the plugin does not say what is forbidden
			if !meta.IsForbidden(err) || err.Error() != refused {
				t.Errorf("%s: got %v, want %s", tt.name, err, refused)
			}
			continue
		}
		checkRefused(t, tt.name, err, tt.want)
	}
}

// TestServiceAccountPatience: the plugin looks up the default account up to ten times, any other
// account once. An error or the end of the request ends the look-ups.
func TestServiceAccountPatience(t *testing.T) {
	for _, tt := range []struct {
		name, account string
		comes         int // the number of the live look-up that finds the account
		err           error
		timeout       time.Duration
		asked         int // live look-ups
		want          string
	}{
		{name: "at once", account: "default", comes: 1, asked: 1},
		{name: "last", account: "default", comes: 10, asked: 10},
		{name: "late", account: "default", comes: 11, asked: 10, want: `serviceaccount "default" not found`},
		{name: "another", account: "other", comes: 2, asked: 1, want: `serviceaccount "other" not found`},
		{name: "an error", account: "default", err: errors.New("no store"), asked: 0, want: "no store"},
		{name: "the end of the request", account: "default", comes: 5, timeout: 10 * time.Millisecond, asked: 1, want: `serviceaccount "default" not found`},
	} {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				asked := 0
				find := func(_ context.Context, namespace, name string, fresh request.Freshness) (*corev1.ServiceAccount, error) {
					if fresh == request.Consistent {
						asked++
					}
					switch {
					case namespace != "ns" || name != tt.account:
						return nil, fmt.Errorf("asked for %s/%s", namespace, name)
					case tt.err != nil:
						return nil, tt.err
					case asked == 0 || asked != tt.comes:
						return nil, meta.NewNotFound(meta.GroupResource{Resource: "serviceaccounts"}, name)
					}
					return &corev1.ServiceAccount{ObjectMeta: meta.ObjectMeta{Name: name}}, nil
				}
				plugin := admission.NewServiceAccount(find, func(base string) string { return base + "x" })
				ctx := t.Context()
				if tt.timeout > 0 {
					var cancel context.CancelFunc
					ctx, cancel = context.WithTimeout(ctx, tt.timeout)
					defer cancel()
				}
				_, a := accountPod(t, `{"serviceAccountName":"`+tt.account+`"}`)
				begin := time.Now()
				want := tt.want
				if want != "" {
					want = "error looking up service account ns/" + tt.account + ": " + want
				}
				checkRefused(t, "Mutate", plugin.Mutate(ctx, a), want)
				took, pauses := time.Since(begin), time.Duration(max(0, asked-1))
				if asked != tt.asked || tt.timeout == 0 && (took < pauses*100*time.Millisecond || took >= (pauses+1)*200*time.Millisecond) {
					t.Errorf("asked %d times in %v, want %d times", asked, took, tt.asked)
				}
			})
		})
	}
}

// TestServiceAccountCost: a write that creates no pod allocates nothing. Nor does the creation of a
// pod to which the plugin adds nothing.
func TestServiceAccountCost(t *testing.T) {
	plugin := accountsOf(&corev1.ServiceAccount{ObjectMeta: meta.ObjectMeta{Name: "default"}})
	config := &admission.Attributes{
		Operation: admission.Create, Resource: meta.GroupVersionResource{Version: "v1", Resource: "configmaps"}, Object: &corev1.ConfigMap{},
	}
	_, pod := accountPod(t, `{"serviceAccountName":"default","automountServiceAccountToken":false,"containers":[{"name":"c"}]}`)
	for name, a := range map[string]*admission.Attributes{"config map": config, "pod": pod} {
		if n := testing.AllocsPerRun(100, func() {
			if plugin.Mutate(t.Context(), a) != nil || plugin.Validate(t.Context(), a) != nil {
				t.Fatal("refused")
			}
		}); n > 0 {
			t.Errorf("%s: %v allocations", name, n)
		}
	}
}
