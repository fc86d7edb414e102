package differential

import (
	"fmt"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/emicklei/go-restful/v3"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/managedfields"
	"k8s.io/apimachinery/pkg/util/sets"
	"k8s.io/apiserver/pkg/admission"
	"k8s.io/apiserver/pkg/audit"
	"k8s.io/apiserver/pkg/authentication/user"
	"k8s.io/apiserver/pkg/authorization/authorizer"
	"k8s.io/apiserver/pkg/authorization/authorizerfactory"
	"k8s.io/apiserver/pkg/endpoints"
	"k8s.io/apiserver/pkg/endpoints/filters"
	"k8s.io/apiserver/pkg/endpoints/handlers/responsewriters"
	openapinamer "k8s.io/apiserver/pkg/endpoints/openapi"
	"k8s.io/apiserver/pkg/endpoints/request"
	"k8s.io/apiserver/pkg/registry/rest"
	"k8s.io/kube-openapi/pkg/builder3"
	"k8s.io/kube-openapi/pkg/common"
	"k8s.io/kube-openapi/pkg/validation/spec"
	"k8s.io/kubernetes/pkg/api/legacyscheme"
	"k8s.io/kubernetes/pkg/generated/openapi"
)

// newTheirs returns Kubernetes' side: its request handlers over its registries over a shelf,
// without the server around them. It has the admission plugins that judgedTogether chooses, and
// everybody may do everything.
func newTheirs(t *testing.T, rows []Row, objects *shelf) http.Handler {
	t.Helper()
	all := authorizerfactory.NewAlwaysAllowAuthorizer()
	return theirHandlers(t, rows, objects, theirAdmission(t, judgedTogether, basicWorld(), all, nil), all)
}

// theirHandlers is newTheirs with some admission plugins and an authorizer.
func theirHandlers(t *testing.T, rows []Row, objects *shelf, admit admission.Interface, may authorizer.Authorizer) http.Handler {
	t.Helper()
	versions := map[schema.GroupVersion]map[string]rest.Storage{}
	for _, row := range rows {
		gv := row.Kind.GroupVersion()
		if versions[gv] == nil {
			versions[gv] = map[string]rest.Storage{}
		}
		doors, err := row.REST(objects)
		if err != nil {
			t.Fatalf("%s: %v", row.Resource, err)
		}
		for door, s := range doors {
			versions[gv][row.path(door)] = s
		}
	}
	container := restful.NewContainer()
	container.Router(restful.CurlyRouter{})
	container.ServiceErrorHandler(func(e restful.ServiceError, r *restful.Request, w *restful.Response) {
		err := apierrors.NewGenericServerResponse(e.Code, "", schema.GroupResource{}, "", e.Message, 0, false)
		responsewriters.ErrorNegotiated(err, legacyscheme.Codecs, schema.GroupVersion{}, w, r.Request)
	})
	equivalents := runtime.NewEquivalentResourceRegistryWithIdentity(storageOf)
	for gv, storages := range versions {
		meta1 := metav1.SchemeGroupVersion
		v1 := schema.GroupVersion{Version: "v1"}
		group := endpoints.APIGroupVersion{
			Storage: storages, Root: root(gv), GroupVersion: gv,
			OptionsExternalVersion: &v1, MetaGroupVersion: &meta1,
			Serializer: legacyscheme.Codecs, ParameterCodec: legacyscheme.ParameterCodec,
			Typer: legacyscheme.Scheme, Creater: legacyscheme.Scheme, Convertor: legacyscheme.Scheme,
			ConvertabilityChecker: legacyscheme.Scheme, UnsafeConvertor: runtime.UnsafeObjectConvertor(legacyscheme.Scheme),
			Defaulter: legacyscheme.Scheme, Namer: runtime.Namer(meta.NewAccessor()), TypeConverter: theirTypes(),
			EquivalentResourceRegistry: equivalents,
			Authorizer:                 may,
			Admit:                      admit,
			MinRequestTimeout:          time.Minute, MaxRequestBodyBytes: 3 << 20,
		}
		if _, _, err := group.InstallREST(container); err != nil {
			t.Fatalf("%s: %v", gv, err)
		}
	}
	h := filters.WithWarningRecorder(http.Handler(container))
	h = filters.WithAuthorization(h, may, legacyscheme.Codecs)
	h = withoutPanics(asUser(h))
	return filters.WithRequestInfo(h, &request.RequestInfoFactory{
		APIPrefixes: sets.NewString("api", "apis"), GrouplessAPIPrefixes: sets.NewString("api"),
	})
}

// panicked is the code of the answer if Kubernetes' code panics. A whole kube-apiserver has a
// filter that answers 500.
const panicked = 599

func withoutPanics(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		defer func() {
			if p := recover(); p != nil {
				w.WriteHeader(panicked)
				fmt.Fprintf(w, "%q", fmt.Sprint(p))
			}
		}()
		next.ServeHTTP(w, r)
	})
}

// asUser serves a request as the administrator, or as the impersonated user if there is one.
func asUser(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		who := &user.DefaultInfo{Name: "admin", Groups: []string{user.SystemPrivilegedGroup, user.AllAuthenticated}}
		if name := r.Header.Get("Impersonate-User"); name != "" {
			who = &user.DefaultInfo{Name: name, Groups: []string{user.AllAuthenticated}}
		}
		next.ServeHTTP(w, r.WithContext(audit.WithAuditContext(request.WithUser(r.Context(), who))))
	})
}

// zonedNode is a node with labels that admission knows.
const zonedNode = "zoned"

var zonedLabels = map[string]string{"topology.kubernetes.io/zone": "", "topology.kubernetes.io/region": "r", "other": "o"}

// theirTypes are the schemas of Kubernetes' types, by which it keeps managed fields.
var theirTypes = sync.OnceValue(func() managedfields.TypeConverter {
	return must1(managedfields.NewTypeConverter(theirDocuments(), false))
})

// theirDocuments are the schemas of Kubernetes' types, made as kube-apiserver makes them.
var theirDocuments = sync.OnceValue(func() map[string]*spec.Schema {
	definitions := openapi.GetOpenAPIDefinitions(func(name string) spec.Ref { return spec.MustCreateRef("#/components/schemas/" + name) })
	config := &common.OpenAPIV3Config{
		Info: &spec.Info{}, Definitions: definitions,
		GetDefinitionName: openapinamer.NewDefinitionNamer(legacyscheme.Scheme).GetDefinitionName,
	}
	var names []string
	for name := range definitions {
		for _, packages := range []string{"io.k8s.api.", "io.k8s.apiextensions-apiserver.pkg.apis.", "io.k8s.kube-aggregator.pkg.apis."} {
			if strings.HasPrefix(name, packages) { // other definitions are no objects
				names = append(names, name)
			}
		}
	}
	return must1(builder3.BuildOpenAPIDefinitionsForResources(config, names...))
})

// storageOf names the place at which a resource is stored, as kube-apiserver's registry of
// equivalent resources wants it. The events of both groups share one; "" stands for a place of its
// own.
func storageOf(gr schema.GroupResource) string {
	if gr.Resource == "events" {
		return gr.Resource
	}
	return ""
}
