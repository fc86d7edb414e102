package schemetest_test

import (
	"errors"
	"fmt"
	"slices"
	"strconv"
	"testing"

	"github.com/coracle-project/coracle/scheme"
	"github.com/coracle-project/coracle/scheme/meta"
	"github.com/coracle-project/coracle/scheme/schemetest"
)

// Boat has two versions; v1 is the hub.
type Boat struct {
	meta.TypeMeta   `json:",inline"`
	meta.ObjectMeta `json:"metadata,omitempty"`
	Spec            BoatSpec `json:"spec,omitempty"`
}

type BoatSpec struct {
	Seats int32             `json:"seats,omitempty"`
	Name  string            `json:"name,omitempty"`
	Oars  []Oar             `json:"oars,omitempty"`
	Bays  map[string]Oar    `json:"bays,omitempty"`
	Sail  *Oar              `json:"sail,omitempty"`
	Flag  *bool             `json:"flag,omitempty"`
	Tags  map[string]string `json:"tags,omitempty"`
}

type Oar struct {
	Length int64  `json:"length,omitempty"`
	Wood   string `json:"wood,omitempty"`
}

// oldBoat is a Boat in v1alpha1, which has its seats as text.
type oldBoat struct {
	meta.TypeMeta   `json:",inline"`
	meta.ObjectMeta `json:"metadata,omitempty"`
	Spec            oldSpec `json:"spec,omitempty"`
}

type oldSpec struct {
	Seats string            `json:"seats,omitempty"`
	Name  string            `json:"name,omitempty"`
	Oars  []Oar             `json:"oars,omitempty"`
	Bays  map[string]Oar    `json:"bays,omitempty"`
	Sail  *Oar              `json:"sail,omitempty"`
	Flag  *bool             `json:"flag,omitempty"`
	Tags  map[string]string `json:"tags,omitempty"`
}

// boats returns a scheme with both versions. change runs last in each direction.
func boats(t *testing.T, toHub func(*oldSpec, *BoatSpec), fromHub func(*BoatSpec, *oldSpec)) *scheme.Scheme {
	t.Helper()
	s := scheme.New()
	s.AddKnownTypes(meta.GroupVersion{Group: "boats.io", Version: "v1"}, &Boat{})
	s.AddKnownType(meta.GroupVersionKind{Group: "boats.io", Version: "v1alpha1", Kind: "Boat"}, &oldBoat{})
	scheme.AddConversion(s, func(in *oldSpec, out *BoatSpec) error {
		if err := scheme.ConvertFields(s, in, out); err != nil {
			return err
		}
		seats, err := strconv.ParseInt(in.Seats, 10, 32)
		if out.Seats = int32(seats); err != nil {
			return errors.New("seats is no number")
		}
		toHub(in, out)
		return nil
	})
	scheme.AddConversion(s, func(in *BoatSpec, out *oldSpec) error {
		err := scheme.ConvertFields(s, in, out)
		out.Seats = strconv.Itoa(int(in.Seats))
		fromHub(in, out)
		return err
	})
	if err := s.Complete(); err != nil {
		t.Fatal(err)
	}
	return s
}

// seated sets seats to a number, because no tag says that the text must be one.
func seated(obj meta.Object) { obj.(*oldBoat).Spec.Seats = "4" }

func nothing(*oldSpec, *BoatSpec) {}

func TestLosses(t *testing.T) {
	for _, tt := range []struct {
		name    string
		fromHub func(*BoatSpec, *oldSpec)
		never   bool
		want    []string
	}{
		{"nothing", func(*BoatSpec, *oldSpec) {}, false, nil},
		{"a field", func(_ *BoatSpec, out *oldSpec) { out.Name = "" }, true, []string{"spec.name is lost on the way to the hub and back"}},
		{"a pointer", func(_ *BoatSpec, out *oldSpec) { out.Sail = nil }, true, []string{"spec.sail is lost on the way to the hub and back"}},
		{"below a pointer", func(_ *BoatSpec, out *oldSpec) {
			if out.Sail != nil {
				out.Sail.Wood = ""
			}
		}, true, []string{"spec.sail.wood is lost on the way to the hub and back"}},
		{"in a list", func(_ *BoatSpec, out *oldSpec) {
			for i := range out.Oars {
				out.Oars[i].Length = 0
			}
		}, true, []string{"spec.oars[].length is lost on the way to the hub and back"}},
		{"in a map", func(_ *BoatSpec, out *oldSpec) {
			for k, bay := range out.Bays {
				bay.Wood = ""
				out.Bays[k] = bay
			}
		}, true, []string{"spec.bays[].wood is lost on the way to the hub and back"}},
		{"several", func(_ *BoatSpec, out *oldSpec) { out.Oars, out.Tags = nil, nil }, true,
			[]string{"spec.oars is lost on the way to the hub and back", "spec.tags is lost on the way to the hub and back"}},
		{"a text", func(_ *BoatSpec, out *oldSpec) { out.Seats = "5" }, true,
			[]string{`spec.seats is changed on the way to the hub and back, from "4" to "5"`}},
		{"now and then", func(in *BoatSpec, out *oldSpec) {
			if in.Flag != nil && !*in.Flag {
				out.Name = ""
			}
		}, false, []string{"spec.name is lost on the way to the hub and back"}},
		{"an empty value", func(in *BoatSpec, out *oldSpec) {
			if in.Flag != nil && !*in.Flag {
				out.Flag = nil
			}
		}, false, []string{"spec.flag is lost on the way to the hub and back"}},
	} {
		var got []string
		for _, loss := range schemetest.Losses(boats(t, nothing, tt.fromHub), seated) {
			got = append(got, loss.String())
			if loss.Never != tt.never {
				t.Errorf("%s: %s: Never is %v", tt.name, loss.Path, loss.Never)
			}
		}
		slices.Sort(got)
		var want []string
		for _, text := range tt.want {
			want = append(want, "v1alpha1.Boat: "+text)
		}
		if !slices.Equal(got, want) {
			t.Errorf("%s: got %q, want %q", tt.name, got, want)
		}
	}
}

// A version need not have every field of the hub, and a field that its conversion invents is no
// loss.
func TestHubHasMore(t *testing.T) {
	s := boats(t, func(_ *oldSpec, out *BoatSpec) { out.Seats += 100 }, func(in *BoatSpec, out *oldSpec) { out.Seats = strconv.Itoa(int(in.Seats - 100)) })
	if got := schemetest.Losses(s, seated); len(got) != 0 {
		t.Errorf("Losses: got %v", got)
	}
}

// recorder is a testing.TB that records its errors.
type recorder struct {
	testing.TB
	errors []string
}

func (r *recorder) Helper()           {}
func (r *recorder) Error(args ...any) { r.errors = append(r.errors, fmt.Sprint(args...)) }

func TestRoundTrip(t *testing.T) {
	lossless := func(*BoatSpec, *oldSpec) {}
	schemetest.RoundTrip(t, boats(t, nothing, lossless), seated)
	for _, tt := range []struct {
		fromHub func(*BoatSpec, *oldSpec)
		valid   func(meta.Object)
		want    string
	}{
		{func(_ *BoatSpec, out *oldSpec) { out.Name = "" }, seated, "v1alpha1.Boat: spec.name is lost on the way to the hub and back"},
		{lossless, nil, "v1alpha1.Boat: no sample converts: seats is no number"},
	} {
		r := &recorder{TB: t}
		schemetest.RoundTrip(r, boats(t, nothing, tt.fromHub), tt.valid)
		if !slices.Equal(r.errors, []string{tt.want}) {
			t.Errorf("RoundTrip: got %q, want %q", r.errors, tt.want)
		}
	}
}

func BenchmarkLosses(b *testing.B) {
	s := boats(&testing.T{}, nothing, func(*BoatSpec, *oldSpec) {})
	for b.Loop() {
		schemetest.Losses(s, seated)
	}
}
