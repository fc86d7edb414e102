package differential

import (
	"k8s.io/apiserver/pkg/registry/generic"
	"k8s.io/apiserver/pkg/registry/rest"
)

// alone is for registries of kinds without a status.
func alone[R rest.Storage](make func(generic.RESTOptionsGetter) (R, error)) func(generic.RESTOptionsGetter) (Doors, error) {
	return func(o generic.RESTOptionsGetter) (Doors, error) {
		s, err := make(o)
		return Doors{"": s}, err
	}
}

// withStatus is for registries of kinds with a status and no other door.
func withStatus[R, S rest.Storage](make func(generic.RESTOptionsGetter) (R, S, error)) func(generic.RESTOptionsGetter) (Doors, error) {
	return func(o generic.RESTOptionsGetter) (Doors, error) {
		s, status, err := make(o)
		return Doors{"": s, "status": status}, err
	}
}
