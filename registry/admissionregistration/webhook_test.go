package admissionregistration

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/coracle-project/coracle/registry"
	"github.com/coracle-project/coracle/registry/check/checktest"
	"github.com/coracle-project/coracle/scheme/api/admissionregistrationv1"
	"github.com/coracle-project/coracle/scheme/meta"
)

// TestDeclarations: all kinds are cluster-scoped, have a generation, and refuse updates without a
// resourceVersion.
func TestDeclarations(t *testing.T) {
	for _, r := range Resources(false) {
		s := &r.Strategy
		if r.Namespaced || len(r.Generation) != 1 || s.AllowCreateOnUpdate || s.AllowUnconditionalUpdate || s.Metadata != registry.MetaRepeat {
			t.Errorf("%s: got %+v", r.Kind, r)
		}
	}
}

func TestNameWarnings(t *testing.T) {
	obj := &admissionregistrationv1.MutatingWebhookConfiguration{ObjectMeta: meta.ObjectMeta{Name: "a.static.k8s.io"}}
	const want = `metadata.name: names ending with ".static.k8s.io" are reserved for static manifest-based configurations and cannot be ` +
		`managed via the API`
	if got := nameWarnings(obj, nil); len(got) != 1 || got[0] != want {
		t.Errorf("got %q, want %q", got, want)
	}
	obj.Name = "a.static.k8s.io.b"
	if got := nameWarnings(obj, nil); got != nil {
		t.Errorf("got %q, want nothing", got)
	}
}

// hook returns the JSON of a webhook with further fields, which may override the given ones.
func hook(fields string) string {
	return `{"name":"a.b.c","sideEffects":"None","admissionReviewVersions":["v1"],"clientConfig":{"url":"https://a"}` + fields + `}`
}

func hooks(list ...string) string { return `{"webhooks":[` + strings.Join(list, ",") + `]}` }

func validating(t *testing.T, json string) *admissionregistrationv1.ValidatingWebhookConfiguration {
	t.Helper()
	return checktest.Decode[admissionregistrationv1.ValidatingWebhookConfiguration](t, json)
}

const (
	badSubdomain = "a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, '-' or '.', and must start and end with an alphanumeric character (e.g. 'example.com', regex used for validation is '[a-z0-9]([-a-z0-9]*[a-z0-9])?(\\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*')"
	badLabel1035 = "a DNS-1035 label must consist of lower case alphanumeric characters or '-', start with an alphabetic character, and end with an alphanumeric character (e.g. 'my-name',  or 'abc-123', regex used for validation is '[a-z]([-a-z0-9]*[a-z0-9])?')"
	badLabel     = "a valid label must be an empty string or consist of alphanumeric characters, '-', '_' or '.', and must start and end with an alphanumeric character (e.g. 'MyValue',  or 'my_value',  or '12345', regex used for validation is '(([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9])?')"
)

func TestWebhooks(t *testing.T) {
	for _, tt := range []struct{ fields, want string }{
		{``, ""},
		{`,"name":""`, `name: Required value`},
		{`,"name":"a_b"`, `name: Invalid value: "a_b": ` + badSubdomain},
		{`,"name":"a.b"`, `name: Invalid value: "a.b": should be a domain with at least three segments separated by dots`},
		{`,"rules":[{}]`, `rules[0].operations: Required value
rules[0].apiGroups: Required value
rules[0].apiVersions: Required value
rules[0].resources: Required value`},
		{`,"failurePolicy":"X"`, `failurePolicy: Unsupported value: "X": supported values: "Fail", "Ignore"`},
		{`,"matchPolicy":"X"`, `matchPolicy: Unsupported value: "X": supported values: "Equivalent", "Exact"`},
		{`,"sideEffects":null`, `sideEffects: Required value: must specify one of None, NoneOnDryRun`},
		{`,"sideEffects":"NoneOnDryRun"`, ""},
		{`,"sideEffects":"Some"`, `sideEffects: Unsupported value: "Some": supported values: "None", "NoneOnDryRun"`},
		{`,"timeoutSeconds":1`, ""},
		{`,"timeoutSeconds":30`, ""},
		{`,"timeoutSeconds":0`, `timeoutSeconds: Invalid value: 0: the timeout value must be between 1 and 30 seconds`},
		{`,"timeoutSeconds":31`, `timeoutSeconds: Invalid value: 31: the timeout value must be between 1 and 30 seconds`},
		{`,"namespaceSelector":{"matchExpressions":[{"key":"a","operator":"In","values":["!"]}]}`,
			`namespaceSelector.matchExpressions[0].values[0]: Invalid value: "!": ` + badLabel},
		{`,"objectSelector":{"matchLabels":{"a":"!"}}`, `objectSelector.matchLabels: Invalid value: "!": ` + badLabel},
		{`,"matchConditions":[{"name":"a","expression":" \t"},{"name":"a","expression":"true"},{"expression":"true"},{"expression":"true"}]`,
			`matchConditions[0].expression: Required value
matchConditions[1].name: Duplicate value: "a"
matchConditions[2].name: Required value
matchConditions[3].name: Required value`},
		{`,"admissionReviewVersions":[]`, `admissionReviewVersions: Required value: must specify one of v1, v1beta1`},
		{`,"admissionReviewVersions":["v1beta1","v1beta1"]`, `admissionReviewVersions[1]: Invalid value: "v1beta1": duplicate version`},
		{`,"admissionReviewVersions":["2","v3"]`, `admissionReviewVersions[0]: Invalid value: "2": ` + badLabel1035 + `
admissionReviewVersions: Invalid value: ["2","v3"]: must include at least one of v1, v1beta1`},
	} {
		want := ""
		if tt.want != "" {
			want = "webhooks[0]." + strings.ReplaceAll(tt.want, "\n", "\nwebhooks[0].")
		}
		checktest.Want(t, checkValidatingWebhooks(t.Context(), validating(t, hooks(hook(tt.fields))), nil), want)
		mutating := checktest.Decode[admissionregistrationv1.MutatingWebhookConfiguration](t, hooks(hook(tt.fields)))
		checktest.Want(t, checkMutatingWebhooks(t.Context(), mutating, nil), want)
	}
	checktest.Want(t, checkValidatingWebhooks(t.Context(), validating(t, hooks(hook(``), hook(``), hook(`,"name":""`), hook(`,"name":""`))), nil),
		`webhooks[1].name: Duplicate value: "a.b.c"
webhooks[2].name: Required value
webhooks[3].name: Required value`)
	mutating := checktest.Decode[admissionregistrationv1.MutatingWebhookConfiguration](t, hooks(hook(`,"reinvocationPolicy":"X"`)))
	checktest.Want(t, checkMutatingWebhooks(t.Context(), mutating, nil),
		`webhooks[0].reinvocationPolicy: Unsupported value: "X": supported values: "IfNeeded", "Never"`)
}

func TestManyMatchConditions(t *testing.T) {
	list := make([]string, 65)
	for i := range list {
		list[i] = fmt.Sprintf(`{"name":"c%d","expression":"true"}`, i)
	}
	fields := func(n int) string { return `,"matchConditions":[` + strings.Join(list[:n], ",") + `]` }
	checktest.Want(t, checkValidatingWebhooks(t.Context(), validating(t, hooks(hook(fields(64)))), nil), "")
	checktest.Want(t, checkValidatingWebhooks(t.Context(), validating(t, hooks(hook(fields(65)))), nil),
		"webhooks[0].matchConditions: Too many: 65: must have at most 64 items")
}

// TestWebhookClients: a service needs both a name and a namespace.
func TestWebhookClients(t *testing.T) {
	const form = "; desired format: https://host[/path]"
	for _, tt := range []struct{ client, want string }{
		{`{}`, `clientConfig: Required value: exactly one of url or service is required`},
		{`{"url":"https://a","service":{"name":"a","namespace":"b"}}`, `clientConfig: Required value: exactly one of url or service is required`},
		{`{"url":"https://a:1/b"}`, ""},
		{`{"url":"%"}`, `clientConfig.url: Required value: url must be a valid URL: parse "%": invalid URL escape "%"` + form},
		{`{"url":"http://a"}`, `clientConfig.url: Invalid value: "http": 'https' is the only allowed URL scheme` + form},
		{`{"url":"https:///a"}`, `clientConfig.url: Invalid value: "": host must be specified` + form},
		{`{"url":"https://u:p@a?q#f"}`, `clientConfig.url: Invalid value: "u:p": user information is not permitted in the URL
webhooks[0].clientConfig.url: Invalid value: "f": fragments are not permitted in the URL
webhooks[0].clientConfig.url: Invalid value: "q": query parameters are not permitted in the URL`},
		{`{"service":{"name":"a","namespace":"b"}}`, ""},
		{`{"service":{"name":"a"}}`, `clientConfig.service.name: Required value`},
		{`{"service":{"namespace":"b"}}`, `clientConfig.service.namespace: Required value`},
		{`{"service":{"name":"a","namespace":"b","port":0}}`,
			`clientConfig.service.port: Invalid value: 0: port is not valid: must be between 1 and 65535, inclusive`},
		{`{"service":{"name":"a","namespace":"b","path":""}}`, ""},
		{`{"service":{"name":"a","namespace":"b","path":"/"}}`, ""},
		{`{"service":{"name":"a","namespace":"b","path":"/a/b/"}}`, ""},
		{`{"service":{"name":"a","namespace":"b","path":"//"}}`, `clientConfig.service.path: Invalid value: "//": segment[0] may not be empty`},
		{`{"service":{"name":"a","namespace":"b","path":"/a//"}}`, `clientConfig.service.path: Invalid value: "/a//": segment[1] may not be empty`},
		{`{"service":{"name":"a","namespace":"b","path":"a/_"}}`, `clientConfig.service.path: Invalid value: "a/_": must start with a '/'
webhooks[0].clientConfig.service.path: Invalid value: "a/_": segment[0] may not be empty
webhooks[0].clientConfig.service.path: Invalid value: "a/_": segment[1]: ` + badSubdomain},
	} {
		want := tt.want
		if want != "" {
			want = "webhooks[0]." + want
		}
		client := `{"name":"a.b.c","sideEffects":"None","admissionReviewVersions":["v1"],"clientConfig":` + tt.client + `}`
		checktest.Want(t, checkValidatingWebhooks(t.Context(), validating(t, hooks(client)), nil), want)
	}
}

// TestOldWebhooks: an update may keep a violation of the younger rules, and does not compile
// unchanged match conditions.
func TestOldWebhooks(t *testing.T) {
	const (
		wild     = `,"sideEffects":"Some"`
		unknown  = `,"admissionReviewVersions":["v9"]`
		values   = `,"namespaceSelector":{"matchExpressions":[{"key":"a","operator":"In","values":["!"]}]}`
		values2  = `,"objectSelector":{"matchExpressions":[{"key":"a","operator":"In","values":["!"]}]}`
		nameless = `,"matchConditions":[{"expression":"true"}]`
		broken   = `,"matchConditions":[{"name":"a","expression":"1"}]`
	)
	for _, tt := range []struct{ old, now, want string }{
		{hook(wild), hook(wild), ""},
		{hook(``), hook(wild), `webhooks[0].sideEffects: Unsupported value: "Some": supported values: "None", "NoneOnDryRun"`},
		{hook(`,"sideEffects":null`), hook(wild), ""},
		{hook(wild), hook(`,"sideEffects":"X"`),
			`webhooks[0].sideEffects: Unsupported value: "X": supported values: "None", "NoneOnDryRun", "Some", "Unknown"`},
		{hook(wild), hook(`,"sideEffects":null`),
			`webhooks[0].sideEffects: Required value: must specify one of None, NoneOnDryRun, Some, Unknown`},
		{hook(unknown), hook(unknown), ""},
		{hook(``), hook(unknown), `webhooks[0].admissionReviewVersions: Invalid value: ["v9"]: must include at least one of v1, v1beta1`},
		{hook(`,"admissionReviewVersions":[]`), hook(unknown),
			`webhooks[0].admissionReviewVersions: Invalid value: ["v9"]: must include at least one of v1, v1beta1`},
		{hook(``) + "," + hook(``), hook(``) + "," + hook(``), ""},
		{hook(``), hook(``) + "," + hook(``), `webhooks[1].name: Duplicate value: "a.b.c"`},
		{hook(values), hook(values2), ""},
		{hook(values2), hook(values), ""},
		{hook(values), hook(`,"objectSelector":{"matchLabels":{"a":"!"}}`), `webhooks[0].objectSelector.matchLabels: Invalid value: "!": ` + badLabel},
		{hook(``), hook(values), `webhooks[0].namespaceSelector.matchExpressions[0].values[0]: Invalid value: "!": ` + badLabel},
		{hook(nameless), hook(nameless), ""},
		{hook(``), hook(nameless), `webhooks[0].matchConditions[0].name: Required value`},
		{hook(broken), hook(broken + `,"timeoutSeconds":1`), ""},
		{hook(``), hook(broken), `webhooks[0].matchConditions[0].expression: Invalid value: "1": must evaluate to bool but got int`},
		{hook(nameless), hook(nameless) + "," + hook(`,"name":"b.b.c"`), `webhooks[0].matchConditions[0].name: Required value`},
	} {
		checktest.Want(t, checkValidatingWebhooks(t.Context(), validating(t, hooks(tt.now)), validating(t, hooks(tt.old))), tt.want)
		mutating := checktest.Decode[admissionregistrationv1.MutatingWebhookConfiguration](t, hooks(tt.now))
		old := checktest.Decode[admissionregistrationv1.MutatingWebhookConfiguration](t, hooks(tt.old))
		checktest.Want(t, checkMutatingWebhooks(t.Context(), mutating, old), tt.want)
	}
}

func TestWebhookCells(t *testing.T) {
	for _, kind := range []string{"ValidatingWebhookConfiguration", "MutatingWebhookConfiguration"} {
		r := checktest.Resource(t, Resources(false), kind)
		var obj meta.Object = validating(t, hooks(hook(``), hook(``)))
		if kind[0] == 'M' {
			obj = checktest.Decode[admissionregistrationv1.MutatingWebhookConfiguration](t, hooks(hook(``), hook(``)))
		}
		checktest.WantCells(t, r, obj, time.Time{}, "x", int64(2), "<unknown>")
	}
}
