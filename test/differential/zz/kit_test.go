package zz

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"hash/fnv"
	"math/rand/v2"
	"os"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/go-logr/logr"
	jsonpatch "gopkg.in/evanphx/json-patch.v4"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/managedfields"
	"k8s.io/apiserver/pkg/authorization/authorizer"
	openapinamer "k8s.io/apiserver/pkg/endpoints/openapi"
	"k8s.io/klog/v2"
	"k8s.io/kube-openapi/pkg/builder3"
	"k8s.io/kube-openapi/pkg/common"
	"k8s.io/kube-openapi/pkg/validation/spec"
	"k8s.io/kubernetes/pkg/api/legacyscheme"
	_ "k8s.io/kubernetes/pkg/apis/admissionregistration/install"
	_ "k8s.io/kubernetes/pkg/apis/apps/install"
	_ "k8s.io/kubernetes/pkg/apis/autoscaling/install"
	_ "k8s.io/kubernetes/pkg/apis/core/install"
	"k8s.io/kubernetes/pkg/generated/openapi"

	mine "github.com/coracle-project/coracle/scheme/cel"
)

var (
	seed  = uint64(time.Now().UnixNano())
	count = 1.0
)

func TestMain(m *testing.M) {
	flag.Parse()
	if s := os.Getenv("SEED"); s != "" {
		seed, _ = strconv.ParseUint(s, 10, 64)
	}
	if s := os.Getenv("COUNT"); s != "" {
		count, _ = strconv.ParseFloat(s, 64)
	}
	fmt.Printf("SEED=%d COUNT=%g\n", seed, count)
	jsonpatch.AccumulatedCopySizeLimit = 3 << 20
	klog.SetLogger(logr.Discard())
	os.Exit(m.Run())
}

func oneOf[T any](rnd *rand.Rand, of ...T) T  { return of[rnd.IntN(len(of))] }
func chance(rnd *rand.Rand, one int) bool     { return rnd.IntN(one) == 0 }
func must(err error) {
	if err != nil {
		panic(err)
	}
}
func must1[T any](v T, err error) T {
	must(err)
	return v
}
func decode(data []byte, v any) error {
	d := json.NewDecoder(bytes.NewReader(data))
	d.UseNumber()
	return d.Decode(v)
}
func encode(v any) []byte {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	if err := e.Encode(v); err != nil {
		panic(err)
	}
	return bytes.TrimSpace(b.Bytes())
}
func tree(v any) any {
	var out any
	must(decode(encode(v), &out))
	return out
}
func internal(t testing.TB, obj map[string]any) runtime.Object {
	out, err := runtime.Decode(legacyscheme.Codecs.UniversalDecoder(), encode(obj))
	must(err)
	return out
}
func versioned(t testing.TB, hub runtime.Object, kind schema.GroupVersionKind) map[string]any {
	obj, err := legacyscheme.Scheme.ConvertToVersion(hub, kind.GroupVersion())
	must(err)
	obj.GetObjectKind().SetGroupVersionKind(kind)
	return tree(obj).(map[string]any)
}
func random(subject ...any) *rand.Rand {
	h := fnv.New64a()
	fmt.Fprint(h, subject...)
	return rand.New(rand.NewPCG(seed, h.Sum64()))
}
func times(n int) int { return max(1, int(float64(n)*count)) }
func pluginStatus(status any) string {
	var s metav1.Status
	must(json.Unmarshal(encode(status), &s))
	s.TypeMeta = metav1.TypeMeta{}
	return string(encode(s))
}

var theirTypes = sync.OnceValue(func() managedfields.TypeConverter {
	return must1(managedfields.NewTypeConverter(theirDocuments(), false))
})
var theirDocuments = sync.OnceValue(func() map[string]*spec.Schema {
	definitions := openapi.GetOpenAPIDefinitions(func(name string) spec.Ref { return spec.MustCreateRef("#/components/schemas/" + name) })
	config := &common.OpenAPIV3Config{
		Info: &spec.Info{}, Definitions: definitions,
		GetDefinitionName: openapinamer.NewDefinitionNamer(legacyscheme.Scheme).GetDefinitionName,
	}
	var names []string
	for name := range definitions {
		if strings.HasPrefix(name, "io.k8s.api.") {
			names = append(names, name)
		}
	}
	return must1(builder3.BuildOpenAPIDefinitionsForResources(config, names...))
})
var theirAuthorizer = authorizer.AuthorizerFunc(func(_ context.Context, a authorizer.Attributes) (authorizer.Decision, string, error) {
	allowed, reason, err := celMay{a.GetUser().GetName()}.Authorize(mine.Access{
		Verb: a.GetVerb(), Path: a.GetPath(), Group: a.GetAPIGroup(), Resource: a.GetResource(), Subresource: a.GetSubresource(),
		Namespace: a.GetNamespace(), Name: a.GetName(),
	})
	if allowed {
		return authorizer.DecisionAllow, reason, err
	}
	return authorizer.DecisionNoOpinion, reason, err
})

type celMay struct{ who string }

func (m celMay) Authorize(a mine.Access) (bool, string, error) {
	a.FieldSelector, a.LabelSelector = "", ""
	h := fnv.New32a()
	fmt.Fprint(h, m.who, a)
	switch h.Sum32() % 3 {
	case 0:
		return false, "no", nil
	case 1:
		return false, "", errors.New("broken")
	}
	return true, fmt.Sprint("because ", a), nil
}
