package storage

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/coracle-project/coracle/registry"
	"github.com/coracle-project/coracle/registry/check"
	"github.com/coracle-project/coracle/registry/podspec"
	"github.com/coracle-project/coracle/scheme"
	"github.com/coracle-project/coracle/scheme/api/corev1"
	"github.com/coracle-project/coracle/scheme/api/storagev1"
	"github.com/coracle-project/coracle/scheme/field"
	"github.com/coracle-project/coracle/scheme/meta"
	"github.com/coracle-project/coracle/scheme/names"
)

// The resources storageclasses and volumeattributesclasses. Both name a driver and its parameters.
// Of a storage class only metadata, expansion, mount options and topologies can change; of a volume
// attributes class nothing but metadata.

// storageClasses declares the resource storageclasses.
func storageClasses() registry.Resource {
	return registry.Typed(registry.ResourceOf[*storagev1.StorageClass]{
		GroupResource: resource("storageclasses"),
		Kind:          "StorageClass", ShortNames: []string{"sc"},
		Strategy: registry.StrategyOf[*storagev1.StorageClass]{
			Metadata:                 registry.MetaObject,
			Validate:                 checkStorageClass,
			Warnings:                 storageClassWarnings,
			AllowUnconditionalUpdate: true,
		},
		Table: &registry.TableOf[*storagev1.StorageClass]{
			Columns: []meta.TableColumnDefinition{
				registry.NameColumn,
				registry.Column("Provisioner", "Name of what makes the volumes.", 0),
				registry.Column("ReclaimPolicy", "What happens to a volume once its claim is gone.", 0),
				registry.Column("VolumeBindingMode", "When a claim gets its volume.", 0),
				registry.Column("AllowVolumeExpansion", "Whether volumes can be expanded.", 0),
				registry.AgeColumn,
			},
			Cells: storageClassCells,
		},
		ReturnsDeleted: true,
	})
}

// checkStorageClass validates a storage class. An empty reclaim policy that is not nil passes, as
// in kube-apiserver.
func checkStorageClass(c, old *storagev1.StorageClass) field.ErrorList {
	errs := checkProvisioner(field.NewPath("provisioner"), c.Provisioner)
	errs = append(errs, checkParameters(field.NewPath("parameters"), c.Parameters)...)
	if policy := c.ReclaimPolicy; policy != nil && *policy != "" {
		errs = append(errs, check.Supported(field.NewPath("reclaimPolicy"), *policy,
			corev1.PersistentVolumeReclaimDelete, corev1.PersistentVolumeReclaimRetain)...)
	}
	errs = append(errs, check.OptionalOneOf(field.NewPath("volumeBindingMode"), c.VolumeBindingMode,
		storagev1.VolumeBindingImmediate, storagev1.VolumeBindingWaitForFirstConsumer)...)
	errs = append(errs, checkTopologies(field.NewPath("allowedTopologies"), c.AllowedTopologies)...)
	if old == nil {
		return errs
	}
	errs = append(errs, check.ObjectMetaUpdate(&c.ObjectMeta, &old.ObjectMeta)...)
	errs = append(errs, check.Immutable(field.NewPath("parameters"), &c.Parameters, &old.Parameters)...)
	errs = append(errs, check.Immutable(field.NewPath("provisioner"), &c.Provisioner, &old.Provisioner)...)
	errs = append(errs, check.Immutable(field.NewPath("reclaimPolicy"), c.ReclaimPolicy, old.ReclaimPolicy)...)
	return append(errs,
		check.Immutable(field.NewPath("volumeBindingMode"), c.VolumeBindingMode, old.VolumeBindingMode)...)
}

// checkProvisioner checks the name of a provisioner or driver: a qualified name, in which upper
// case counts as lower case.
func checkProvisioner(p *field.Path, name string) field.ErrorList {
	return check.Needed(p, strings.ToLower(name), check.QualifiedName)
}

// The bounds of the parameters of a class.
const (
	maxParameters    = 512       // entries
	maxParameterSize = 256 << 10 // bytes of all keys and values together
)

// checkParameters checks the parameters of a class. Only the provisioner knows what they mean.
func checkParameters(p *field.Path, parameters map[string]string) field.ErrorList {
	if len(parameters) > maxParameters {
		return field.ErrorList{field.TooLong(p, "", maxParameters)}
	}
	var errs field.ErrorList
	if _, ok := parameters[""]; ok {
		errs = append(errs, field.Invalid(p, "", "field can not be empty."))
	}
	return append(errs, checkSize(p, parameters)...)
}

// checkSize checks the size of all keys and values together.
func checkSize(p *field.Path, m map[string]string) field.ErrorList {
	size := 0
	for key, value := range m {
		size += len(key) + len(value)
	}
	if size > maxParameterSize {
		return field.ErrorList{field.TooLong(p, "", maxParameterSize)}
	}
	return nil
}

// checkTopologies checks the topology terms of a storage class. A repeated term gets one error for
// each equal term before it. In kube-apiserver the list of earlier terms also begins with
// len(terms) nil terms, by mistake, and an empty term equals a nil one; so an empty term gets that
// many errors more. seen counts the earlier terms by their canonical form, which needs no
// comparison of each pair.
func checkTopologies(p *field.Path, terms []corev1.TopologySelectorTerm) field.ErrorList {
	var errs field.ErrorList
	seen := map[string]int{"": len(terms)}
	for i, term := range field.Each(&errs, terms) {
		at := p.Index(i).Child("matchLabelExpressions")
		form, bad := checkTopology(at, term)
		errs = append(errs, bad...)
		for n := seen[form]; n > 0 && !errs.Full(); n-- {
			errs = append(errs, field.Duplicate(at, ""))
		}
		seen[form]++
	}
	return errs
}

// checkTopology checks a topology term. It returns the term in a canonical form, which is equal for
// equal terms only; "" is the form of an empty term.
func checkTopology(p *field.Path, term *corev1.TopologySelectorTerm) (string, field.ErrorList) {
	var errs field.ErrorList
	values := map[string][]string{} // by key
	for i, r := range field.Each(&errs, term.MatchLabelExpressions) {
		at := p.Index(i)
		if len(r.Values) == 0 {
			errs = append(errs, field.Required(at.Child("values"), ""))
		}
		distinct := check.Duplicates{}
		for j, value := range field.Each(&errs, r.Values) {
			if !distinct.Add(*value) {
				errs = append(errs, field.Duplicate(at.Child("values").Index(j), *value))
			}
		}
		errs = append(errs, check.QualifiedName(at.Child("key"), r.Key)...)
		if _, ok := values[r.Key]; ok {
			errs = append(errs, field.Duplicate(at.Child("key"), r.Key))
		}
		values[r.Key] = slices.Sorted(maps.Keys(distinct))
	}
	if len(values) == 0 {
		return "", errs
	}
	return fmt.Sprintf("%q", values), errs
}

// storageClassWarnings warns of deprecated node labels in the topology terms.
func storageClassWarnings(c, _ *storagev1.StorageClass) []string {
	var warnings []string
	for i, term := range c.AllowedTopologies {
		for j, r := range term.MatchLabelExpressions {
			if msg := podspec.NodeLabelWarning(r.Key); msg != "" {
				at := field.NewPath("allowedTopologies").Index(i).Child("matchLabelExpressions").Index(j).Child("key")
				warnings = append(warnings, fmt.Sprintf("%s: %s", at, msg))
			}
		}
	}
	return warnings
}

// storageClassCells returns the cells of a table's row. A field that is not set is shown with its
// default.
func storageClassCells(c *storagev1.StorageClass, now time.Time) []any {
	name := c.Name
	if c.IsDefault() {
		name += " (default)"
	}
	policy, mode := corev1.PersistentVolumeReclaimDelete, storagev1.VolumeBindingImmediate
	if c.ReclaimPolicy != nil {
		policy = *c.ReclaimPolicy
	}
	if c.VolumeBindingMode != nil {
		mode = *c.VolumeBindingMode
	}
	return []any{name, c.Provisioner, string(policy), string(mode), scheme.OrZero(c.AllowVolumeExpansion),
		registry.Age(&c.ObjectMeta, now)}
}

// volumeAttributesClasses declares the resource volumeattributesclasses (KEP-3751).
func volumeAttributesClasses() registry.Resource {
	return registry.Typed(registry.ResourceOf[*storagev1.VolumeAttributesClass]{
		GroupResource: resource("volumeattributesclasses"),
		Kind:          "VolumeAttributesClass", ShortNames: []string{"vac"},
		Strategy: registry.StrategyOf[*storagev1.VolumeAttributesClass]{
			Metadata:                 registry.MetaChange,
			Validate:                 checkAttributesClass,
			AllowUnconditionalUpdate: true,
		},
		Table: &registry.TableOf[*storagev1.VolumeAttributesClass]{
			Columns: []meta.TableColumnDefinition{
				registry.NameColumn, registry.Column("DriverName", "Name of the CSI driver that knows the attributes.",
					0), registry.AgeColumn,
			},
			Cells: func(c *storagev1.VolumeAttributesClass, now time.Time) []any {
				return []any{c.Name, c.DriverName, registry.Age(&c.ObjectMeta, now)}
			},
		},
		ReturnsDeleted: true,
	})
}

// checkAttributesClass validates a volume attributes class. As in kube-apiserver, errors about a
// change come first.
func checkAttributesClass(c, old *storagev1.VolumeAttributesClass) field.ErrorList {
	var errs field.ErrorList
	driver, parameters := field.NewPath("driverName"), field.NewPath("parameters")
	if old != nil {
		if c.DriverName != old.DriverName {
			errs = append(errs, field.Forbidden(driver, "updates to driverName are forbidden."))
		}
		if !maps.Equal(c.Parameters, old.Parameters) {
			errs = append(errs, field.Forbidden(parameters, "updates to parameters are forbidden."))
		}
		errs = append(errs, check.ObjectMeta(&c.ObjectMeta, false, names.DNSSubdomainName)...)
	}
	errs = append(errs, checkProvisioner(driver, c.DriverName)...)
	errs = append(errs, checkParameters(parameters, c.Parameters)...)
	if len(c.Parameters) == 0 {
		errs = append(errs, field.Required(parameters, "must contain at least one key/value pair"))
	}
	return errs
}
