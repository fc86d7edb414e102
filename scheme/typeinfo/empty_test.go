package typeinfo_test

import (
	"reflect"
	"testing"

	"github.com/coracle-project/coracle/scheme/api/corev1"
	"github.com/coracle-project/coracle/scheme/typeinfo"
)

// hold has lists and maps that JSON shows as null when they are nil, and some with omitempty.
type hold struct {
	Deck `json:",inline"`

	Crates []string          `json:"crates"`
	Marks  map[string]string `json:"marks"`
	Seal   []byte            `json:"seal"`
	Left   []string          `json:"left,omitempty"`
	Out    map[string]string `json:"out,omitempty"`
	Below  *hold             `json:"below,omitempty"`
	Many   []hold            `json:"many,omitempty"`
	Named  map[string]hold   `json:"named,omitempty"`
}

// Deck is inlined.
type Deck struct {
	Boats []*hold `json:"boats"`
}

func TestDropEmpty(t *testing.T) {
	empty := func() hold {
		return hold{Deck: Deck{Boats: []*hold{}}, Crates: []string{}, Marks: map[string]string{}, Seal: []byte{},
			Left: []string{}, Out: map[string]string{}}
	}
	dropped := hold{Seal: []byte{}, Left: []string{}, Out: map[string]string{}}
	full := hold{Deck: Deck{Boats: []*hold{nil}}, Crates: []string{""}, Marks: map[string]string{"": ""}}
	got := empty()
	got.Below, got.Many, got.Named = ptr(empty()), []hold{empty(), full}, map[string]hold{"a": empty(), "b": full}
	want := dropped
	want.Below, want.Many, want.Named = ptr(dropped), []hold{dropped, full}, map[string]hold{"a": dropped, "b": full}
	if typeinfo.DropEmpty(&got); !reflect.DeepEqual(got, want) {
		t.Errorf("got %+v, want %+v", got, want)
	}
	typeinfo.DropEmpty((*hold)(nil))

	pod := &corev1.Pod{}
	pod.Spec.Containers = []corev1.Container{{Name: "c"}}
	pod.Spec.Volumes = []corev1.Volume{{Name: "v"}}
	if n := testing.AllocsPerRun(100, func() { typeinfo.DropEmpty(pod) }); n > 0 {
		t.Errorf("a pod without empty lists costs %v allocations, want none", n)
	}
}
