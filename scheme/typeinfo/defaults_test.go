package typeinfo_test

import (
	"reflect"
	"testing"

	"github.com/coracle-project/coracle/scheme/api/corev1"
	"github.com/coracle-project/coracle/scheme/typeinfo"
)

type level struct {
	Text    string            `json:"text,omitempty" default:"x"`
	Count   *int32            `json:"count,omitempty" default:"3"`
	Wide    int64             `json:"wide,omitempty" default:"-1"`
	On      *bool             `json:"on,omitempty" default:"true"`
	Ratio   float64           `json:"ratio,omitempty" default:"0.5"`
	List    []string          `json:"list,omitempty" default:"[\"a\",\"b\"]"`
	Map     map[string]string `json:"map,omitempty" default:"{\"k\":\"v\"}"`
	Object  *leaf             `json:"object,omitempty" default:"{}"`
	Below   *level            `json:"below,omitempty"`
	Many    []level           `json:"many,omitempty"`
	Named   map[string]level  `json:"named,omitempty"`
	NamedP  map[string]*level `json:"namedP,omitempty"`
	Nothing *leaf             `json:"nothing,omitempty"`
}

type leaf struct {
	Mode string `json:"mode,omitempty" default:"on"`
}

func TestDefault(t *testing.T) {
	full := func() level {
		return level{Text: "x", Count: ptr(int32(3)), Wide: -1, On: ptr(true), Ratio: 0.5, List: []string{"a", "b"},
			Map: map[string]string{"k": "v"}, Object: &leaf{Mode: "on"}}
	}
	below, want := full(), full()
	want.Below, want.Many = &below, []level{full(), full()}
	want.Named, want.NamedP = map[string]level{"a": full()}, map[string]*level{"b": ptr(full()), "nil": nil}
	got := level{Below: &level{}, Many: make([]level, 2), Named: map[string]level{"a": {}},
		NamedP: map[string]*level{"b": {}, "nil": nil}}
	typeinfo.Default(&got)
	if !reflect.DeepEqual(got, want) {
		t.Errorf("Default: got %+v, want %+v", got, want)
	}
	var other level
	typeinfo.Default(&other)
	got.List[0], got.Map["k"] = "changed", "changed"
	var third level
	typeinfo.Default(&third)
	if third.List[0] != "a" || third.Map["k"] != "v" || other.List[0] != "a" {
		t.Error("two defaulted values share memory")
	}
	said := level{Text: "y", Count: ptr(int32(0)), On: ptr(false), Object: &leaf{Mode: "off"}}
	typeinfo.Default(&said)
	if said.Text != "y" || *said.Count != 0 || *said.On || said.Object.Mode != "off" {
		t.Errorf("Default: overwrote values: %+v", said)
	}
}

func TestDefaultPod(t *testing.T) {
	pod := samplePod()
	typeinfo.Default(pod)
	if got := pod.Spec.Containers[1].Ports[1].Protocol; got != "TCP" {
		t.Errorf("protocol: got %q, want TCP", got)
	}
	if got := testing.AllocsPerRun(100, func() { typeinfo.Default(pod) }); got != 0 {
		t.Errorf("Default with nothing to do: got %v allocs, want 0", got)
	}
	typeinfo.Default(nil)
	typeinfo.Default((*corev1.Pod)(nil))
	typeinfo.Default(corev1.Pod{})
}

func BenchmarkDefault(b *testing.B) {
	b.Run("object=pod", func(b *testing.B) {
		b.ReportAllocs()
		pod := samplePod()
		for b.Loop() {
			typeinfo.Default(pod)
		}
	})
	b.Run("object=configmap", func(b *testing.B) {
		b.ReportAllocs()
		c := &corev1.ConfigMap{}
		for b.Loop() {
			typeinfo.Default(c)
		}
	})
}
