package extensions

import (
	"fmt"
	"math"
	"slices"
	"strings"
	"time"

	"github.com/coracle-project/coracle/registry"
	"github.com/coracle-project/coracle/scheme"
	v1 "github.com/coracle-project/coracle/scheme/api/apiextensionsv1"
	"github.com/coracle-project/coracle/scheme/api/autoscalingv1"
	"github.com/coracle-project/coracle/scheme/field"
	"github.com/coracle-project/coracle/scheme/meta"
	"github.com/coracle-project/coracle/scheme/typeinfo"
)

// The subresource scale of instances: it shows the fields at the paths that the definition names as
// an autoscaling/v1 Scale, and writes the replicas back. DeclareWithSchemas (resource.go) calls
// scaleDoors; the registry calls show and apply for each request. The strategy validates the values
// at the paths with every write of an instance.

// scalePaths are the paths of one version to the fields that its scale shows.
type scalePaths struct{ spec, status, selector scalePath }

// scalePath is a path such as .spec.replicas. "" means that the version has no such field, which
// only the selector may lack.
type scalePath string

func scalePathsOf(s *v1.CustomResourceSubresourceScale) *scalePaths {
	p := &scalePaths{spec: scalePath(s.SpecReplicasPath), status: scalePath(s.StatusReplicasPath)}
	if s.LabelSelectorPath != nil {
		p.selector = scalePath(*s.LabelSelectorPath)
	}
	return p
}

// names returns the names on the path: .spec.replicas gives spec and replicas.
func (p scalePath) names() []string { return strings.Split(string(p.trimmed()), ".") }

// trimmed returns the path without its leading dot, which is how managed fields and errors name it.
func (p scalePath) trimmed() scalePath { return scalePath(strings.TrimPrefix(string(p), ".")) }

// find returns the value at the path. found is false if a field on the way is missing or null. The
// error says that a field on the way is no object.
func (p scalePath) find(u *scheme.Unstructured) (value any, found bool, err error) {
	value = u.Content
	names := p.names()
	for i, name := range names {
		switch object := value.(type) {
		case nil:
			return nil, false, nil
		case map[string]any:
			if value, found = object[name]; !found {
				return nil, false, nil
			}
		default:
			return nil, false, wrongType(names[:i+1], value, map[string]any(nil))
		}
	}
	return value, true, nil
}

// read returns the value at the path as a T. The error says that the value has another type.
func read[T any](p scalePath, u *scheme.Unstructured) (out T, found bool, err error) {
	value, found, err := p.find(u)
	if !found || err != nil {
		return out, false, err
	}
	out, ok := value.(T)
	if !ok {
		return out, false, wrongType(p.names(), value, out)
	}
	return out, true, nil
}

// wrongType is the error for a value of another type than want. The text is that of Kubernetes'
// package unstructured, which calls the empty interface "interface{}".
func wrongType(names []string, value, want any) error {
	return fmt.Errorf(".%s accessor error: %v is of the type %T, expected %s", strings.Join(names, "."), value, value,
		strings.ReplaceAll(fmt.Sprintf("%T", want), "interface {}", "interface{}"))
}

// set sets the field at the path to replicas. It makes the objects on the way that are missing, and
// returns an error if something else is there.
func (p scalePath) set(u *scheme.Unstructured, replicas int64) error {
	names := p.names()
	for i := 1; i < len(names); i++ {
		if value, ok := scheme.At[any](u, names[:i]...); ok {
			if _, isObject := value.(map[string]any); !isObject {
				return fmt.Errorf("value cannot be set because .%s is not a map[string]interface{}",
					strings.Join(names[:i], "."))
			}
		}
	}
	return u.Set(replicas, names...)
}

// invalid returns the error about value at the path.
func (p scalePath) invalid(value any, detail string) field.ErrorList {
	return field.ErrorList{field.Invalid(field.NewPath(string(p)), value, detail)}
}

// validateReplicas requires the value at the path, if there is one, to fit into the int32 of a
// Scale and not to be negative.
func (p scalePath) validateReplicas(u *scheme.Unstructured) field.ErrorList {
	n, _, err := read[int64](p, u)
	switch {
	case err != nil:
		return p.invalid(n, err.Error())
	case n < 0:
		return p.invalid(n, "should be a non-negative integer")
	case n > math.MaxInt32:
		return p.invalid(n, fmt.Sprintf("should be less than or equal to %v", math.MaxInt32))
	}
	return nil
}

// validateSpec validates the wanted replicas.
func (s *scalePaths) validateSpec(u *scheme.Unstructured) field.ErrorList {
	return s.spec.validateReplicas(u)
}

// validateStatus validates the counted replicas and the selector.
func (s *scalePaths) validateStatus(u *scheme.Unstructured) field.ErrorList {
	errs := s.status.validateReplicas(u)
	if s.selector != "" {
		if text, _, err := read[string](s.selector, u); err != nil {
			errs = append(errs, s.selector.invalid(text, err.Error())...)
		}
	}
	return errs
}

// scaleDoors declares the subresource scale of each version that has it. The path of the replicas
// may differ between versions; ReplicasIn holds all of them, so that a manager that owns the
// replicas in any version owns spec.replicas of the Scale.
func (s *strategy) scaleDoors() []registry.SubresourceOf[*scheme.Unstructured] {
	replicas := map[string]string{}
	var scaled []string
	for name, v := range s.versions {
		replicas[name] = ""
		if v.scale != nil {
			replicas[name] = string(v.scale.spec.trimmed())
			scaled = append(scaled, name)
		}
	}
	slices.Sort(scaled)
	var doors []registry.SubresourceOf[*scheme.Unstructured]
	for _, name := range scaled {
		paths := s.versions[name].scale
		doors = append(doors, registry.SubresourceOf[*scheme.Unstructured]{
			Name: "scale", Kind: autoscalingv1.GroupVersion.WithKind("Scale"), Versions: []string{name},
			Project: &registry.ProjectionOf[*scheme.Unstructured]{
				Show: paths.show, Apply: paths.apply, ReplicasIn: replicas, Table: scaleTable,
			},
		})
	}
	return doors
}

// unset is the number of replicas of a Scale that a change starts from if the object has none. It
// is no valid number, so apply can tell that the client did not set the replicas.
const unset = math.MinInt32

// show returns the Scale of u. If u has no wanted replicas, reading is an error, a change starts
// from unset, and the result of a change has zero.
func (s *scalePaths) show(u *scheme.Unstructured, to registry.ProjectionPurpose) (meta.Object, error) {
	wanted, found, err := read[int64](s.spec, u)
	if err != nil {
		return nil, scaleError(err, to)
	}
	counted, _, err := read[int64](s.status, u)
	if err != nil {
		return nil, scaleError(err, to)
	}
	var selector string
	if s.selector != "" {
		if selector, _, err = read[string](s.selector, u); err != nil {
			return nil, scaleError(err, to)
		}
	}
	switch {
	case found:
	case to == registry.ToRead:
		return nil, meta.NewInternalError(fmt.Errorf("the spec replicas field %q does not exist", s.spec))
	case to == registry.ToChange:
		wanted = unset
	}
	return &autoscalingv1.Scale{
		Spec:   autoscalingv1.ScaleSpec{Replicas: int32(wanted)},
		Status: autoscalingv1.ScaleStatus{Replicas: int32(counted), Selector: selector},
	}, nil
}

// scaleError is the answer for an object with a wrong type at a path of its scale. The result of a
// change is a bad request, because the client wrote the wrong type; otherwise the stored object is
// wrong, and err becomes an internal error.
func scaleError(err error, to registry.ProjectionPurpose) error {
	if to == registry.AsResult {
		return meta.NewBadRequest(err.Error())
	}
	return err
}

// apply sets the replicas of u to those of the Scale. u.Content is copied before, because u shares
// it with the stored object.
func (s *scalePaths) apply(u *scheme.Unstructured, shown meta.Object) error {
	replicas := shown.(*autoscalingv1.Scale).Spec.Replicas
	if replicas == unset {
		return meta.NewBadRequest(fmt.Sprintf("the spec replicas field %q cannot be empty", s.spec))
	}
	u.Content, _ = typeinfo.CopyJSON(u.Content).(map[string]any)
	if err := s.spec.set(u, int64(replicas)); err != nil {
		return err
	}
	return nil
}

// scaleTable is the table of a Scale. The cell of the wanted replicas is empty if they are zero, as
// in kube-apiserver.
var scaleTable = &registry.Table{
	Columns: []meta.TableColumnDefinition{
		registry.NameColumn,
		registry.IntegerColumn("Desired", "Number of desired replicas", 0),
		registry.IntegerColumn("Available", "Number of actual replicas", 0),
		{Name: "Age", Type: "date", Description: registry.AgeColumn.Description},
	},
	Cells: func(shown meta.Object, now time.Time) []any {
		s := shown.(*autoscalingv1.Scale)
		var wanted any
		if s.Spec.Replicas != 0 {
			wanted = int64(s.Spec.Replicas)
		}
		return []any{s.Name, wanted, int64(s.Status.Replicas), registry.Age(&s.ObjectMeta, now)}
	},
}
