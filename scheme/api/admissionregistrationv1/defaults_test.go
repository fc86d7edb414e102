package admissionregistrationv1_test

import (
	"encoding/json"
	"testing"

	"github.com/coracle-project/coracle/scheme"
	v1 "github.com/coracle-project/coracle/scheme/api/admissionregistrationv1"
	"github.com/coracle-project/coracle/scheme/meta"
)

func TestDefaults(t *testing.T) {
	s := scheme.New()
	v1.Scheme.AddToScheme(s)
	if err := s.Complete(); err != nil {
		t.Fatal(err)
	}
	const (
		match = `"matchPolicy":"Equivalent","namespaceSelector":{},"objectSelector":{}`
		rule  = `"operations":["CREATE"],"apiGroups":[""],"apiVersions":["v1"],"resources":["pods"]`
		said  = `"failurePolicy":"Ignore","matchPolicy":"Exact","namespaceSelector":{"matchLabels":{"a":"b"}},` +
			`"objectSelector":{"matchLabels":{"a":"b"}},"sideEffects":null,"timeoutSeconds":5`
	)
	for _, tt := range []struct {
		name       string
		obj        meta.Typed
		text, want string
	}{
		{"validating webhook", &v1.ValidatingWebhookConfiguration{},
			`{"metadata":{},"webhooks":[{"name":"a","clientConfig":{"service":{"namespace":"b","name":"c"}},"rules":[{` + rule + `}]}]}`,
			`{"metadata":{},"webhooks":[{"name":"a","clientConfig":{"service":{"namespace":"b","name":"c","port":443}},"rules":[{` + rule +
				`,"scope":"*"}],"failurePolicy":"Fail",` + match + `,"sideEffects":null,"timeoutSeconds":10,"admissionReviewVersions":null}]}`},
		{"mutating webhook", &v1.MutatingWebhookConfiguration{},
			`{"metadata":{},"webhooks":[{"name":"a"}]}`,
			`{"metadata":{},"webhooks":[{"name":"a","clientConfig":{},"failurePolicy":"Fail",` + match +
				`,"sideEffects":null,"timeoutSeconds":10,"admissionReviewVersions":null,"reinvocationPolicy":"Never"}]}`},
		{"webhook that says all", &v1.MutatingWebhookConfiguration{},
			`{"metadata":{},"webhooks":[{"name":"a","clientConfig":{"service":{"namespace":"b","name":"c","port":1}},` + said +
				`,"admissionReviewVersions":null,"reinvocationPolicy":"IfNeeded"}]}`,
			`{"metadata":{},"webhooks":[{"name":"a","clientConfig":{"service":{"namespace":"b","name":"c","port":1}},` + said +
				`,"admissionReviewVersions":null,"reinvocationPolicy":"IfNeeded"}]}`},
		{"validating policy", &v1.ValidatingAdmissionPolicy{},
			`{"metadata":{},"spec":{"matchConstraints":{"resourceRules":[{` + rule + `,"scope":"Cluster"}]}}}`,
			`{"metadata":{},"spec":{"matchConstraints":{"namespaceSelector":{},"objectSelector":{},"resourceRules":[{` + rule +
				`,"scope":"Cluster"}],"matchPolicy":"Equivalent"},"failurePolicy":"Fail"},"status":{}}`},
		{"mutating policy", &v1.MutatingAdmissionPolicy{}, `{"metadata":{},"spec":{}}`, `{"metadata":{},"spec":{"failurePolicy":"Fail"}}`},
	} {
		if err := json.Unmarshal([]byte(tt.text), tt.obj); err != nil {
			t.Fatal(err)
		}
		s.Default(tt.obj)
		if got, err := json.Marshal(tt.obj); string(got) != tt.want || err != nil {
			t.Errorf("%s: got %s, %v, want %s", tt.name, got, err, tt.want)
		}
	}
}
