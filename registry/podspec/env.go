package podspec

import (
	"fmt"
	"slices"
	"strings"

	"github.com/coracle-project/coracle/registry/check"
	"github.com/coracle-project/coracle/scheme/api/corev1"
	"github.com/coracle-project/coracle/scheme/field"
	"github.com/coracle-project/coracle/scheme/meta"
	"github.com/coracle-project/coracle/scheme/names"
)

// This file checks environment variables (env, envFrom) and the references to fields of the pod
// (fieldRef, resourceFieldRef), which downward API volumes use, too. checkContainer and volume.go
// call it.

// checkEnv checks variables. A name may contain any printable ASCII character but "=" (KEP-4369).
// Repeated names are legal, since a later variable may extend an earlier one; Warnings tells of
// them.
func checkEnv(p *field.Path, vars []corev1.EnvVar) field.ErrorList {
	var errs field.ErrorList
	for i, v := range field.Each(&errs, vars) {
		p := p.Index(i)
		errs = append(errs, check.Needed(p.Child("name"), v.Name, envName)...)
		if v.ValueFrom != nil {
			errs = append(errs, checkValueFrom(p.Child("valueFrom"), v)...)
		}
	}
	return errs
}

// checkValueFrom checks the source of v, whose ValueFrom is not nil: v must have exactly one source
// and no value. As in Kubernetes, a variable with a value and several sources is reported for its
// value alone.
func checkValueFrom(p *field.Path, v *corev1.EnvVar) field.ErrorList {
	var errs field.ErrorList
	from, n := v.ValueFrom, 0
	if from.FieldRef != nil {
		n++
		errs = append(errs, checkFieldRef(p.Child("fieldRef"), from.FieldRef, envFields)...)
	}
	if from.ResourceFieldRef != nil {
		n++
		errs = append(errs, checkResourceFieldRef(p.Child("resourceFieldRef"), from.ResourceFieldRef, false)...)
	}
	if ref := from.ConfigMapKeyRef; ref != nil {
		n++
		errs = append(errs, checkKeyRef(p.Child("configMapKeyRef"), ref.Name, ref.Key)...)
	}
	if ref := from.SecretKeyRef; ref != nil {
		n++
		errs = append(errs, checkKeyRef(p.Child("secretKeyRef"), ref.Name, ref.Key)...)
	}
	if ref := from.FileKeyRef; ref != nil {
		n++
		errs = append(errs, checkFileKeyRef(p.Child("fileKeyRef"), ref)...)
	}
	switch {
	case n == 0:
		errs = append(errs, field.Invalid(p, "",
			"must specify one of: `fieldRef`, `resourceFieldRef`, `configMapKeyRef`, `secretKeyRef` or `fileKeyRef`"))
	case v.Value != "":
		errs = append(errs, field.Invalid(p, "", "may not be specified when `value` is not empty"))
	case n > 1:
		errs = append(errs, field.Invalid(p, "", "may not have more than one field specified at a time"))
	}
	return errs
}

// checkKeyRef checks a reference to a key of a config map or secret, which need not exist yet.
func checkKeyRef(p *field.Path, name, key string) field.ErrorList {
	errs := check.DNSSubdomain(p.Child("name"), name)
	if key == "" {
		return append(errs, field.Required(p.Child("key"), ""))
	}
	return append(errs, check.Invalid(p.Child("key"), key, names.IsConfigMapKey(key))...)
}

// checkFileKeyRef checks a reference to a variable in an env file of a volume (KEP-3721).
// checkEnvFiles looks the volume up.
func checkFileKeyRef(p *field.Path, ref *corev1.FileKeySelector) field.ErrorList {
	errs := check.Needed(p.Child("key"), ref.Key, envName)
	errs = append(errs, check.Needed(p.Child("volumeName"), ref.VolumeName, check.DNSLabel)...)
	return append(errs, check.Needed(p.Child("path"), ref.Path, check.NoBacksteps)...)
}

func envName(p *field.Path, name string) field.ErrorList {
	return check.Invalid(p, name, names.IsRelaxedEnvVarName(name))
}

// checkEnvFiles checks that each env file is in an emptyDir volume of the pod: its content must
// come from a container of the same pod (KEP-3721). It looks at all volumes, including invalid
// ones.
func checkEnvFiles(p *field.Path, spec *corev1.PodSpec) field.ErrorList {
	var errs field.ErrorList
	var emptyDir map[string]bool // whether a volume is an emptyDir, by name; made at the first reference
	for p, ctr := range Containers(p, spec) {
		for i, v := range field.Each(&errs, ctr.Env) {
			if v.ValueFrom == nil || v.ValueFrom.FileKeyRef == nil {
				continue
			}
			at, name := p.Child("env").Index(i).Child("valueFrom", "fileKeyRef", "volumeName"),
				v.ValueFrom.FileKeyRef.VolumeName
			if emptyDir == nil {
				emptyDir = make(map[string]bool, len(spec.Volumes))
				for j := range spec.Volumes {
					emptyDir[spec.Volumes[j].Name] = spec.Volumes[j].EmptyDir != nil
				}
			}
			switch is, ok := emptyDir[name]; {
			case !ok:
				errs = append(errs, field.NotFound(at, name))
			case !is:
				errs = append(errs, field.Invalid(at, name, "referenced volume must be of type emptyDir"))
			}
		}
	}
	return errs
}

// sourceName checks the name of a config map or secret. It may end in a dash: kube-apiserver checks
// it like a generateName.
func sourceName(p *field.Path, name string) field.ErrorList {
	return check.Invalid(p, name, names.DNSSubdomainName(name, true))
}

// checkEnvFrom checks sources whose keys all become variables. Each has exactly one of configMapRef
// and secretRef. That rule is reported on the list, not on the element, as in kube-apiserver.
func checkEnvFrom(p *field.Path, sources []corev1.EnvFromSource) field.ErrorList {
	var errs field.ErrorList
	for i, source := range field.Each(&errs, sources) {
		at, n := p.Index(i), 0
		errs = append(errs, check.Optional(at.Child("prefix"), source.Prefix, envName)...)
		named := func(p *field.Path, name string) {
			n++
			errs = append(errs, check.Needed(p, name, sourceName)...)
		}
		if source.ConfigMapRef != nil {
			named(at.Child("configMapRef", "name"), source.ConfigMapRef.Name)
		}
		if source.SecretRef != nil {
			named(at.Child("secretRef", "name"), source.SecretRef.Name)
		}
		switch {
		case n == 0:
			errs = append(errs, field.Invalid(p, "", "must specify one of: `configMapRef` or `secretRef`"))
		case n > 1:
			errs = append(errs, field.Invalid(p, "", "may not have more than one field specified at a time"))
		}
	}
	return errs
}

// Fields of a pod that the downward API can name: podFields are all that v1 has, envFields those
// for environment variables, and fileFields those for files. A variable can hold a single label or
// annotation (metadata.labels['key']); a file can also hold all of them.
var (
	podFields = []string{"metadata.annotations", "metadata.labels", "metadata.name", "metadata.namespace",
		"metadata.uid", "spec.nodeName", "spec.restartPolicy", "spec.serviceAccountName", "spec.schedulerName",
		"status.phase", "status.hostIP", "status.hostIPs", "status.podIP", "status.podIPs"}
	envFields = []string{"metadata.name", "metadata.namespace", "metadata.uid", "spec.nodeName",
		"spec.serviceAccountName", "status.hostIP", "status.hostIPs", "status.podIP", "status.podIPs"}
	fileFields = []string{"metadata.annotations", "metadata.labels", "metadata.name", "metadata.namespace",
		"metadata.uid"}
)

// splitSubscript splits the path metadata.labels['key'] into metadata.labels and key. ok is false
// if the path has no subscript.
func splitSubscript(fieldPath string) (path, key string, ok bool) {
	rest, ok := strings.CutSuffix(fieldPath, "']")
	if !ok {
		return "", "", false
	}
	path, key, ok = strings.Cut(rest, "['")
	return path, key, ok && path != ""
}

// convertFieldPath checks a field path of an API version and returns the path that the field has in
// the hub. spec.host is an old name of spec.nodeName.
func convertFieldPath(version, fieldPath string) (string, error) {
	if version != "v1" {
		return "", fmt.Errorf("unsupported pod version: %s", version)
	}
	if path, _, ok := splitSubscript(fieldPath); ok {
		if path == "metadata.annotations" || path == "metadata.labels" {
			return fieldPath, nil
		}
		return "", fmt.Errorf("field label does not support subscript: %s", fieldPath)
	}
	switch {
	case fieldPath == "spec.host":
		return "spec.nodeName", nil
	case slices.Contains(podFields, fieldPath):
		return fieldPath, nil
	}
	return "", fmt.Errorf("field label not supported: %s", fieldPath)
}

// checkFieldRef checks a reference to a field of the pod, which must be one of allowed unless it
// has a subscript. The key of an annotation is checked in lower case, as keys of annotations are
// everywhere.
func checkFieldRef(p *field.Path, ref *corev1.ObjectFieldSelector, allowed []string) field.ErrorList {
	if ref.APIVersion == "" {
		return field.ErrorList{field.Required(p.Child("apiVersion"), "")}
	}
	if ref.FieldPath == "" {
		return field.ErrorList{field.Required(p.Child("fieldPath"), "")}
	}
	fieldPath, err := convertFieldPath(ref.APIVersion, ref.FieldPath)
	if err != nil {
		return field.ErrorList{field.Invalid(p.Child("fieldPath"), ref.FieldPath,
			fmt.Sprintf("error converting fieldPath: %v", err))}
	}
	switch path, key, ok := splitSubscript(fieldPath); {
	case ok && path == "metadata.annotations":
		return check.QualifiedName(p, strings.ToLower(key))
	case ok:
		return check.QualifiedName(p, key)
	}
	return check.Supported(p.Child("fieldPath"), fieldPath, allowed...)
}

// resourceFields are the requests and limits of a container that the downward API can name, beside
// huge pages of any size.
var resourceFields = []string{"limits.cpu", "limits.ephemeral-storage", "limits.memory",
	"requests.cpu", "requests.ephemeral-storage", "requests.memory"}

// Divisors that the API accepts: whole cores or thousandths of one, and units of bytes.
var (
	cpuDivisors  = []string{"1m", "1"}
	byteDivisors = []string{"1", "1k", "1M", "1G", "1T", "1P", "1E", "1Ki", "1Mi", "1Gi", "1Ti", "1Pi", "1Ei"}
)

// checkResourceFieldRef checks a reference to a request or limit of a container. volume is true for
// a file, which must name the container; a variable refers to its own. A zero divisor means 1. A
// divisor of an unknown resource is not checked, since the resource is reported already.
func checkResourceFieldRef(p *field.Path, ref *corev1.ResourceFieldSelector, volume bool) field.ErrorList {
	var errs field.ErrorList
	_, kind, _ := strings.Cut(ref.Resource, ".")
	huge := strings.HasPrefix(ref.Resource, "limits.hugepages-") ||
		strings.HasPrefix(ref.Resource, "requests.hugepages-")
	switch {
	case volume && ref.ContainerName == "":
		errs = append(errs, field.Required(p.Child("containerName"), ""))
	case ref.Resource == "":
		errs = append(errs, field.Required(p.Child("resource"), ""))
	case !huge:
		errs = append(errs, check.Supported(p.Child("resource"), ref.Resource, resourceFields...)...)
	}
	if ref.Divisor.Cmp(meta.Quantity{}) == 0 {
		return errs
	}
	divisors, name := byteDivisors, ""
	switch {
	case !huge && !slices.Contains(resourceFields, ref.Resource):
		return errs
	case huge:
		name = "hugepages"
	case kind == "cpu":
		divisors, name = cpuDivisors, "cpu"
	case kind == "memory":
		name = "memory"
	default:
		name = "local ephemeral storage"
	}
	if slices.Contains(divisors, ref.Divisor.String()) {
		return errs
	}
	list := "1m and 1"
	if name != "cpu" {
		list = strings.Join(byteDivisors, ", ")
	}
	return append(errs, field.Invalid(p.Child("divisor"), ref.Resource,
		fmt.Sprintf("only divisor's values %s are supported with the %s resource", list, name)))
}
