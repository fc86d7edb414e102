package differential

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/util/sets"
	authzconfig "k8s.io/apiserver/pkg/apis/apiserver"
	authorizationcel "k8s.io/apiserver/pkg/authorization/cel"
	theirauthorizer "k8s.io/kubernetes/pkg/kubeapiserver/authorizer"

	"github.com/coracle-project/coracle/filters/authz"
)

// TestAuthorizationConfigurations has both sides judge the same random AuthorizationConfigurations.
func TestAuthorizationConfigurations(t *testing.T) {
	rnd := random("authorization configuration")
	pick := func(list ...string) string { return list[rnd.IntN(len(list))] }
	kubeconfig := filepath.Join(t.TempDir(), "kubeconfig")
	if err := os.WriteFile(kubeconfig, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	webhook := func() string {
		var fields []string
		add := func(name string, usual string, others ...string) {
			v := usual
			if rnd.IntN(6) == 0 {
				v = pick(append(others, "-")...)
			}
			if v != "-" {
				fields = append(fields, fmt.Sprintf("%q:%s", name, v))
			}
		}
		add("timeout", `"3s"`, `"30s"`, `"31s"`, `"-1s"`, `"0s"`)
		add("authorizedTTL", `"1m"`, `"0s"`, `"-2s"`, "1")
		add("unauthorizedTTL", `"1m"`, `"0s"`, `"-2s"`)
		add("subjectAccessReviewVersion", `"v1"`, `"v1beta1"`, `"v2"`, `""`)
		add("matchConditionSubjectAccessReviewVersion", `"v1"`, `"v1beta1"`, `""`)
		add("failurePolicy", `"Deny"`, `"NoOpinion"`, `"Allow"`, `""`)
		add("cacheAuthorizedRequests", "-", "true", "false")
		file := fmt.Sprintf("%q", kubeconfig)
		add("connectionInfo", `{"type":"KubeConfigFile","kubeConfigFile":`+file+`}`, `{}`, `{"type":"InClusterConfig"}`,
			`{"type":"InClusterConfig","kubeConfigFile":`+file+`}`, `{"type":"KubeConfigFile"}`, `{"type":"KubeConfigFile","kubeConfigFile":"a"}`,
			`{"type":"KubeConfigFile","kubeConfigFile":"/none"}`, `{"type":"KubeConfigFile","kubeConfigFile":"/"}`, `{"type":"KubeConfigFile","kubeConfigFile":""}`)
		var conditions []string
		for range rnd.IntN(4) {
			conditions = append(conditions, fmt.Sprintf(`{"expression":%q}`, pick(
				"true", "request.user == 'a'", "has(request.resourceAttributes)", "request.resourceAttributes.namespace == 'a'", "'g' in request.groups",
				"request.extra['a'].exists(x, x == 'b')", "request.nonResourceAttributes.path.startsWith('/')", "request.uid",
				"request.resourceAttributes.fieldSelector.requirements.exists(r, r.key == 'a' && r.operator == 'In' && 'v' in r.values)",
				"request.resourceAttributes.?labelSelector.rawSelector.orValue('') == ''", "", " ", "1", "request", "nobody", "request.nothing", "true &&",
				"request.resourceAttributes.nothing == ''", "request.user == 1", "oldObject == null", "[?request.user]")))
		}
		if len(conditions) > 0 {
			add("matchConditions", "["+strings.Join(conditions, ",")+"]", "null")
		}
		if rnd.IntN(40) == 0 {
			add("unknown", "1")
		}
		return "{" + strings.Join(fields, ",") + "}"
	}
	accepted, n := 0, times(4000)
	for range n {
		var places []string
		for range rnd.IntN(4) {
			kind := pick("Webhook", "Webhook", "Node", "ABAC", "AlwaysAllow", "AlwaysDeny", "", "Other")
			name := strings.ToLower(kind)
			if kind == "Webhook" {
				name = fmt.Sprint("w", len(places))
			}
			if rnd.IntN(8) == 0 {
				name = pick("a", "b.c", "A_", "", "w0")
			}
			place := fmt.Sprintf(`{"type":%q,"name":%q`, kind, name)
			if (kind == "Webhook") != (rnd.IntN(12) == 0) {
				place += `,"webhook":` + webhook()
			}
			places = append(places, place+"}")
		}
		text := fmt.Sprintf(`{"apiVersion":"apiserver.config.k8s.io/%s","kind":"AuthorizationConfiguration","authorizers":[%s]}`,
			pick("v1", "v1beta1", "v1alpha1", "v1"), strings.Join(places, ","))
		required := [][]string{nil, {"Node"}, {"Node", "ABAC"}}[rnd.IntN(3)]
		types := sets.New[authzconfig.AuthorizerType]()
		for _, r := range required {
			types.Insert(authzconfig.AuthorizerType(r))
		}
		ours, err := authz.ParseConfiguration([]byte(text))
		if err == nil {
			err = ours.Validate([]string{"Node", "ABAC", "AlwaysAllow", "AlwaysDeny", "Webhook", "RBAC"}, required)
		}
		theirs, theirErr := theirauthorizer.LoadAndValidateData([]byte(text), compiler, types)
		if sorted(err) != sorted(theirErr) {
			t.Errorf("%s:\n got %v\nwant %v", text, err, theirErr)
		}
		if err != nil || theirErr != nil {
			continue
		}
		accepted++
		for i := range theirs.Authorizers {
			if w := theirs.Authorizers[i].Webhook; w != nil {
				o := ours.Authorizers[i].Webhook
				if o.AuthorizedTTL.Duration != w.AuthorizedTTL.Duration || o.UnauthorizedTTL.Duration != w.UnauthorizedTTL.Duration ||
					*o.CacheAuthorizedRequests != w.CacheAuthorizedRequests || *o.CacheUnauthorizedRequests != w.CacheUnauthorizedRequests {
					t.Errorf("%s: defaults: got %+v, want %+v", text, o, w)
				}
			}
		}
	}
	t.Logf("%d of %d accepted", accepted, n)
	if accepted < n/50 {
		t.Error("too little is accepted")
	}
}

var compiler = authorizationcel.NewDefaultCompiler()

// sorted is the text of an error in which all parts are joined by commas.
func sorted(err error) string {
	if err == nil {
		return ""
	}
	return strings.NewReplacer("[", "", "]", "", "\n", ", ").Replace(err.Error())
}
