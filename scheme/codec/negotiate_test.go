package codec

import (
	"strings"
	"testing"

	"github.com/coracle-project/coracle/scheme/meta"
)

func TestProducible(t *testing.T) {
	for accept, want := range map[string]bool{
		"": true, "*/*": true, JSONType: true, "text/html, application/json;q=0.1": true, "text/html, */*;q=0.8": true, "application/json;as=Table": true,
		"application/*": false, "text/html": false, YAMLType: false, ",": false, strings.Repeat("a/b,", maxClauses) + JSONType: false,
	} {
		if err := Producible(accept, JSONType); (err == nil) != want {
			t.Errorf("Producible(%q): got %v, want %v", accept, err, want)
		} else if err != nil && err.Error() != "406: Not Acceptable\n\nAvailable representations: application/json" {
			t.Errorf("Producible(%q): got %q", accept, err)
		}
	}
}

func TestNegotiate(t *testing.T) {
	const (
		plain    = "only the following media types are accepted: application/json, application/yaml, application/vnd.kubernetes.protobuf"
		streamed = "only the following media types are accepted: application/json;stream=watch, application/vnd.kubernetes.protobuf;stream=watch"
		route    = "406: Not Acceptable\n\nAvailable representations: application/json, application/yaml, application/vnd.kubernetes.protobuf"
		list     = route + ", application/json;stream=watch, application/vnd.kubernetes.protobuf;stream=watch"
		all      = OfferTable | OfferPartial
	)
	table := Media{As: "Table", Group: "meta.k8s.io", Version: "v1"}
	for _, tt := range []struct {
		accept string
		offer  Offer
		want   Media
		err    string
	}{
		{"", all, Media{}, ""},
		{"*/*", all, Media{}, ""},
		{"application/json", all, Media{}, ""},
		{"application/yaml", all, Media{Type: YAML}, ""},
		{"application/vnd.kubernetes.protobuf", all, Media{Type: Protobuf}, ""},
		{"application/vnd.kubernetes.protobuf,application/json", all, Media{Type: Protobuf}, ""},
		{"application/vnd.kubernetes.protobuf;q=0.5, application/json", all, Media{}, ""},
		{"text/html,application/json;q=0.1", all, Media{}, ""},
		{"text/html, */*;q=0.8", all, Media{}, ""},
		{"*/*, application/yaml", all, Media{Type: YAML}, ""},
		{"application/json; charset=utf-8", all, Media{}, ""},
		{"application/json;pretty=1", all, Media{Pretty: true}, ""},
		{"application/*", all, Media{}, route},
		{"application/*, application/yaml", all, Media{Type: YAML}, ""},
		{"application/xml", all, Media{}, route},
		{"application/xml", all | OfferStream, Media{}, list},
		{"garbage", OfferStream, Media{}, list},
		{"application/json;as=Table;v=v1;g=meta.k8s.io", all, table, ""},
		{"application/json;as=Table;v=v1beta1;g=meta.k8s.io", all, Media{As: "Table", Group: "meta.k8s.io", Version: "v1beta1"}, ""},
		{"application/json;as=Table;v=v1;g=meta.k8s.io,application/json", OfferPartial, Media{}, ""},
		{"application/json;as=Table;v=v9;g=meta.k8s.io", all, Media{}, plain},
		{"application/json;as=Table;v=v9;g=meta.k8s.io, application/json", all, Media{}, ""},
		{"application/json;as=Chart;v=v1;g=meta.k8s.io", all, Media{}, plain},
		{"application/vnd.kubernetes.protobuf;as=Table;v=v1;g=meta.k8s.io,application/json;as=Table;v=v1;g=meta.k8s.io", all, table, ""},
		{"application/yaml;as=Table;v=v1;g=meta.k8s.io", all, Media{Type: YAML, As: "Table", Group: "meta.k8s.io", Version: "v1"}, ""},
		{"application/vnd.kubernetes.protobuf;as=PartialObjectMetadata;g=meta.k8s.io;v=v1", all, Media{Type: Protobuf, As: AsPartial, Group: "meta.k8s.io", Version: "v1"}, ""},
		{"application/json;stream=watch", OfferStream, Media{}, ""},
		{"application/json;stream=watch", all, Media{}, ""},
		{"application/vnd.kubernetes.protobuf;stream=watch", 0, Media{Type: Protobuf}, ""},
		{"application/yaml;stream=watch", all, Media{}, plain},
		{"application/json;stream=other", all, Media{}, plain},
		{"application/*", all | OfferUnrouted, Media{}, ""},
		{"application/xml", all | OfferUnrouted, Media{}, plain},
		{"application/yaml;as=APIGroupDiscoveryList;v=v2;g=apidiscovery.k8s.io", OfferDiscovery, Media{Type: YAML, As: AsDiscovery, Group: "apidiscovery.k8s.io", Version: "v2"}, ""},
		{"application/yaml;as=APIGroupDiscoveryList;v=v2;g=apidiscovery.k8s.io", all, Media{}, plain},
		{"application/json;stream=watch", OfferWatch, Media{Stream: true}, ""},
		{"application/vnd.kubernetes.protobuf;stream=watch,application/json", OfferWatch, Media{Type: Protobuf, Stream: true}, ""},
		{"application/yaml", OfferWatch, Media{}, streamed},
		{"application/json;as=Table;v=v1;g=meta.k8s.io", OfferWatch | OfferTable, table, ""},
		{"application/json;drop=metadata.managedFields", all, Media{DropManagedFields: true}, ""},
		{"application/json; drop=metadata.managedFields", OfferWatch, Media{DropManagedFields: true}, ""},
		{"application/json;drop=spec.secret+metadata.managedFields+x", 0, Media{DropManagedFields: true}, ""},
		{"application/json;drop=spec", all, Media{}, ""},
		{"application/json;drop=metadata.managedfields", all, Media{}, ""},
		{"application/json;drop=metadata", all, Media{}, ""},
		{"application/json;drop", all, Media{}, ""},
		{"application/json;drop=metadata.managedFields,spec", all, Media{DropManagedFields: true}, ""},
		{"application/yaml;drop=metadata.managedFields", all, Media{Type: YAML, DropManagedFields: true}, ""},
		{"*/*;drop=metadata.managedFields", all, Media{DropManagedFields: true}, ""},
		{"application/vnd.kubernetes.protobuf;drop=metadata.managedFields,application/json", all, Media{Type: Protobuf, DropManagedFields: true}, ""},
		{"application/vnd.kubernetes.protobuf,application/json;drop=metadata.managedFields", all, Media{Type: Protobuf}, ""},
		{"application/json;as=Table;v=v9;g=meta.k8s.io;drop=metadata.managedFields,application/json", all, Media{}, ""},
		{"application/json;as=Table;v=v1;g=meta.k8s.io;drop=metadata.managedFields", all, Media{As: "Table", Group: "meta.k8s.io", Version: "v1", DropManagedFields: true}, ""},
		{"application/json;stream=watch;drop=metadata.managedFields", OfferWatch, Media{Stream: true, DropManagedFields: true}, ""},
	} {
		for range 2 { // the second time from the cache
			got, err := Negotiate(tt.accept, tt.offer)
			if got != tt.want || errText(err) != tt.err {
				t.Errorf("Negotiate(%q, %d): got %+v, %q, want %+v, %q", tt.accept, tt.offer, got, errText(err), tt.want, tt.err)
			}
			if err != nil && err.(*meta.StatusError).Status.Code != 406 {
				t.Errorf("Negotiate(%q): got code %d, want 406", tt.accept, err.(*meta.StatusError).Status.Code)
			}
		}
	}
}

func TestNegotiateAllocates(t *testing.T) {
	const accept = "application/json;as=Table;v=v1;g=meta.k8s.io,application/json;as=Table;v=v1beta1;g=meta.k8s.io,application/json"
	if n := testing.AllocsPerRun(100, func() { Negotiate(accept, OfferTable) }); n > 0 {
		t.Errorf("Negotiate: got %v allocs, want 0", n)
	}
}

func TestBodyType(t *testing.T) {
	const refused = "the body of the request was in an unknown format - accepted media types include: application/json, application/yaml, application/vnd.kubernetes.protobuf"
	for _, tt := range []struct {
		header string
		want   Type
		err    string
	}{
		{"", JSON, ""},
		{"application/json", JSON, ""},
		{"application/json; charset=utf-8", JSON, ""},
		{"Application/YAML", YAML, ""},
		{"application/vnd.kubernetes.protobuf", Protobuf, ""},
		{"text/plain", JSON, refused},
		{"application/x-www-form-urlencoded", JSON, refused},
		{";;;", JSON, refused},
	} {
		if got, err := BodyType(tt.header); got != tt.want || errText(err) != tt.err {
			t.Errorf("BodyType(%q): got %v, %v, want %v, %q", tt.header, got, err, tt.want, tt.err)
		}
	}
}

func TestPretty(t *testing.T) {
	for _, tt := range []struct {
		param, agent string
		want         bool
	}{
		{"", "kubectl/v1.36", false},
		{"", "curl/8.5.0", true},
		{"", "Wget/1.21", true},
		{"", "Mozilla/5.0 browser", true},
		{"true", "", true},
		{"1", "", true},
		{"false", "curl/8", false},
		{"0", "curl/8", false},
		{"maybe", "curl/8", false},
	} {
		if got := Pretty(tt.param, tt.agent); got != tt.want {
			t.Errorf("Pretty(%q, %q): got %v, want %v", tt.param, tt.agent, got, tt.want)
		}
	}
}
