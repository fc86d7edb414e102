package main

import (
	"github.com/coracle-project/coracle/cmd/wardle/hub"
	"github.com/coracle-project/coracle/cmd/wardle/v1alpha1"
	"github.com/coracle-project/coracle/cmd/wardle/v1beta1"
	"github.com/coracle-project/coracle/registry"
	"github.com/coracle-project/coracle/scheme"
	"github.com/coracle-project/coracle/scheme/meta"
	"github.com/coracle-project/coracle/server"
)

// groupName is the API group. It must be a domain of yours in a copy.
const groupName = "wardle.example.com"

// The resources of the group.
var (
	flunderResource = meta.GroupResource{Group: groupName, Resource: "flunders"}
	fischerResource = meta.GroupResource{Group: groupName, Resource: "fischers"}
)

// wardle declares the API group: its types, the hub of Flunders, the order in which discovery
// prefers its versions, and its resources.
func wardle() server.Group {
	return server.Group{
		Name: groupName,
		AddToScheme: func(s *scheme.Scheme) {
			v1alpha1.Scheme.AddToScheme(s)
			v1beta1.Scheme.AddToScheme(s)
			s.AddHub(meta.GroupKind{Group: groupName, Kind: "Flunder"}, &hub.Flunder{})
			s.SetVersionPriority(v1beta1.GroupVersion, v1alpha1.GroupVersion)
		},
		Resources: []registry.Resource{flunders(), fischers()},
	}
}
