package differential

import (
	"context"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apiserver/pkg/authorization/authorizer"
	"k8s.io/apiserver/pkg/registry/generic"
	typedcorev1 "k8s.io/client-go/kubernetes/typed/core/v1"
	classstore "k8s.io/kubernetes/pkg/registry/resource/deviceclass/storage"
	claimstore "k8s.io/kubernetes/pkg/registry/resource/resourceclaim/storage"
	claimtemplatestore "k8s.io/kubernetes/pkg/registry/resource/resourceclaimtemplate/storage"
	slicestore "k8s.io/kubernetes/pkg/registry/resource/resourceslice/storage"
)

// forAdminsLabel is the label of namespaces in which users may have administrator access to
// devices.
const forAdminsLabel = "resource.kubernetes.io/admin-access"

// forAdmins adds the label to a namespace.
func forAdmins(namespace map[string]any) map[string]any {
	merge(namespace, map[string]any{"metadata": map[string]any{"labels": map[string]any{forAdminsLabel: "true"}}})
	return namespace
}

// adminNamespaces is a client for which all namespaces have the label.
type adminNamespaces struct {
	typedcorev1.NamespaceInterface
}

func (adminNamespaces) Get(_ context.Context, name string, _ metav1.GetOptions) (*corev1.Namespace, error) {
	return &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: name, Labels: map[string]string{forAdminsLabel: "true"}}}, nil
}

func init() {
	kind := func(kind string) schema.GroupVersionKind {
		return schema.GroupVersionKind{Group: "resource.k8s.io", Version: "v1", Kind: kind}
	}
	// TestClaimStatusRights judges who may write which part of a status. Here everybody may.
	everybody := authorizer.AuthorizerFunc(func(context.Context, authorizer.Attributes) (authorizer.Decision, string, error) {
		return authorizer.DecisionAllow, "", nil
	})
	add(
		Row{Kind: kind("DeviceClass"), Resource: "deviceclasses", Cluster: true, REST: alone(classstore.NewREST)},
		Row{Kind: kind("ResourceSlice"), Resource: "resourceslices", Cluster: true, REST: alone(slicestore.NewREST)},
		Row{Kind: kind("ResourceClaim"), Resource: "resourceclaims",
			REST: withStatus(func(o generic.RESTOptionsGetter) (*claimstore.REST, *claimstore.StatusREST, error) {
				return claimstore.NewREST(o, adminNamespaces{}, everybody)
			})},
		Row{Kind: kind("ResourceClaimTemplate"), Resource: "resourceclaimtemplates",
			REST: alone(func(o generic.RESTOptionsGetter) (*claimtemplatestore.REST, error) {
				return claimtemplatestore.NewREST(o, adminNamespaces{})
			})},
	)
}
