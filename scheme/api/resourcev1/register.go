package resourcev1

import (
	"fmt"

	"github.com/coracle-project/coracle/scheme"
	"github.com/coracle-project/coracle/scheme/meta"
)

// GroupVersion is the version that this package declares.
var GroupVersion = meta.GroupVersion{Group: "resource.k8s.io", Version: "v1"}

// Scheme registers the kinds and their defaults.
var Scheme = scheme.NewBuilder(func(s *scheme.Scheme) {
	s.AddKnownTypes(GroupVersion,
		&ResourceSlice{}, &ResourceSliceList{},
		&DeviceClass{}, &DeviceClassList{},
		&ResourceClaim{}, &ResourceClaimList{},
		&ResourceClaimTemplate{}, &ResourceClaimTemplateList{},
	)
	s.AddFieldLabels(GroupVersion.WithKind("ResourceSlice"), sliceLabel)
	scheme.AddDefaulting(s, defaultDevice, "!nodeAllocatableResourceMappings")
	scheme.AddDefaulting(s, defaultTaint, "timeAdded")
	scheme.AddDefaulting(s, defaultRequest, "allocationMode=All | count", "allocationMode")
	scheme.AddDefaulting(s, defaultSubRequest, "allocationMode=All | count", "allocationMode")
	addStored(s)
})

// sliceLabel lets field selectors name what nodes and drivers find their slices by.
func sliceLabel(label, value string) (string, string, error) {
	switch label {
	case "metadata.name", "spec.nodeName", "spec.driver":
		return label, value, nil
	}
	return "", "", fmt.Errorf("field label not supported for %s: %s", GroupVersion.WithKind("ResourceSlice"), label)
}
