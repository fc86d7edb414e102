package networking

import (
	"strings"
	"testing"
	"time"

	"github.com/coracle-project/coracle/registry"
	"github.com/coracle-project/coracle/registry/check/checktest"
	"github.com/coracle-project/coracle/scheme/api/networkingv1"
	"github.com/coracle-project/coracle/scheme/meta"
)

const (
	wildcard = "a wildcard DNS-1123 subdomain must start with '*.', followed by a valid DNS subdomain, which must consist of lower case " +
		"alphanumeric characters, '-' or '.' and end with an alphanumeric character (e.g. '*.example.com', regex used for validation is " +
		`'\*\.[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*')`
	port     = "must be between 1 and 65535, inclusive"
	ip       = "must be a valid IP address, (e.g. 10.9.8.7 or 2001:db8::ffff)"
	cidr     = "must be a valid CIDR value, (e.g. 10.9.8.0/24 or 2001:db8::/64)"
	noName   = "must be a DNS name, not an IP address"
	backend  = `"backend":{"service":{"name":"web","port":{"number":80}}}`
	changed  = "field is immutable"
	absolute = "must be an absolute path"
)

func TestDeclarations(t *testing.T) {
	for kind, want := range map[string]registry.MetaChecks{
		"Ingress": registry.MetaWhole, "IngressClass": registry.MetaWhole, "NetworkPolicy": registry.MetaChange,
		"IPAddress": registry.MetaWhole, "ServiceCIDR": registry.MetaChange,
	} {
		r := checktest.Resource(t, Resources(), kind)
		if s := r.Strategy; s.AllowCreateOnUpdate || !s.AllowUnconditionalUpdate || s.Metadata != want {
			t.Errorf("%s: got %v, want an object that is replaced without a version, and created by POST", kind, s)
		}
		if counts := kind == "Ingress" || kind == "IngressClass" || kind == "NetworkPolicy"; counts != (r.Generation != nil) {
			t.Errorf("%s: counts changes of %v, want it to count: %t", kind, r.Generation, counts)
		}
	}
}

// TestIngresses checks the spec of an ingress. In want, $ is the path of the spec.
func TestIngresses(t *testing.T) {
	s := checktest.Resource(t, Resources(), "Ingress").Strategy
	paths := func(list string) string { return `{"spec":{"rules":[{"http":{"paths":[` + list + `]}}]}}` }
	for text, want := range map[string]string{
		`{}`:                                "$: Invalid value: null: either `defaultBackend` or `rules` must be specified",
		`{"spec":{"rules":[{"host":"a"}]}}`: ``,
		`{"spec":{"defaultBackend":{"service":{"name":"1-a","port":{"name":"http"}}},"ingressClassName":"a.b"}}`: ``,
		`{"spec":{"rules":[{}],"ingressClassName":"A"}}`:                                                         `$.ingressClassName: Invalid value: "A": ` + checktest.Subdomain,
		`{"spec":{"rules":[{"host":"1.2.3.4"},{"host":"*.a.b"},{"host":"a.*"},{"host":"A"}]}}`: `
$.rules[0].host: Invalid value: "1.2.3.4": ` + noName + `
$.rules[2].host: Invalid value: "a.*": ` + wildcard + `
$.rules[3].host: Invalid value: "A": ` + checktest.Subdomain,
		`{"spec":{"rules":[{}],"tls":[{"hosts":["a","*.b","B","*"],"secretName":"s"},{"secretName":"S"}]}}`: `
$.tls[0].hosts[2]: Invalid value: "B": ` + checktest.Subdomain + `
$.tls[0].hosts[3]: Invalid value: "*": ` + wildcard + `
$.tls[1].secretName: Invalid value: "S": ` + checktest.Subdomain,
		paths(``): `$.rules[0].http.paths: Required value`,
		`{"spec":{"rules":[{"host":"*.a","http":{}}]}}`: `$.rules[0].http.paths: Required value`,
		paths(`{` + backend + `}`):                      `$.rules[0].http.paths[0].pathType: Required value: pathType must be specified`,
		paths(`{"pathType":"Odd"}`): `
$.rules[0].http.paths[0].pathType: Unsupported value: "Odd": supported values: "Exact", "ImplementationSpecific", "Prefix"
$.rules[0].http.paths[0].backend: Invalid value: "": resource or service backend is required`,
		paths(`{"pathType":"Exact","path":"/a/.b/..c",` + backend + `},{"pathType":"Prefix","path":"/",` + backend + `},
			{"pathType":"ImplementationSpecific",` + backend + `},{"pathType":"ImplementationSpecific","path":"/a//b/..",` + backend + `}`): ``,
		paths(`{"pathType":"Exact",` + backend + `},{"pathType":"Prefix","path":"a",` + backend + `},{"pathType":"ImplementationSpecific","path":"a",` + backend + `}`): `
$.rules[0].http.paths[0].path: Invalid value: "": ` + absolute + `
$.rules[0].http.paths[1].path: Invalid value: "a": ` + absolute + `
$.rules[0].http.paths[2].path: Invalid value: "a": ` + absolute,
		paths(`{"pathType":"Exact","path":"/a//b/./c/../d%2f%2F/..",` + backend + `},{"pathType":"Prefix","path":"/a/.",` + backend + `}`): `
$.rules[0].http.paths[0].path: Invalid value: "/a//b/./c/../d%2f%2F/..": must not contain '//'
$.rules[0].http.paths[0].path: Invalid value: "/a//b/./c/../d%2f%2F/..": must not contain '/./'
$.rules[0].http.paths[0].path: Invalid value: "/a//b/./c/../d%2f%2F/..": must not contain '/../'
$.rules[0].http.paths[0].path: Invalid value: "/a//b/./c/../d%2f%2F/..": must not contain '%2f'
$.rules[0].http.paths[0].path: Invalid value: "/a//b/./c/../d%2f%2F/..": must not contain '%2F'
$.rules[0].http.paths[0].path: Invalid value: "/a//b/./c/../d%2f%2F/..": cannot end with '/..'
$.rules[0].http.paths[1].path: Invalid value: "/a/.": cannot end with '/.'`,
	} {
		t.Run(text, func(t *testing.T) {
			checktest.Want(t, s.Validate(checktest.Decode[networkingv1.Ingress](t, text), nil), strings.ReplaceAll(want, "$", "spec"))
		})
	}
}

// TestBackends checks the backend of an ingress. In want, $ is the path of the backend.
func TestBackends(t *testing.T) {
	s := checktest.Resource(t, Resources(), "Ingress").Strategy
	for text, want := range map[string]string{
		`"resource":{"kind":"Pod","name":"a"}`:                        ``,
		`"resource":{"kind":"Pod","name":"a"},"service":{"name":"a"}`: `$: Invalid value: "": cannot set both resource and service backends`,
		`"resource":{"apiGroup":"A","kind":"a/b"}`:                    `$.resource.apiGroup: Invalid value: "A": ` + checktest.Subdomain + "\n$.resource.kind: Invalid value: \"a/b\": may not contain '/'\n$.resource.name: Required value",
		`"resource":{"name":".."}`:                                    "$.resource.kind: Required value\n$.resource.name: Invalid value: \"..\": may not be '..'",
		`"service":{}`:                                                "$.service.name: Required value\n$: Required value: port name or number is required",
		`"service":{"name":"A","port":{"name":"a","number":1}}`:       `$.service.name: Invalid value: "A": ` + checktest.Label + "\n$: Invalid value: \"\": cannot set both port name & port number",
		`"service":{"name":"a","port":{"name":"1"}}`:                  `$.service.port.name: Invalid value: "1": must contain at least one letter (a-z)`,
		`"service":{"name":"a","port":{"number":65536}}`:              `$.service.port.number: Invalid value: 65536: ` + port,
	} {
		t.Run(text, func(t *testing.T) {
			obj := checktest.Decode[networkingv1.Ingress](t, `{"spec":{"defaultBackend":{`+text+`}}}`)
			checktest.Want(t, s.Validate(obj, nil), strings.ReplaceAll(want, "$", "spec.defaultBackend"))
		})
	}
}

// TestOldIngresses checks that an update may keep what older servers accepted, until it is
// corrected.
func TestOldIngresses(t *testing.T) {
	s := checktest.Resource(t, Resources(), "Ingress").Strategy
	const (
		good   = `{"spec":{"rules":[{"host":"a","http":{"paths":[{"pathType":"Prefix","path":"/",` + backend + `}]}}],"tls":[{"secretName":"s"}]}}`
		secret = `{"spec":{"rules":[{}],"tls":[{"secretName":"a"},{"secretName":"S"}]}}`
		wild   = `{"spec":{"rules":[{"host":"a"},{"host":"*.a","http":{}}]}}`
		plain  = `{"spec":{"rules":[{"host":"a","http":{}}]}}`
		class  = `{"metadata":{"annotations":{"kubernetes.io/ingress.class":"a"}},"spec":{"ingressClassName":"b","rules":[{}]}}`
	)
	badSecret := `spec.tls[1].secretName: Invalid value: "S": ` + checktest.Subdomain
	for _, tt := range []struct{ obj, old, want string }{
		{secret, good, badSecret},
		{secret, secret, ``},
		{secret, wild, badSecret},
		{wild, good, `spec.rules[1].http.paths: Required value`},
		{wild, wild, ``},
		{wild, plain, `spec.rules[1].http.paths: Required value`},
		{wild, `{"spec":{"rules":[{"host":"*.a"}]}}`, `spec.rules[1].http.paths: Required value`},
		{plain, wild, `spec.rules[0].http.paths: Required value`},
		{plain, plain, `spec.rules[0].http.paths: Required value`},
		{class, class, ``},
		{class, ``, "annotations.kubernetes.io/ingress.class: Invalid value: \"a\": must match `ingressClassName` when both are specified"},
		{strings.Replace(class, `"b"`, `"a"`, 1), ``, ``},
		{strings.Replace(class, `"ingressClassName":"b",`, ``, 1), ``, ``},
	} {
		var old meta.Object
		if tt.old != "" {
			old = checktest.Decode[networkingv1.Ingress](t, tt.old)
		}
		checktest.Want(t, s.Validate(checktest.Decode[networkingv1.Ingress](t, tt.obj), old), tt.want)
	}
}

func TestIngressWarnings(t *testing.T) {
	s := checktest.Resource(t, Resources(), "Ingress").Strategy
	annotated := checktest.Decode[networkingv1.Ingress](t, `{"metadata":{"annotations":{"kubernetes.io/ingress.class":""}}}`)
	both := checktest.Decode[networkingv1.Ingress](t, `{"metadata":{"annotations":{"kubernetes.io/ingress.class":"a"}},"spec":{"ingressClassName":"a"}}`)
	plain := checktest.Decode[networkingv1.Ingress](t, `{}`)
	const want = `annotation "kubernetes.io/ingress.class" is deprecated, please use 'spec.ingressClassName' instead`
	if got := s.Warnings(annotated, nil); len(got) != 1 || got[0] != want {
		t.Errorf("got %q, want %q", got, want)
	}
	if got := append(append(s.Warnings(both, nil), s.Warnings(plain, nil)...), s.Warnings(annotated, plain)...); got != nil {
		t.Errorf("got %q, want none for ingresses with the field, without the annotation, and stored ones", got)
	}
}

func TestIngressStatus(t *testing.T) {
	status := checktest.Resource(t, Resources(), "Ingress").Status
	decode := func(points string) meta.Object {
		return checktest.Decode[networkingv1.Ingress](t, `{"status":{"loadBalancer":{"ingress":[`+points+`]}}}`)
	}
	none := decode(``)
	checktest.Want(t, status.Validate(decode(`{"ip":"1.2.3.4"},{"hostname":"a.b"},{"ip":"fe80::1","hostname":"a"},{}`), none), ``)
	checktest.Want(t, status.Validate(decode(`{"ip":"x"},{"hostname":"A"},{"hostname":"1.2.3.4"},{"ip":"01.2.3.4"}`), none), `
status.loadBalancer.ingress[0].ip: Invalid value: "x": `+ip+`
status.loadBalancer.ingress[1].hostname: Invalid value: "A": `+checktest.Subdomain+`
status.loadBalancer.ingress[2].hostname: Invalid value: "1.2.3.4": `+noName+`
status.loadBalancer.ingress[3].ip: Invalid value: "01.2.3.4": must not have leading 0s`)
	old := decode(`{"ip":"01.2.3.4"},{"hostname":"a"}`)
	checktest.Want(t, status.Validate(old, old), ``)
	const want = `status.loadBalancer.ingress[0]: non-standard IP address "01.2.3.4" is invalid: use "1.2.3.4"`
	if got := status.Warnings(old, old); len(got) != 1 || got[0] != want {
		t.Errorf("got %q, want %q", got, want)
	}
}

func TestIngressTable(t *testing.T) {
	r := checktest.Resource(t, Resources(), "Ingress")
	for text, want := range map[string][]any{
		`{}`: {"x", "<none>", "*", "", "80", "<unknown>"},
		`{"spec":{"ingressClassName":"c","rules":[{"host":"a"},{},{"host":"b"}],"tls":[{}]}}`:                            {"x", "c", "a,b", "", "80, 443", "<unknown>"},
		`{"spec":{"rules":[{"host":"a"},{"host":"b"},{"host":"c"}]}}`:                                                    {"x", "<none>", "a,b,c", "", "80", "<unknown>"},
		`{"spec":{"rules":[{},{"host":"a"},{"host":"b"},{"host":"c"},{}]}}`:                                              {"x", "<none>", "a,b,c + 2 more...", "", "80", "<unknown>"},
		`{"status":{"loadBalancer":{"ingress":[{"hostname":"z"},{"ip":"1.2.3.4","hostname":"y"},{"ip":"1.2.3.4"},{}]}}}`: {"x", "<none>", "*", "1.2.3.4,z", "80", "<unknown>"},
	} {
		checktest.WantCells(t, r, checktest.Decode[networkingv1.Ingress](t, text), time.Now(), want...)
	}
}

// TestIngressClasses checks ingress classes. In want, $ is the path of the spec.
func TestIngressClasses(t *testing.T) {
	r := checktest.Resource(t, Resources(), "IngressClass")
	const path = "Invalid path (regex used for validation is '[A-Za-z0-9/\\-._~%!$&'()*+,;=:]+')"
	parameters := func(text string) string {
		return `"controller":"a.b/c","parameters":{"kind":"K","name":"n"` + text + `}`
	}
	for text, want := range map[string]string{
		`"controller":"a.b/az/AZ~%!$&'()*+,;=:-._09"`: ``,
		``:                     `$.controller: Required value`,
		`"controller":"a"`:     `$.controller: Invalid value: "a": must be a domain-prefixed path (such as "acme.io/foo")`,
		`"controller":"/a"`:    `$.controller: Invalid value: "/a": must be a domain-prefixed path (such as "acme.io/foo")`,
		`"controller":"a/"`:    `$.controller: Invalid value: "a/": must be a domain-prefixed path (such as "acme.io/foo")`,
		`"controller":"A/b c"`: `$.controller: Invalid value: "A": ` + checktest.Subdomain + "\n$.controller: Invalid value: \"b c\": " + path,
		`"controller":"a/` + strings.Repeat("b", 248) + `"`: ``,
		`"controller":"a/` + strings.Repeat("b", 249) + `"`: `$.controller: Too long: may not be more than 250 bytes`,
		parameters(``): ``,
		parameters(`,"scope":"Namespace","namespace":"a"`):   ``,
		parameters(`,"scope":"Namespace","namespace":"A"`):   `$.parameters.namespace: Invalid value: "A": ` + checktest.Label,
		parameters(`,"scope":"Namespace"`):                   "$.parameters.namespace: Required value: `parameters.scope` is set to 'Namespace'",
		parameters(`,"namespace":"a"`):                       "$.parameters.namespace: Forbidden: `parameters.scope` is set to 'Cluster'",
		parameters(`,"scope":"Odd","namespace":"a"`):         `$.parameters.scope: Unsupported value: "Odd": supported values: "Cluster", "Namespace"`,
		`"controller":"a.b/c","parameters":{"apiGroup":"A"}`: `$.parameters.apiGroup: Invalid value: "A": ` + checktest.Subdomain + "\n$.parameters.kind: Required value\n$.parameters.name: Required value",
	} {
		t.Run(text, func(t *testing.T) {
			obj := checktest.Decode[networkingv1.IngressClass](t, `{"spec":{`+text+`}}`)
			checktest.Want(t, r.Strategy.Validate(obj, nil), strings.ReplaceAll(want, "$.", "spec."))
		})
	}
	unset := &networkingv1.IngressClass{Spec: networkingv1.IngressClassSpec{Controller: "a/b",
		Parameters: &networkingv1.IngressClassParametersReference{Kind: "K", Name: "n"}}}
	checktest.Want(t, r.Strategy.Validate(unset, nil), "spec.parameters.scope: Required value")
	old := checktest.Decode[networkingv1.IngressClass](t, `{"spec":{"controller":"a.b/c"}}`)
	checktest.Want(t, r.Strategy.Validate(old, old), "")
	checktest.Want(t, r.Strategy.Validate(checktest.Decode[networkingv1.IngressClass](t, `{"spec":{"controller":"a.b/d"}}`), old),
		`spec.controller: Invalid value: "a.b/d": `+changed)
	for text, want := range map[string][]any{
		`{"spec":{"controller":"c"}}`: {"x", "c", "<none>", "<unknown>"},
		`{"metadata":{"annotations":{"ingressclass.kubernetes.io/is-default-class":"true"}},"spec":{"parameters":{"kind":"K","name":"n"}}}`:               {"x (default)", "", "K/n", "<unknown>"},
		`{"metadata":{"annotations":{"ingressclass.kubernetes.io/is-default-class":"yes"}},"spec":{"parameters":{"apiGroup":"g","kind":"K","name":"n"}}}`: {"x", "", "K.g/n", "<unknown>"},
	} {
		checktest.WantCells(t, r, checktest.Decode[networkingv1.IngressClass](t, text), time.Now(), want...)
	}
}
