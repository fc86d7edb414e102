package differential

import (
	"bytes"
	"encoding/json"
	"fmt"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/coracle-project/coracle/registry/govalue"
	"github.com/coracle-project/coracle/scheme/codec"
	"github.com/coracle-project/coracle/scheme/sample"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/kubernetes/pkg/api/legacyscheme"
)

// shownCount is the number of objects of each kind.
const shownCount = 5

// neverShown are parts that differ but that no message shows: fields that only old versions have,
// or that one side leaves out.
const neverShown = `HorizontalPodAutoscaler\..*|CSIDriver\.Spec|Secret\.Data|(DaemonSet|Deployment)\.Spec|Node\.Spec.*|Pod\.Status.*|` +
	`(Valid|Mut)atingAdmissionPolicy(Binding)?\.Spec.*|CustomResourceDefinition\.Spec(\.Conversion)?`

// TestShown compares how messages show the parts of an object: as Kubernetes' internal types, with
// their fields in their order. Messages never show lists or kinds without an internal type.
func TestShown(t *testing.T) {
	internal := func(k bothKind) schema.GroupVersionKind { return k.GroupKind().WithVersion(runtime.APIVersionInternal) }
	shown := func(k bothKind) bool {
		return legacyscheme.Scheme.Recognizes(internal(k)) && !strings.HasSuffix(k.Kind, "List")
	}
	eachKindThat(t, shown, func(t *testing.T, k bothKind) {
		f := sample.New(random("shown", k.String()).Uint64())
		found := map[string]string{}
		for range times(shownCount) {
			obj, err := k.scheme.NewObject(k.our())
			if err != nil {
				t.Fatal(err)
			}
			f.Fill(obj)
			obj.GetTypeMeta().SetGroupVersionKind(k.our())
			their, err := legacyscheme.Scheme.ConvertToVersion(k.read(t, theirJSON, k.ourWrite(t, codec.JSON, obj)), internal(k).GroupVersion())
			if err != nil {
				continue // some made-up values do not convert
			}
			ours, theirs := reflect.ValueOf(obj).Elem(), reflect.ValueOf(their).Elem()
			for i := range theirs.NumField() {
				name := theirs.Type().Field(i).Name
				if mine := ours.FieldByName(name); name != "TypeMeta" && name != "ObjectMeta" && mine.IsValid() {
					compareShown(name, shownKeys(t, theirs.Field(i).Interface()), shownKeys(t, govalue.JSON(mine.Interface())), found)
				}
			}
		}
		for path, what := range found {
			if !matches(neverShown, k.Kind+"."+path) {
				t.Errorf("%s: %s", path, what)
			}
		}
	})
}

// ordered is a JSON object with its keys in order, or a list, whose keys are places.
type ordered struct {
	keys   []string
	values map[string]*ordered
}

// shownKeys reads the keys in the JSON of a value; nil for scalars.
func shownKeys(t *testing.T, v any) *ordered {
	text, err := json.Marshal(v)
	if err != nil {
		t.Fatal(err)
	}
	d := json.NewDecoder(bytes.NewReader(text))
	var read func() *ordered
	read = func() *ordered {
		token, err := d.Token()
		if err != nil {
			t.Fatal(err)
		}
		delim, ok := token.(json.Delim)
		if !ok {
			return nil
		}
		o := &ordered{values: map[string]*ordered{}}
		for i := 0; d.More(); i++ {
			key := fmt.Sprint(i)
			if delim == '{' {
				token, _ := d.Token()
				key = token.(string)
			}
			o.keys, o.values[key] = append(o.keys, key), read()
		}
		_, _ = d.Token() // the end
		return o
	}
	return read()
}

// compareShown notes the paths at which keys or their order differ.
func compareShown(path string, theirs, ours *ordered, found map[string]string) {
	if theirs == nil || ours == nil {
		return
	}
	if !slices.Equal(theirs.keys, ours.keys) {
		found[path] = fmt.Sprintf("Kubernetes has\n\t%s\nCoracle has\n\t%s", strings.Join(theirs.keys, " "), strings.Join(ours.keys, " "))
	}
	for key, value := range theirs.values {
		if _, err := fmt.Sscan(key, new(int)); err == nil {
			compareShown(path+"[]", value, ours.values[key], found)
		} else {
			compareShown(path+"."+key, value, ours.values[key], found)
		}
	}
}
