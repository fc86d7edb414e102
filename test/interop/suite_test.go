//go:build cluster

package interop

import (
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"github.com/go-logr/logr"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/webhook"
	"sigs.k8s.io/controller-runtime/pkg/webhook/conversion"
	"sigs.k8s.io/yaml"

	"github.com/coracle-project/coracle/server/identity"
	"github.com/coracle-project/coracle/server/servertest"
)

// configOf is the configuration with which client-go authenticates as a user.
func configOf(c *identity.Credentials) *rest.Config {
	return &rest.Config{
		Host: c.Host, TLSClientConfig: rest.TLSClientConfig{CAData: c.CAData, CertData: c.CertData, KeyData: c.KeyData},
		QPS: -1, // no bound
	}
}

// converts reports for which kinds a scheme has types that convert each other.
func converts(types *runtime.Scheme) func(group, kind string) bool {
	return func(group, kind string) bool {
		for gvk := range types.AllKnownTypes() {
			if gvk.GroupKind() != (schema.GroupKind{Group: group, Kind: kind}) {
				continue
			}
			if o, err := types.New(gvk); err == nil {
				if ok, err := conversion.IsConvertible(types, o); ok && err == nil {
					return true
				}
			}
		}
		return false
	}
}

// TestSuite is a suite of controller-runtime without envtest: no other process runs.
func TestSuite(t *testing.T) {
	t.Parallel()
	ctrl.SetLogger(logr.Discard())
	const group = "suite.example.com"
	types, dir := lanternScheme(t, group), t.TempDir()
	def := lanterns(group)
	def.SetGroupVersionKind(schema.GroupVersionKind{Group: "apiextensions.k8s.io", Version: "v1", Kind: "CustomResourceDefinition"})
	for i, obj := range append(lanternConfigurations(group), def) {
		text, err := yaml.Marshal(obj)
		if err == nil {
			err = os.WriteFile(filepath.Join(dir, fmt.Sprint(i, ".yaml")), text, 0o600)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	env := servertest.Environment{
		Paths: []string{dir}, Definitions: []any{lanterns("more." + group)}, Webhooks: &servertest.Webhooks{Converts: converts(types)},
	}
	s, err := env.Start()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := s.Stop(); err != nil {
			t.Error(err)
		}
	})
	c := clientset(t, configOf(s.Admin))
	for name, want := range map[string]string{"lanterns." + group: "Webhook", "lanterns.more." + group: "None"} {
		crd, err := definitionClient(t, configOf(s.Admin), "application/json").ApiextensionsV1().CustomResourceDefinitions().Get(t.Context(), name, metav1.GetOptions{})
		if err != nil || string(crd.Spec.Conversion.Strategy) != want {
			t.Errorf("%s: got %v, %v, want the strategy %s", name, crd.Spec.Conversion, err, want)
		}
	}
	manageLanterns(t, configOf(s.Admin), types, metav1.NamespaceDefault, webhook.Options{
		Host: s.Webhooks.Host, Port: s.Webhooks.Port, CertDir: s.Webhooks.CertDir,
	})
	checkLanternHooks(t, configOf(s.Admin), types, metav1.NamespaceDefault)

	// A user has the rights of roles, and can also authenticate by a kubeconfig.
	me, err := s.AddUser("me", "keepers")
	if err != nil {
		t.Fatal(err)
	}
	fromFile, err := clientcmd.RESTConfigFromKubeConfig(me.Kubeconfig())
	if err != nil {
		t.Fatal(err)
	}
	for _, config := range []*rest.Config{configOf(me), fromFile} {
		if _, err := clientset(t, config).CoreV1().ConfigMaps("default").List(t.Context(), metav1.ListOptions{}); !apierrors.IsForbidden(err) {
			t.Errorf("a user without roles: got %v, want Forbidden", err)
		}
	}
	if _, err := c.RbacV1().RoleBindings("default").Create(t.Context(), &rbacv1.RoleBinding{
		ObjectMeta: metav1.ObjectMeta{Name: "keepers"}, RoleRef: rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "ClusterRole", Name: "edit"},
		Subjects: []rbacv1.Subject{{APIGroup: rbacv1.GroupName, Kind: "Group", Name: "keepers"}},
	}, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	if _, err := clientset(t, fromFile).CoreV1().ConfigMaps("default").Create(t.Context(), configMap("mine"), metav1.CreateOptions{}); err != nil {
		t.Errorf("a user with a role: %v", err)
	}
}

// TestSuites runs suites at the same time, each with a server of its own.
func TestSuites(t *testing.T) {
	t.Parallel()
	for i := range 5 {
		t.Run(fmt.Sprint(i), func(t *testing.T) {
			t.Parallel()
			s, err := servertest.Environment{Definitions: []any{lanterns("many.example.com")}}.Start()
			if err != nil {
				t.Fatal(err)
			}
			if _, err := clientset(t, configOf(s.Admin)).CoreV1().Namespaces().Create(t.Context(),
				&corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: "mine"}}, metav1.CreateOptions{}); err != nil {
				t.Error(err)
			}
			if err := s.Stop(); err != nil {
				t.Error(err)
			}
		})
	}
}
