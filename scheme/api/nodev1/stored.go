package nodev1

import (
	"github.com/coracle-project/coracle/scheme"
	"github.com/coracle-project/coracle/scheme/meta"
)

// addStored registers the versions in which classes may be stored although nobody is served in
// them. v1beta1 has the fields of v1. v1alpha1 has them in a spec.
func addStored(s *scheme.Scheme) {
	gvk := GroupVersion.WithKind("RuntimeClass")
	of := gvk.GroupKind()
	gvk.Version = "v1beta1"
	s.AddStored(gvk, of, &RuntimeClass{})
	gvk.Version = "v1alpha1"
	s.AddStored(gvk, of, &classAlpha{})
	scheme.AddConversion(s, func(in *classAlpha, out *RuntimeClass) error {
		spec := scheme.DeepCopy(&in.Spec)
		out.Handler, out.Overhead, out.Scheduling = spec.Handler, spec.Overhead, spec.Scheduling
		return scheme.ConvertFields(s, in, out)
	})
}

type classAlpha struct {
	meta.TypeMeta   `json:",inline"`
	meta.ObjectMeta `json:"metadata,omitempty" pb:"1"`
	Spec            classSpecAlpha `json:"spec" pb:"2"`
}

type classSpecAlpha struct {
	Handler    string      `json:"runtimeHandler" pb:"1"`
	Overhead   *Overhead   `json:"overhead,omitempty" pb:"2"`
	Scheduling *Scheduling `json:"scheduling,omitempty" pb:"3"`
}
