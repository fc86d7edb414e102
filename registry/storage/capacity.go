package storage

import (
	"fmt"
	"maps"
	"slices"

	"github.com/coracle-project/coracle/registry"
	"github.com/coracle-project/coracle/registry/check"
	"github.com/coracle-project/coracle/registry/podspec"
	"github.com/coracle-project/coracle/scheme/api/storagev1"
	"github.com/coracle-project/coracle/scheme/field"
	"github.com/coracle-project/coracle/scheme/meta"
)

// csiStorageCapacities declares the resource csistoragecapacities: how much storage of a class is
// left for the nodes of a topology. External provisioners publish it, and the scheduler reads it
// (KEP-1472).
func csiStorageCapacities() registry.Resource {
	return registry.Typed(registry.ResourceOf[*storagev1.CSIStorageCapacity]{
		GroupResource: resource("csistoragecapacities"),
		Kind:          "CSIStorageCapacity",
		Namespaced:    true,
		Strategy: registry.StrategyOf[*storagev1.CSIStorageCapacity]{
			Metadata: registry.MetaObject,
			Validate: checkStorageCapacity,
			Warnings: storageCapacityWarnings,
		},
	})
}

// checkStorageCapacity validates a capacity. What it is about, its class and its topology, never
// changes.
func checkStorageCapacity(c, old *storagev1.CSIStorageCapacity) field.ErrorList {
	topology, class := field.NewPath("nodeTopology"), field.NewPath("storageClassName")
	errs := meta.ValidateLabelSelector(c.NodeTopology, topology)
	errs = append(errs, check.DNSSubdomain(class, c.StorageClassName)...)
	if c.Capacity != nil {
		errs = append(errs, check.NonNegativeQuantity(field.NewPath("capacity"), *c.Capacity)...)
	}
	if old == nil {
		return errs
	}
	errs = append(errs, check.ObjectMetaUpdate(&c.ObjectMeta, &old.ObjectMeta)...)
	errs = append(errs, check.Immutable(topology, c.NodeTopology, old.NodeTopology)...)
	return append(errs, check.Immutable(class, &c.StorageClassName, &old.StorageClassName)...)
}

// storageCapacityWarnings warns of deprecated node labels in the topology. The two texts differ in
// form, as in kube-apiserver.
func storageCapacityWarnings(c, _ *storagev1.CSIStorageCapacity) []string {
	if c.NodeTopology == nil {
		return nil
	}
	var warnings []string
	p := field.NewPath("nodeTopology")
	for i, r := range c.NodeTopology.MatchExpressions {
		if msg := podspec.NodeLabelWarning(r.Key); msg != "" {
			warnings = append(warnings,
				fmt.Sprintf("%s: %s is %s", p.Child("matchExpressions").Index(i).Child("key"), r.Key, msg))
		}
	}
	for _, key := range slices.Sorted(maps.Keys(c.NodeTopology.MatchLabels)) {
		if msg := podspec.NodeLabelWarning(key); msg != "" {
			warnings = append(warnings, fmt.Sprintf("%s: %s", p.Child("matchLabels", key), msg))
		}
	}
	return warnings
}
