package codec

import "github.com/coracle-project/coracle/scheme/meta"

// Type is an encoding of objects.
type Type uint8

// The encodings, in the order in which kube-apiserver offers them.
const (
	JSON Type = iota
	YAML
	Protobuf
)

// The media types, as Accept and Content-Type spell them.
const (
	JSONType     = "application/json"
	YAMLType     = "application/yaml"
	ProtobufType = "application/vnd.kubernetes.protobuf"
)

// typeNames are the media types, by Type.
var typeNames = [...]string{JSONType, YAMLType, ProtobufType}

// String returns the media type, without parameters.
func (t Type) String() string { return typeNames[t] }

// The transformations that a client requests with the parameter "as=" of an Accept header.
const (
	AsTable       = "Table"
	AsPartial     = "PartialObjectMetadata"
	AsPartialList = "PartialObjectMetadataList"
	AsDiscovery   = "APIGroupDiscoveryList" // of apidiscovery.k8s.io/v2
)

// targetManagedFields is the one known target of the parameter "drop=", whose targets are separated
// by plus signs.
const targetManagedFields = "metadata.managedFields"

// Media describes the form of a response. The zero Media is JSON without transformation. Media are
// comparable.
type Media struct {
	// Type is the encoding.
	Type Type
	// As is the kind to transform objects to, "" for none. Group and Version are the group and
	// version of that kind.
	As      string
	Group   string
	Version string
	// DropManagedFields is set by ";drop=metadata.managedFields": objects are written without
	// managedFields.
	DropManagedFields bool
	// Stream is set by ";stream=watch" on a watch.
	Stream bool
	// Pretty indents JSON by two spaces and leaves out the final newline. The caller sets it from
	// the request (see the function Pretty); the parameter ";pretty=1" sets it, too.
	Pretty bool
}

// ContentType returns the Content-Type of a response that holds one object, in this form.
func (m Media) ContentType() string { return typeNames[m.Type] }

// StreamType returns the Content-Type of a watch response in this form.
func (m Media) StreamType() string {
	if m.Type == JSON {
		return JSONType
	}
	return typeNames[m.Type] + ";stream=watch"
}

// GVK returns the kind that As names. ok is false if no transformation is requested.
func (m Media) GVK() (gvk meta.GroupVersionKind, ok bool) {
	return meta.GroupVersionKind{Group: m.Group, Version: m.Version, Kind: m.As}, m.As != ""
}
