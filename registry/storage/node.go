package storage

import (
	"fmt"
	"time"

	"github.com/coracle-project/coracle/registry"
	"github.com/coracle-project/coracle/registry/check"
	"github.com/coracle-project/coracle/registry/podspec"
	"github.com/coracle-project/coracle/scheme/api/storagev1"
	"github.com/coracle-project/coracle/scheme/field"
	"github.com/coracle-project/coracle/scheme/meta"
)

// csiNodes declares the resource csinodes: the CSI drivers that are installed on a node. The
// kubelet writes it; the name of the object is the name of the node.
func csiNodes() registry.Resource {
	return registry.Typed(registry.ResourceOf[*storagev1.CSINode]{
		GroupResource: resource("csinodes"),
		Kind:          "CSINode",
		Strategy:      registry.StrategyOf[*storagev1.CSINode]{Metadata: registry.MetaObject, Validate: checkNode},
		Table: &registry.TableOf[*storagev1.CSINode]{
			Columns: []meta.TableColumnDefinition{
				registry.NameColumn,
				registry.IntegerColumn("Drivers", "Number of drivers on the node.", 0),
				registry.AgeColumn,
			},
			Cells: func(n *storagev1.CSINode, now time.Time) []any {
				return []any{n.Name, int64(len(n.Spec.Drivers)), registry.Age(&n.ObjectMeta, now)}
			},
		},
		ReturnsDeleted: true,
	})
}

// checkNode validates the drivers on a node. Of a driver that was there before only allocatable can
// change.
func checkNode(n, old *storagev1.CSINode) field.ErrorList {
	var errs field.ErrorList
	p := field.NewPath("spec", "drivers")
	seen := check.Duplicates{}
	for i, d := range field.Each(&errs, n.Spec.Drivers) {
		errs = append(errs, checkNodeDriver(p.Index(i), d)...)
		if !seen.Add(d.Name) {
			errs = append(errs, field.Duplicate(p.Index(i).Child("name"), d.Name))
		}
		errs = append(errs, checkTopologyKeys(p.Index(i), d.TopologyKeys)...)
	}
	if old == nil {
		return errs
	}
	now := map[string][]storagev1.CSINodeDriver{}
	for _, d := range n.Spec.Drivers {
		d.Allocatable = nil
		now[d.Name] = append(now[d.Name], d)
	}
	for _, was := range field.Each(&errs, old.Spec.Drivers) {
		fixed := *was
		fixed.Allocatable = nil
		for _, d := range field.Each(&errs, now[was.Name]) {
			errs = append(errs, check.Immutable(p, d, &fixed)...)
		}
	}
	return errs
}

// maxNodeID is the bound of a node's name for the driver, in bytes. The error speaks of characters,
// as kube-apiserver's does.
const maxNodeID = 256

// checkNodeDriver checks a driver on the node.
func checkNodeDriver(p *field.Path, d *storagev1.CSINodeDriver) field.ErrorList {
	errs := podspec.CSIDriverName(p.Child("name"), d.Name)
	errs = append(errs, check.Required(p.Child("nodeID"), d.NodeID)...)
	if len(d.NodeID) > maxNodeID {
		errs = append(errs,
			field.Invalid(p.Child("nodeID"), d.NodeID, fmt.Sprintf("must be %d characters or less", maxNodeID)))
	}
	if a := d.Allocatable; a != nil && a.Count != nil {
		errs = append(errs, check.NonNegative(p.Child("allocatable", "count"), *a.Count)...)
	}
	return errs
}

// checkTopologyKeys checks the keys of the node labels that are the driver's topology. As in
// kube-apiserver, errors have the path of the driver.
func checkTopologyKeys(p *field.Path, keys []string) field.ErrorList {
	var errs field.ErrorList
	seen := check.Duplicates{}
	for _, key := range field.Each(&errs, keys) {
		errs = append(errs, check.Required(p, *key)...)
		if !seen.Add(*key) {
			errs = append(errs, field.Duplicate(p, *key))
		}
		errs = append(errs, check.QualifiedName(p, *key)...)
	}
	return errs
}
