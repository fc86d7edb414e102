package codec_test

import (
	"testing"

	"github.com/coracle-project/coracle/scheme/codec"
)

// BenchmarkPeekNeeds peeks into a pod that lacks nothing, with and without needs.
func BenchmarkPeekNeeds(b *testing.B) {
	p := newProver(b)
	gvk := kindOf("/v1 Pod")
	decoded, err := p.codecs.Decode(codec.DecodeRequest{Data: []byte(typical["/v1 Pod"]), Default: gvk})
	if err != nil {
		b.Fatal(err)
	}
	p.Default(decoded.Object)
	text, _ := codec.AppendJSON(nil, decoded.Object)
	data, _ := codec.AppendProto(nil, decoded.Object)
	paths := []string{"spec.nodeName", "spec.restartPolicy", "spec.schedulerName", "spec.serviceAccountName", "spec.hostNetwork",
		"status.phase", "status.podIP", "status.nominatedNodeName"}
	json, proto := codec.NewPeeker(paths...), codec.NewProtoPeeker(p.typ(gvk), paths...)
	jsonNeeds, protoNeeds := p.needs.Peeker(p.typ(gvk), none, paths...), p.needs.ProtoPeeker(p.typ(gvk), none, paths...)
	for _, bb := range []struct {
		name string
		data []byte
		peek func([]byte, *codec.Peek) error
	}{
		{"json", text, json.Peek}, {"needs=json", text, jsonNeeds.Peek}, {"protobuf", data, proto.Peek}, {"needs=protobuf", data, protoNeeds.Peek},
	} {
		b.Run(bb.name, func(b *testing.B) {
			var peek codec.Peek
			b.SetBytes(int64(len(bb.data)))
			b.ReportAllocs()
			for b.Loop() {
				if bb.peek(bb.data, &peek) != nil || peek.MayNeedDefaults {
					b.Fatal("no proof")
				}
			}
		})
	}
}
