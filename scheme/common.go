package scheme

import (
	"reflect"

	"github.com/coracle-project/coracle/scheme/meta"
)

// commonTypes are the kinds that every group version has: the options, which clients send in the
// group version of the resource they are for, and WatchEvent.
var commonTypes = []reflect.Type{
	reflect.TypeFor[meta.ListOptions](),
	reflect.TypeFor[meta.GetOptions](),
	reflect.TypeFor[meta.DeleteOptions](),
	reflect.TypeFor[meta.CreateOptions](),
	reflect.TypeFor[meta.UpdateOptions](),
	reflect.TypeFor[meta.PatchOptions](),
	reflect.TypeFor[meta.WatchEvent](),
}

// addMetaKinds registers the kinds that belong to no particular API group.
func addMetaKinds(s *Scheme) {
	s.AddUnversionedTypes(meta.GroupVersion{Version: "v1"},
		&meta.Status{}, &meta.APIVersions{}, &meta.APIGroup{}, &meta.APIGroupList{}, &meta.APIResourceList{})
	for _, version := range []string{"v1", "v1beta1"} {
		gv := meta.GroupVersion{Group: "meta.k8s.io", Version: version}
		for _, t := range []reflect.Type{
			reflect.TypeFor[meta.Table](), reflect.TypeFor[meta.TableOptions](),
			reflect.TypeFor[meta.PartialObjectMetadata](), reflect.TypeFor[meta.PartialObjectMetadataList](),
		} {
			s.addOne(gv.WithKind(t.Name()), t)
		}
	}
	// Clients send options as v1 or meta.k8s.io/v1 to resources of any group, even to servers that
	// do not serve the core group.
	for _, gv := range []meta.GroupVersion{{Version: "v1"}, {Group: "meta.k8s.io", Version: "v1"}} {
		for _, t := range commonTypes {
			s.addOne(gv.WithKind(t.Name()), t)
		}
	}
}
