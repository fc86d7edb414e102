package scheme_test

import (
	"strings"
	"sync"
	"testing"

	"github.com/coracle-project/coracle/scheme"
	"github.com/coracle-project/coracle/scheme/meta"
)

// addLossy registers two versions of a kind that do not convert to each other, and a version with a
// mistake in its tags.
func addLossy(s *scheme.Scheme) {
	s.AddKnownTypes(v1, &Gadget{})
	s.AddKnownType(v1beta1.WithKind("Gadget"), &lossy{})
	s.AddKnownType(v1.WithKind("Bad"), &badTags{})
}

// TestLazyKinds: kinds that AddLazy registered are not compiled before their first use, which
// reports their mistakes.
func TestLazyKinds(t *testing.T) {
	s := newScheme(t, func(s *scheme.Scheme) { s.AddLazy(addLossy) })
	for kind, want := range map[string]bool{"Gadget": true, "Bad": true, "Widget": false, "WidgetList": false} {
		if got := s.IsLazy(meta.GroupKind{Group: v1.Group, Kind: kind}); got != want {
			t.Errorf("IsLazy(%s): got %v, want %v", kind, got, want)
		}
	}
	if _, err := s.ToHub(&Gadget{}); err != nil {
		t.Errorf("a kind that needs no conversion: %v", err)
	}
	for range 2 {
		if _, err := s.ToHub(&lossy{}); err == nil || !strings.Contains(err.Error(), "has no counterpart: register a conversion function") {
			t.Errorf("ToHub: got %v, want that the types do not convert", err)
		}
	}
	if s.Type(v1.WithKind("Bad")) != nil {
		t.Error("a type with wrong tags is described")
	}
	s.Default(&badTags{})

	eager := scheme.New()
	addLossy(eager)
	if err := eager.Complete(); err == nil || !strings.Contains(err.Error(), "nonsense") || !strings.Contains(err.Error(), "has no counterpart") {
		t.Errorf("Complete without AddLazy: got %v, want both mistakes", err)
	}
}

// Two lazy kinds, First and Second, whose specs do not convert between v1beta1 and v1.
type (
	first struct {
		meta.TypeMeta   `json:",inline"`
		meta.ObjectMeta `json:"metadata,omitempty"`
		Spec            WidgetSpec `json:"spec,omitempty"`
	}
	second     first
	lossyFirst struct {
		meta.TypeMeta   `json:",inline"`
		meta.ObjectMeta `json:"metadata,omitempty"`
		Spec            lossySpec `json:"spec,omitempty"`
	}
	lossySecond lossyFirst
)

// TestLazyKindsThatShareAMistake: a part that does not convert is an error for every kind that has
// it, also for those that are compiled later.
func TestLazyKindsThatShareAMistake(t *testing.T) {
	s := newScheme(t, func(s *scheme.Scheme) {
		s.AddLazy(func(s *scheme.Scheme) {
			s.AddKnownType(v1.WithKind("First"), &first{})
			s.AddKnownType(v1.WithKind("Second"), &second{})
			s.AddKnownType(v1beta1.WithKind("First"), &lossyFirst{})
			s.AddKnownType(v1beta1.WithKind("Second"), &lossySecond{})
		})
	})
	for _, obj := range []meta.Typed{&lossyFirst{}, &lossySecond{}} {
		if _, err := s.ToHub(obj); err == nil || !strings.Contains(err.Error(), "has no counterpart") {
			t.Errorf("ToHub(%T): got %v, want that the types do not convert", obj, err)
		}
	}
}

// TestLazyConversions converts for the first time in many goroutines: one of them compiles, and all
// get their result.
func TestLazyConversions(t *testing.T) {
	s := scheme.New()
	s.AddLazy(addWidgets)
	if err := s.Complete(); err != nil {
		t.Fatal(err)
	}
	var group sync.WaitGroup
	for range 8 {
		group.Go(func() {
			hub, err := s.ToHub(sampleBeta())
			if err != nil || hub.(*Widget).Spec.Size != 5 {
				t.Errorf("ToHub: got %+v, %v", hub, err)
			}
			w := &Widget{}
			s.Default(w)
			if w.Spec.Size != 1 {
				t.Errorf("Default: got %+v", w.Spec)
			}
		})
	}
	group.Wait()
}
