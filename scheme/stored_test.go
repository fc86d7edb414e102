package scheme_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/coracle-project/coracle/scheme"
	"github.com/coracle-project/coracle/scheme/codec"
	"github.com/coracle-project/coracle/scheme/meta"
)

// Gauge is a kind in its served version.
type Gauge struct {
	meta.TypeMeta   `json:",inline"`
	meta.ObjectMeta `json:"metadata,omitempty"`
	Level           string `json:"level,omitempty" default:"low"`
}

// OldGauge is an older version with a default and a name of its own for the same field.
type OldGauge struct {
	meta.TypeMeta   `json:",inline"`
	meta.ObjectMeta `json:"metadata,omitempty"`
	Height          string `json:"height,omitempty" default:"high"`
}

var (
	gaugeKind = meta.GroupKind{Group: "measure.example.com", Kind: "Gauge"}
	gaugeV1   = meta.GroupVersionKind{Group: gaugeKind.Group, Version: "v1", Kind: gaugeKind.Kind}
	gaugeOld  = meta.GroupVersionKind{Group: gaugeKind.Group, Version: "v1beta1", Kind: gaugeKind.Kind}
	gaugeSame = meta.GroupVersionKind{Group: gaugeKind.Group, Version: "v1beta2", Kind: gaugeKind.Kind}
	gaugeFar  = meta.GroupVersionKind{Group: "old.example.com", Version: "v1", Kind: "Gauge"}
)

func gauges(t *testing.T, more func(*scheme.Scheme)) (*scheme.Scheme, error) {
	t.Helper()
	s := scheme.New()
	s.AddKnownTypes(gaugeV1.GroupVersion(), &Gauge{})
	s.AddStored(gaugeOld, gaugeKind, &OldGauge{})
	s.AddStored(gaugeFar, gaugeKind, &OldGauge{})
	s.AddStored(gaugeSame, gaugeKind, &Gauge{})
	scheme.AddConversion(s, func(in *OldGauge, out *Gauge) error {
		out.TypeMeta, out.ObjectMeta, out.Level = in.TypeMeta, *scheme.DeepCopy(&in.ObjectMeta), in.Height
		return nil
	})
	if more != nil {
		more(s)
	}
	return s, s.Complete()
}

// TestStoredVersions: stored versions are decoded, completed by their own defaults and converted,
// and no list of versions shows them.
func TestStoredVersions(t *testing.T) {
	s, err := gauges(t, nil)
	if err != nil {
		t.Fatal(err)
	}
	if got := s.VersionsOf(gaugeKind.Group); !slices.Equal(got, []meta.GroupVersion{gaugeV1.GroupVersion()}) {
		t.Errorf("VersionsOf: got %v", got)
	}
	if slices.Contains(s.Groups(), gaugeFar.Group) {
		t.Errorf("Groups: got %v", s.Groups())
	}
	want := []meta.GroupVersionKind{gaugeSame, gaugeOld, gaugeFar}
	if got := s.StoredVersions(gaugeKind); !slices.Equal(got, want) {
		t.Errorf("StoredVersions: got %v, want %v", got, want)
	}
	for _, gvk := range want {
		if s.Recognizes(gvk) || slices.Contains(s.AllKinds(), gvk) || slices.Contains(s.KindsOf(gvk.GroupVersion()), gvk.Kind) {
			t.Errorf("%s is shown as a version that is served", gvk)
		}
	}
	codecs := codec.NewFactory(s)
	for _, tt := range []struct {
		gvk          meta.GroupVersionKind
		fields, want string
	}{
		{gaugeOld, `"height":"3"`, "3"},
		{gaugeOld, `"level":"3"`, "high"},
		{gaugeFar, `"height":"4"`, "4"},
		{gaugeSame, `"level":"5"`, "5"},
		{gaugeSame, `"height":"5"`, "low"},
	} {
		decoded, err := codecs.DecodeStored([]byte(`{"kind":"Gauge","apiVersion":"` + tt.gvk.GroupVersion().String() + `","metadata":{"name":"a"},` + tt.fields + `}`))
		if err != nil {
			t.Fatal(err)
		}
		s.Default(decoded.Object)
		hub, err := s.ToHubKind(decoded.Object, gaugeKind)
		if err != nil {
			t.Errorf("%s: %v", tt.gvk, err)
			continue
		}
		if g := hub.(*Gauge); g.Level != tt.want || g.Name != "a" {
			t.Errorf("%s with %s: got %+v, want level %q", tt.gvk, tt.fields, g, tt.want)
		}
	}
}

// TestStoredMistakes: Complete reports mistakes of stored versions.
func TestStoredMistakes(t *testing.T) {
	for _, tt := range []struct {
		name string
		add  func(*scheme.Scheme)
		want string
	}{
		{"served", func(s *scheme.Scheme) { s.AddStored(gaugeV1, gaugeKind, &Gauge{}) }, "registered twice"},
		{"unknown kind", func(s *scheme.Scheme) {
			s.AddStored(meta.GroupVersionKind{Group: "old.example.com", Version: "v2", Kind: "Gauge"}, meta.GroupKind{Group: "none", Kind: "None"}, &Gauge{})
		}, "None.none is not registered"},
		{"two types", func(s *scheme.Scheme) { s.AddStored(gaugeOld, gaugeKind, &Gauge{}) }, "two stored types"},
	} {
		if _, err := gauges(t, tt.add); err == nil || !strings.Contains(err.Error(), tt.want) {
			t.Errorf("%s: got %v, want %q", tt.name, err, tt.want)
		}
	}
}
