package codec

import (
	"bytes"

	"github.com/coracle-project/coracle/scheme/meta"
)

var protoPrefix = []byte("k8s\x00")

// IsProtobuf reports whether data begins with the prefix of protobuf objects.
func IsProtobuf(data []byte) bool { return bytes.HasPrefix(data, protoPrefix) }

// ProtoBody returns the message inside an enveloped object, which is what stands in a protobuf list.
func ProtoBody(data []byte) ([]byte, error) { return nil, nil }

// A protobuf list is written in parts, as its items are encoded already: head, items, tail.

// ProtoItemSize is how many bytes AppendProtoItem appends for a message of n bytes.
func ProtoItemSize(n int) int { return 0 }

// AppendProtoListHead appends the envelope and ListMeta of a list whose items take itemsSize bytes in all.
func AppendProtoListHead(dst []byte, gvk meta.GroupVersionKind, lm *meta.ListMeta, itemsSize int) []byte {
	return dst
}

// AppendProtoItem appends one item, given as the message inside its envelope (ProtoBody).
func AppendProtoItem(dst, message []byte) []byte { return dst }

// AppendProtoListTail appends what follows the items.
func AppendProtoListTail(dst []byte) []byte { return dst }
