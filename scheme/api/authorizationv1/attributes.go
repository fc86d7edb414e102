package authorizationv1

import "github.com/coracle-project/coracle/scheme/meta"

// ResourceAttributes say what is to be done with a resource.
type ResourceAttributes struct {
	// Namespace of the resource. Empty it stands for all namespaces, or for none, where the
	// resource is in none.
	Namespace string `json:"namespace,omitempty" pb:"1"`
	// What is to be done: get, list, watch, create, update, patch, delete, deletecollection or
	// another verb; "*" stands for all.
	Verb string `json:"verb,omitempty" pb:"2"`
	// API group of the resource; "*" stands for all.
	Group string `json:"group,omitempty" pb:"3"`
	// Version of the API; "*" stands for all.
	Version string `json:"version,omitempty" pb:"4"`
	// Name of the resource in plural; "*" stands for all.
	Resource string `json:"resource,omitempty" pb:"5"`
	// Name of the subresource, if it is about one.
	Subresource string `json:"subresource,omitempty" pb:"6"`
	// Name of the object. Empty it stands for all.
	Name string `json:"name,omitempty" pb:"7"`
	// Fields that the objects have: the question is about no others.
	FieldSelector *FieldSelectorAttributes `json:"fieldSelector,omitempty" pb:"8"`
	// Labels that the objects have: the question is about no others.
	LabelSelector *LabelSelectorAttributes `json:"labelSelector,omitempty" pb:"9"`
}

// LabelSelectorAttributes narrow a question down to objects with some labels. They have
// requirements or rawSelector, not both.
type LabelSelectorAttributes struct {
	// The selector as it stands in the query of a request. Webhooks had better not read it.
	RawSelector string `json:"rawSelector,omitempty" pb:"1"`
	// What labels must be, all of it. Who does not understand one may leave it out, which only asks
	// for more.
	Requirements []meta.LabelSelectorRequirement `json:"requirements,omitempty" pb:"2" list:"atomic"`
}

// FieldSelectorAttributes narrow a question down to objects with some fields. They have
// requirements or rawSelector, not both.
type FieldSelectorAttributes struct {
	// The selector as it stands in the query of a request. Webhooks had better not read it.
	RawSelector string `json:"rawSelector,omitempty" pb:"1"`
	// What fields must be, all of it. Who does not understand one may leave it out, which only asks
	// for more.
	Requirements []meta.FieldSelectorRequirement `json:"requirements,omitempty" pb:"2" list:"atomic"`
}

// NonResourceAttributes say what is to be done with a path that is no resource.
type NonResourceAttributes struct {
	// The path.
	Path string `json:"path,omitempty" pb:"1"`
	// The method of HTTP, in lower case.
	Verb string `json:"verb,omitempty" pb:"2"`
}
