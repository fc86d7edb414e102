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

// The media types as they stand in Accept and Content-Type.
const (
	JSONType     = "application/json"
	YAMLType     = "application/yaml"
	ProtobufType = "application/vnd.kubernetes.protobuf"
)

var typeNames = [...]string{JSONType, YAMLType, ProtobufType}

// String returns the media type, without parameters.
func (t Type) String() string { return typeNames[t] }

// The transformations that a client can ask for with "as=".
const (
	AsTable       = "Table"
	AsPartial     = "PartialObjectMetadata"
	AsPartialList = "PartialObjectMetadataList"
	AsDiscovery   = "APIGroupDiscoveryList" // of apidiscovery.k8s.io/v2
)

// targetManagedFields is what a client can ask to be left out with "drop=", among targets that a plus sign separates.
const targetManagedFields = "metadata.managedFields"

// Media is how an answer is to be written. The zero Media is plain JSON. Media are comparable.
type Media struct {
	Type Type
	// As is the kind to transform objects to, of the group and version named by Group and Version; "" for none.
	As      string
	Group   string
	Version string
	// DropManagedFields is set by ";drop=metadata.managedFields": objects are shown without.
	DropManagedFields bool
	// Stream is set by ";stream=watch".
	Stream bool
	// Pretty indents JSON by two spaces and leaves the final newline out. It comes from the request, see Pretty,
	// not from the Accept header.
	Pretty bool
}

// ContentType returns the Content-Type of a single answer in this form.
func (m Media) ContentType() string { return typeNames[m.Type] }

// StreamType returns the Content-Type of a watch in this form.
func (m Media) StreamType() string {
	if m.Type == JSON {
		return JSONType
	}
	return typeNames[m.Type] + ";stream=watch"
}

// GVK returns the kind that As asks for; ok is false if it asks for none.
func (m Media) GVK() (gvk meta.GroupVersionKind, ok bool) {
	return meta.GroupVersionKind{Group: m.Group, Version: m.Version, Kind: m.As}, m.As != ""
}
