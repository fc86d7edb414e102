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

// scalePaths are where the objects of a version have what a scale shows.
type scalePaths struct{ spec, status, selector scalePath }

// scalePath is a path such as .spec.replicas; "": there is none.
type scalePath string

func scalePathsOf(s *v1.CustomResourceSubresourceScale) *scalePaths {
	p := &scalePaths{spec: scalePath(s.SpecReplicasPath), status: scalePath(s.StatusReplicasPath)}
	if s.LabelSelectorPath != nil {
		p.selector = scalePath(*s.LabelSelectorPath)
	}
	return p
}

func (p scalePath) names() []string { return strings.Split(string(p.trimmed()), ".") }

func (p scalePath) trimmed() scalePath { return scalePath(strings.TrimPrefix(string(p), ".")) }

// find returns what stands at the path, and whether something does.
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

// read returns a value of one type.
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

func wrongType(names []string, value, want any) error {
	return fmt.Errorf(".%s accessor error: %v is of the type %T, expected %s", strings.Join(names, "."), value, value,
		strings.ReplaceAll(fmt.Sprintf("%T", want), "interface {}", "interface{}"))
}

// set puts replicas where the path leads.
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

// invalid is what is wrong with the value of a path.
func (p scalePath) invalid(value any, detail string) field.ErrorList {
	return field.ErrorList{field.Invalid(field.NewPath(string(p)), value, detail)}
}

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

func (s *scalePaths) validateSpec(u *scheme.Unstructured) field.ErrorList {
	return s.spec.validateReplicas(u)
}

func (s *scalePaths) validateStatus(u *scheme.Unstructured) field.ErrorList {
	errs := s.status.validateReplicas(u)
	if s.selector != "" {
		if text, _, err := read[string](s.selector, u); err != nil {
			errs = append(errs, s.selector.invalid(text, err.Error())...)
		}
	}
	return errs
}

// scaleDoors are the doors to the scales of all versions that have them. Whoever owns the replicas
// in one version owns those of the scale.
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

// unset are the replicas of what a change starts from that has none: whoever does not set them has
// left them out.
const unset = math.MinInt32

func (s *scalePaths) show(u *scheme.Unstructured, to registry.Occasion) (meta.Object, error) {
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

// scaleError is the answer for an object that has something else where its scale should be.
func scaleError(err error, to registry.Occasion) error {
	if to == registry.AsResult {
		return meta.NewBadRequest(err.Error())
	}
	return err
}

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

// scaleTable shows a scale. No replicas wanted are none to show.
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
