package differential

import (
	"fmt"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/coracle-project/coracle/scheme/codec"
	"github.com/coracle-project/coracle/scheme/meta"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/kubernetes/pkg/api/legacyscheme"
)

// defaultsCount is the number of sparse objects of each kind.
const defaultsCount = 300

// laterDefaults are the fields that Kubernetes' conversions set and Coracle's do not: annotations,
// which a strategy sets in Coracle, and fields that only invalid objects have.
const laterDefaults = `(DaemonSet\.v1|HorizontalPodAutoscaler\.v2)\.metadata\.annotations.*|Deployment\.v1\.spec\.strategy\.rollingUpdate\..*`

// TestDefaults completes sparse objects by Kubernetes' registered functions and by Coracle's.
func TestDefaults(t *testing.T) {
	all := donors{}
	for _, row := range rows {
		for _, example := range row.examples(t) {
			all.learn(goType(t, row.Kind), example)
		}
	}
	eachKind(t, func(t *testing.T, k bothKind) {
		if strings.HasSuffix(k.Kind, "Options") || strings.HasSuffix(k.Kind, "List") {
			return // these have no defaults
		}
		typ := reflect.TypeOf(k.empty(t)).Elem()
		m := &mutator{rand: random("defaults", k.String()), donors: all, tame: true}
		found := map[string]int{}
		for i := range times(defaultsCount) {
			for path, example := range judgeDefaults(t, k, m.sparse(t, k, typ, i)) {
				if found[path]++; found[path] == 1 {
					t.Errorf("%s: %s", pattern(path), example)
				}
			}
			if len(found) > 30 {
				t.Fatal("and more")
			}
		}
	})
}

// sparse makes an object without most of its fields: an example or a made-up object, thinned.
func (m *mutator) sparse(t *testing.T, k bothKind, typ reflect.Type, i int) map[string]any {
	var obj map[string]any
	if examples := examplesOf(t, k); len(examples) > 0 && i%2 == 0 {
		obj = tree(examples[i/2%len(examples)]).(map[string]any)
	} else {
		for obj == nil {
			obj, _ = m.structure(typ, 0).(map[string]any)
		}
	}
	keep := []int{100, 95, 80, 50}[m.rand.IntN(4)]
	var thin []spot
	spots("", "", typ, obj, func(s spot) {
		if s.here != nil && s.remove != nil && m.rand.IntN(100) >= keep {
			thin = append(thin, s)
		}
	})
	for _, s := range slices.Backward(thin) {
		s.remove()
	}
	obj["apiVersion"], obj["kind"] = k.GroupVersion().String(), k.Kind
	return obj
}

func examplesOf(t *testing.T, k bothKind) []map[string]any {
	for _, row := range rows {
		if row.Kind == k.GroupVersionKind {
			return row.examples(t)
		}
	}
	return nil
}

// judgeDefaults returns the paths at which the completed objects differ.
func judgeDefaults(t *testing.T, k bothKind, obj map[string]any) map[string]string {
	data := encode(obj)
	their, _, err := theirJSON.Decode(data, &k.GroupVersionKind, k.empty(t))
	if err != nil {
		return nil // the made-up values do not decode
	}
	their, err = k.completed(their)
	if err != nil {
		return nil
	}
	d, err := k.codecs.Decode(codec.DecodeRequest{Data: data, As: k.our()})
	if err != nil {
		return map[string]string{"decode": fmt.Sprintf("%v: %s", err, data)}
	}
	our, err := k.ourCompleted(d.Object)
	if err != nil {
		return map[string]string{"conversion": fmt.Sprintf("%v: %s", err, data)}
	}
	var theirs, ours any
	if decode(k.write(t, theirJSON, their), &theirs) != nil || decode(k.ourWrite(t, codec.JSON, our), &ours) != nil {
		t.Fatal("what was written is no JSON")
	}
	found := map[string]string{}
	difference("", theirs, ours, func(path string, a, b any) {
		if matches(laterDefaults, k.Kind+"."+k.Version+"."+path) {
			return
		}
		found[pattern(path)] = fmt.Sprintf("Kubernetes %s, Coracle %s, of %s", encode(a), encode(b), data)
	})
	return found
}

// ourCompleted returns an object of ours with defaults, converted to the hub and back as a stored
// object is.
func (k bothKind) ourCompleted(obj meta.Typed) (meta.Typed, error) {
	k.scheme.Default(obj)
	if !legacyscheme.Scheme.Recognizes(k.GroupKind().WithVersion(runtime.APIVersionInternal)) {
		return obj, nil
	}
	hub, err := k.scheme.ToHub(obj)
	if err != nil {
		return nil, err
	}
	return k.scheme.ConvertTo(hub, k.our().GroupVersion())
}

// completed returns an object of theirs with defaults. It converts the object to the internal
// version and back, because Kubernetes sets some defaults in this conversion and Coracle has those,
// too.
func (k bothKind) completed(obj runtime.Object) (out runtime.Object, err error) {
	defer func() {
		if p := recover(); p != nil { // Kubernetes' defaults panic at some objects that a client can send
			err = fmt.Errorf("%v", p)
		}
	}()
	legacyscheme.Scheme.Default(obj)
	hub := k.GroupKind().WithVersion(runtime.APIVersionInternal)
	if !legacyscheme.Scheme.Recognizes(hub) {
		return obj, nil
	}
	internal, err := legacyscheme.Scheme.ConvertToVersion(obj, hub.GroupVersion())
	if err != nil {
		return nil, err
	}
	out, err = legacyscheme.Scheme.ConvertToVersion(internal, k.GroupVersion())
	if err == nil {
		out.GetObjectKind().SetGroupVersionKind(k.GroupVersionKind)
	}
	return out, err
}
