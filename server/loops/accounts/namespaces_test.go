package accounts_test

import (
	"context"
	"strings"
	"testing"
	"time"

	"go.uber.org/zap"

	"github.com/coracle-project/coracle/scheme/api/corev1"
	"github.com/coracle-project/coracle/scheme/meta"
	"github.com/coracle-project/coracle/server/client"
	"github.com/coracle-project/coracle/server/controller"
	"github.com/coracle-project/coracle/server/loops/accounts"
	"github.com/coracle-project/coracle/server/servertest/looptest"
)

// TestRootCA: all namespaces have the ConfigMap. It is restored after a change or a deletion. A
// description that is removed is restored, too, but one that a client replaces stays.
func TestRootCA(t *testing.T) {
	looptest.InFakeTime(t, func(t *testing.T, w *looptest.Fake) {
		maps := looptest.Of[*corev1.ConfigMap](w, "configmaps")
		w.Run(func(ctx context.Context, in *controller.Informers) {
			(&accounts.RootCA{Informers: in, CA: func() ([]byte, error) { return []byte("trust me"), nil }, Log: zap.NewNop()}).Run(ctx)
		})
		w.CreateNamespace("n")
		is := func(what, annotations string) {
			t.Helper()
			w.Sleep(time.Second)
			for _, namespace := range []string{"n", "kube-system"} {
				m, err := maps.In(namespace).Get(t.Context(), "kube-root-ca.crt", meta.GetOptions{})
				if err != nil || len(m.Data) != 1 || m.Data["ca.crt"] != "trust me" {
					t.Fatalf("%s, in %s: got %+v, %v", what, namespace, m, err)
				}
				if got := m.Annotations["kubernetes.io/description"]; !strings.HasPrefix(got, annotations) {
					t.Errorf("%s, in %s: the annotation is %q", what, namespace, got)
				}
			}
		}
		const description = "Contains a CA bundle that can be used to verify the kube-apiserver when using internal endpoints"
		is("new", description)
		for what, patch := range map[string]string{
			"changed":             `{"data":{"ca.crt":"trust another"}}`,
			"added to":            `{"data":{"more":"a"}}`,
			"without description": `{"metadata":{"annotations":null}}`,
		} {
			if _, err := maps.Patch(t.Context(), "kube-root-ca.crt", client.MergePatch, []byte(patch), meta.PatchOptions{}); err != nil {
				t.Fatal(err)
			}
			is(what, description)
		}
		looptest.Delete(w, maps, "kube-root-ca.crt")
		is("deleted", description)
		const patch = `{"metadata":{"annotations":{"kubernetes.io/description":"of our own"}}}`
		for _, namespace := range []string{"n", "kube-system"} {
			if _, err := maps.In(namespace).Patch(t.Context(), "kube-root-ca.crt", client.MergePatch, []byte(patch), meta.PatchOptions{}); err != nil {
				t.Fatal(err)
			}
		}
		is("described otherwise", "of our own")
	})
}

// TestServiceAccount: active namespaces have the default account, and a namespace that is being
// deleted has none.
func TestServiceAccount(t *testing.T) {
	looptest.InFakeTime(t, func(t *testing.T, w *looptest.Fake) {
		made := looptest.Of[*corev1.ServiceAccount](w, "serviceaccounts")
		w.Run(func(ctx context.Context, in *controller.Informers) {
			(&accounts.ServiceAccount{Informers: in, Log: zap.NewNop()}).Run(ctx)
		})
		w.CreateNamespace("n")
		looptest.Make(w, made, &corev1.ServiceAccount{ObjectMeta: meta.ObjectMeta{Name: "mine"}}, nil)
		is := func(want string) {
			t.Helper()
			w.Sleep(time.Second)
			if got := looptest.Names(w, made); got != want {
				t.Errorf("got %q, want %q", got, want)
			}
		}
		is("default mine")
		looptest.Delete(w, made, "mine")
		looptest.Delete(w, made, "default")
		is("default")
		looptest.Delete(w, looptest.Of[*corev1.Namespace](w, "namespaces"), "n") // no namespace controller runs, so n stays Terminating
		looptest.Delete(w, made, "default")
		is("")
	})
}
