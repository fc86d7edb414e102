package govalue

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strings"

	"github.com/coracle-project/coracle/scheme/api/apiextensionsv1"
	"github.com/coracle-project/coracle/scheme/api/batchv1"
	"github.com/coracle-project/coracle/scheme/api/corev1"
	"github.com/coracle-project/coracle/scheme/typeinfo"
)

// This file has JSON, which renders a value. kube-apiserver validates internal types, whose fields
// have other orders than ours: the tables below have these orders.

// JSON returns a Marshaler that renders v as kube-apiserver shows it in messages: fields under
// their Go names, unset ones as null or empty. It renders only when a message is encoded, and fails
// if the text exceeds 256 KiB.
func JSON(v any) json.Marshaler { return value{v} }

// value is a value that is rendered when a message shows it.
type value struct{ of any }

// maxText bounds what one value is rendered to, in bytes: an element as short as {} stands for a
// kilobyte of unset fields.
const maxText = 256 << 10

var errTooLong = errors.New("the value is too long to be shown")

// MarshalJSON renders the value, or fails if it is too long.
func (v value) MarshalJSON() ([]byte, error) {
	var b bytes.Buffer
	write(&b, reflect.ValueOf(v.of))
	if b.Len() > maxText {
		return nil, errTooLong
	}
	return b.Bytes(), nil
}

// podSpecOrder is the order of fields in the internal pod spec. podContextFields are the fields
// that the internal types have in its security context instead.
var (
	podSpecOrder = strings.Fields(`Volumes InitContainers Containers EphemeralContainers RestartPolicy
		TerminationGracePeriodSeconds ActiveDeadlineSeconds DNSPolicy NodeSelector ServiceAccountName
		AutomountServiceAccountToken NodeName SecurityContext ImagePullSecrets Hostname Subdomain SetHostnameAsFQDN
		Affinity SchedulerName Tolerations HostAliases PriorityClassName Priority PreemptionPolicy DNSConfig
		ReadinessGates RuntimeClassName Overhead EnableServiceLinks TopologySpreadConstraints OS SchedulingGates
		ResourceClaims Resources HostnameOverride SchedulingGroup`)
	podContextFields = strings.Fields(`HostNetwork HostPID HostIPC ShareProcessNamespace HostUsers`)
)

var (
	podSpecType   = reflect.TypeFor[corev1.PodSpec]()
	marshalerType = reflect.TypeFor[json.Marshaler]()
	choiceType    = reflect.TypeFor[typeinfo.Choice]()
)

// orders are the orders of fields in internal structs that differ from those of our types.
var orders = map[reflect.Type][]string{
	reflect.TypeFor[batchv1.JobSpec](): strings.Fields(`Parallelism Completions PodFailurePolicy SuccessPolicy
		ActiveDeadlineSeconds BackoffLimit BackoffLimitPerIndex MaxFailedIndexes Selector ManualSelector Template
		TTLSecondsAfterFinished CompletionMode Suspend PodReplacementPolicy ManagedBy`),
	reflect.TypeFor[batchv1.JobStatus](): strings.Fields(`Conditions StartTime CompletionTime Active Terminating Ready Succeeded
		Failed CompletedIndexes FailedIndexes UncountedTerminatedPods`),
	reflect.TypeFor[apiextensionsv1.JSONSchemaProps](): strings.Fields(`ID Schema Ref Description Type Nullable Format Title Default
		Maximum ExclusiveMaximum Minimum ExclusiveMinimum MaxLength MinLength Pattern MaxItems MinItems UniqueItems MultipleOf Enum
		MaxProperties MinProperties Required Items AllOf OneOf AnyOf Not Properties AdditionalProperties PatternProperties
		Dependencies AdditionalItems Definitions ExternalDocs Example XPreserveUnknownFields XEmbeddedResource XIntOrString
		XListMapKeys XListType XMapType XValidations`),
	reflect.TypeFor[corev1.PersistentVolumeSource](): strings.Fields(`GCEPersistentDisk AWSElasticBlockStore HostPath Glusterfs
		NFS RBD Quobyte ISCSI FlexVolume Cinder CephFS FC Flocker AzureFile VsphereVolume AzureDisk PhotonPersistentDisk
		PortworxVolume ScaleIO Local StorageOS CSI`),
	reflect.TypeFor[corev1.VolumeSource](): strings.Fields(`HostPath EmptyDir GCEPersistentDisk AWSElasticBlockStore GitRepo
		Secret NFS ISCSI Glusterfs PersistentVolumeClaim RBD Quobyte FlexVolume Cinder CephFS Flocker DownwardAPI FC AzureFile
		ConfigMap VsphereVolume AzureDisk PhotonPersistentDisk Projected PortworxVolume ScaleIO StorageOS CSI Ephemeral Image`),
	reflect.TypeFor[corev1.ServiceSpec](): strings.Fields(`Type Ports Selector ClusterIP ClusterIPs IPFamilies IPFamilyPolicy
		ExternalName ExternalIPs LoadBalancerIP SessionAffinity SessionAffinityConfig LoadBalancerSourceRanges
		ExternalTrafficPolicy HealthCheckNodePort PublishNotReadyAddresses AllocateLoadBalancerNodePorts LoadBalancerClass
		InternalTrafficPolicy TrafficDistribution`),
	reflect.TypeFor[corev1.PodSecurityContext](): strings.Fields(`SELinuxOptions WindowsOptions RunAsUser RunAsGroup
		RunAsNonRoot SupplementalGroups SupplementalGroupsPolicy FSGroup FSGroupChangePolicy Sysctls SeccompProfile
		AppArmorProfile SELinuxChangePolicy`),
}

// apiPackages is the path of the packages whose types have an internal twin in kube-apiserver.
// Other types, such as selectors, have none.
var apiPackages = strings.TrimSuffix(podSpecType.PkgPath(), "corev1")

func isAPI(t reflect.Type) bool { return strings.HasPrefix(t.PkgPath(), apiPackages) }

// write renders a value of any type. What has no internal twin, and so no Go names to show, is
// written as its JSON: scalars, bytes, types with a JSON form of their own, and structs of other
// packages. A Choice is such a type in our packages only: its twin is a plain struct.
func write(b *bytes.Buffer, v reflect.Value) {
	if b.Len() > maxText {
		return // too long already; MarshalJSON fails
	}
	if !v.IsValid() {
		b.WriteString("null")
		return
	}
	t := v.Type()
	switch {
	case t == podSpecType:
		writePodSpec(b, v)
	case t.Kind() == reflect.Pointer:
		write(b, v.Elem())
	case t.Implements(marshalerType) && !reflect.PointerTo(t).Implements(choiceType), t.Kind() == reflect.Struct &&
		!isAPI(t):
		writeJSON(b, v)
	case t.Kind() == reflect.Struct:
		b.WriteByte('{')
		writeFields(b, v, "")
		b.WriteByte('}')
	case t.Kind() == reflect.Slice && t.Elem().Kind() != reflect.Uint8:
		writeList(b, v)
	case t.Kind() == reflect.Map && !v.IsNil() && isAPI(t.Elem()):
		writeMap(b, v)
	default:
		writeJSON(b, v)
	}
}

func writeJSON(b *bytes.Buffer, v reflect.Value) {
	text, err := json.Marshal(v.Interface())
	if err != nil {
		text, _ = json.Marshal(fmt.Sprint(v.Interface()))
	}
	b.Write(text)
}

// writeFields writes the fields of a struct, and those of embedded structs among them. It returns
// the separator for the next field.
func writeFields(b *bytes.Buffer, v reflect.Value, sep string) string {
	if order := orders[v.Type()]; order != nil {
		for _, name := range order {
			sep = writeField(b, name, v.FieldByName(name), sep)
		}
		return sep
	}
	for i := range v.NumField() {
		f := v.Type().Field(i)
		switch {
		case !f.IsExported(): // a blank field that only carries tags
		case f.Anonymous && f.Name == "TypeMeta": // empty in internal objects
		case f.Anonymous && isAPI(f.Type):
			sep = writeFields(b, v.Field(i), sep)
		case f.Anonymous:
			sep = writeMeta(b, v.Field(i), sep)
		default:
			sep = writeField(b, f.Name, v.Field(i), sep)
		}
	}
	return sep
}

// writeMeta writes the metadata of an object among its fields. Internal types have JSON names
// there.
func writeMeta(b *bytes.Buffer, v reflect.Value, sep string) string {
	var inner bytes.Buffer
	writeJSON(&inner, v)
	fields := inner.Bytes()[1 : inner.Len()-1]
	if len(fields) == 0 {
		return sep
	}
	b.WriteString(sep)
	b.Write(fields)
	return ","
}

func writeField(b *bytes.Buffer, name string, v reflect.Value, sep string) string {
	fmt.Fprintf(b, "%s%q:", sep, name)
	write(b, v)
	return ","
}

func writeList(b *bytes.Buffer, v reflect.Value) {
	if v.IsNil() {
		b.WriteString("null")
		return
	}
	b.WriteByte('[')
	for i := 0; i < v.Len() && b.Len() <= maxText; i++ {
		if i > 0 {
			b.WriteByte(',')
		}
		write(b, v.Index(i))
	}
	b.WriteByte(']')
}

// writeMap writes the elements of a map in the order of their keys.
func writeMap(b *bytes.Buffer, v reflect.Value) {
	keys := v.MapKeys()
	slices.SortFunc(keys, func(x, y reflect.Value) int { return strings.Compare(x.String(), y.String()) })
	b.WriteByte('{')
	sep := ""
	for _, k := range keys {
		sep = writeField(b, k.String(), v.MapIndex(k), sep)
	}
	b.WriteByte('}')
}

// writePodSpec writes a pod spec. In the internal type, the fields about the namespaces of the host
// belong to the security context, which is never nil.
func writePodSpec(b *bytes.Buffer, v reflect.Value) {
	b.WriteByte('{')
	sep := ""
	for _, name := range podSpecOrder {
		if name != "SecurityContext" {
			sep = writeField(b, name, v.FieldByName(name), sep)
			continue
		}
		fmt.Fprintf(b, "%s%q:{", sep, name)
		inner := ""
		for _, name := range podContextFields {
			inner = writeField(b, name, v.FieldByName(name), inner)
		}
		sc := v.FieldByName(name)
		if sc.IsNil() { // there is always one
			sc = reflect.New(sc.Type().Elem())
		}
		writeFields(b, sc.Elem(), inner)
		b.WriteByte('}')
	}
	b.WriteByte('}')
}

// Diff returns a unified diff of the indented renderings of two values. It is empty if they are
// equal, or if one is too long to be rendered.
func Diff(old, new any) string {
	a, errA := indented(old)
	b, errB := indented(new)
	if errA != nil || errB != nil {
		return ""
	}
	return unifiedDiff(a, b)
}

func indented(v any) ([]string, error) {
	text, err := value{v}.MarshalJSON()
	if err != nil {
		return nil, err
	}
	var b bytes.Buffer
	if err := json.Indent(&b, text, "", " "); err != nil {
		return nil, err
	}
	return strings.Split(b.String(), "\n"), nil
}
