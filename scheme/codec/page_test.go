package codec

import (
	"testing"

	"github.com/coracle-project/coracle/scheme/meta"
)

func TestNegotiatePage(t *testing.T) {
	kind := meta.GroupVersionKind{Group: "g.io", Version: "v1", Kind: "Page"}
	object := Media{As: "Page", Group: "g.io", Version: "v1"}
	yaml := Media{Type: YAML, As: "Page", Group: "g.io", Version: "v1"}
	const as = ";as=Page;g=g.io;v=v1"
	for _, tt := range []struct {
		accept  string
		want    Media
		convert bool
		refused bool
	}{
		{accept: ""}, {accept: " "}, {accept: "*/*"}, {accept: "text/plain"}, {accept: "text/*"}, {accept: "text/html, */*;q=0.8"},
		{accept: "text/plain;charset=utf-8"},
		{accept: JSONType + as, want: object, convert: true},
		{accept: YAMLType + as, want: yaml, convert: true},
		{accept: "*/*" + as, want: object, convert: true},
		{accept: "application/*" + as, want: object, convert: true},
		{accept: JSONType + ";as=Page;g=g.io;v=v2," + YAMLType + as, want: yaml, convert: true},
		{accept: JSONType + as + ";q=0.1,text/plain"},
		{accept: JSONType, refused: true}, {accept: ProtobufType + as, refused: true}, {accept: "text/html", refused: true},
		{accept: "text/plain" + as, refused: true}, {accept: JSONType + as + ";stream=watch", refused: true}, {accept: ",", refused: true},
		{accept: JSONType + ";as=Page", refused: true},
	} {
		got, convert, err := NegotiatePage(tt.accept, kind)
		if got != tt.want || convert != tt.convert || (err != nil) != tt.refused {
			t.Errorf("NegotiatePage(%q): got %+v, %v, %v, want %+v, %v, refused: %v", tt.accept, got, convert, err, tt.want, tt.convert, tt.refused)
		}
	}
}
