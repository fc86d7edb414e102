package aggregation_test

import (
	"testing"
	"time"

	"github.com/coracle-project/coracle/registry"
	"github.com/coracle-project/coracle/registry/aggregation"
	"github.com/coracle-project/coracle/registry/check/checktest"
	"github.com/coracle-project/coracle/scheme/api/apiregistrationv1"
	"github.com/coracle-project/coracle/scheme/meta"
)

func decode(t *testing.T, text string) *apiregistrationv1.APIService {
	t.Helper()
	return checktest.Decode[apiregistrationv1.APIService](t, text)
}

func declared(t *testing.T) *registry.Resource {
	t.Helper()
	return checktest.Resource(t, aggregation.Resources(), "APIService")
}

func TestAPIService(t *testing.T) {
	const (
		fine   = `"group":"g.io","version":"v1","groupPriorityMinimum":20000,"versionPriority":1000`
		named  = `"metadata":{"name":"v1.g.io"},`
		remote = `,"service":{"namespace":"n","name":"s"}`
	)
	for _, tt := range []struct{ object, want string }{
		{named + `"spec":{` + fine + `}`, ``},
		{named + `"spec":{` + fine + remote + `,"caBundle":"eA=="}`, ``},
		{named + `"spec":{` + fine + remote + `,"insecureSkipTLSVerify":true}`, ``},
		{`"metadata":{"name":"v1."},"spec":{"version":"v1","groupPriorityMinimum":1,"versionPriority":1}`, ``},
		{`"metadata":{"name":"v1.x","generateName":"v1.g"},"spec":{` + fine + `}`, `
metadata.generateName: Invalid value: "v1.g": must be ` + "`spec.version+\".\"+spec.group`" + `: "v1.g.io"
metadata.name: Invalid value: "v1.x": must be ` + "`spec.version+\".\"+spec.group`" + `: "v1.g.io"`},
		{`"metadata":{"name":"v2."},"spec":{"version":"v2","groupPriorityMinimum":0,"versionPriority":-1}`, `
spec.group: Required value: only v1 may have an empty group and it better be legacy kube
spec.groupPriorityMinimum: Invalid value: 0: must be positive and less than 20000
spec.versionPriority: Invalid value: -1: must be positive and less than 1000`},
		{`"metadata":{"name":"1.G"},"spec":{"group":"G","version":"1","groupPriorityMinimum":20001,"versionPriority":1001}`, `
spec.group: Invalid value: "G": ` + checktest.Subdomain + `
spec.version: Invalid value: "1": a DNS-1035 label must consist of lower case alphanumeric characters or '-', start with an alphabetic character, ` +
			`and end with an alphanumeric character (e.g. 'my-name',  or 'abc-123', regex used for validation is '[a-z]([-a-z0-9]*[a-z0-9])?')
spec.groupPriorityMinimum: Invalid value: 20001: must be positive and less than 20000
spec.versionPriority: Invalid value: 1001: must be positive and less than 1000`},
		{named + `"spec":{` + fine + `,"caBundle":"eHh4","insecureSkipTLSVerify":true}`, `
spec.caBundle: Invalid value: "3 bytes": local APIServices may not have a caBundle
spec.insecureSkipTLSVerify: Invalid value: true: local APIServices may not have insecureSkipTLSVerify`},
		{named + `"spec":{` + fine + `,"service":{"port":0},"caBundle":"eA==","insecureSkipTLSVerify":true}`, `
spec.service.namespace: Required value
spec.service.name: Required value
spec.service.port: Invalid value: 0: port is not valid: must be between 1 and 65535, inclusive
spec.insecureSkipTLSVerify: Invalid value: true: may not be true if caBundle is present`},
	} {
		s := decode(t, `{`+tt.object+`}`)
		checktest.Want(t, declared(t).Strategy.Validate(s, nil), tt.want)
		checktest.Want(t, declared(t).Strategy.Validate(s, s), tt.want)
	}
	if s := decode(t, `{"spec":{"service":{}}}`); *s.Spec.Service.Port != 443 {
		t.Errorf("the default port: got %d, want 443", *s.Spec.Service.Port)
	}
}

// TestAvailable: a local APIService is available from its creation on. Any other is available when
// a write of its status says so.
func TestAvailable(t *testing.T) {
	r, now := declared(t), time.Unix(1_900_000_000, 0)
	prepare := func(text string) *apiregistrationv1.APIService {
		s := decode(t, text)
		s.CreationTimestamp = &meta.Time{Time: now.Add(-time.Minute)}
		r.Strategy.Prepare(&registry.Request{Now: now}, s, nil)
		return s
	}
	s := prepare(`{"metadata":{"name":"v1.g.io"}}`)
	if c := apiregistrationv1.Condition(s, apiregistrationv1.Available); c == nil || !c.LastTransitionTime.Time.Equal(now) {
		t.Fatalf("got the condition %+v, want one of now", c)
	}
	checktest.WantCells(t, r, s, now, "v1.g.io", "Local", "True", "60s")
	s = prepare(`{"metadata":{"name":"v1.g.io"},"spec":{"service":{"namespace":"n","name":"s"}}}`)
	checktest.WantCells(t, r, s, now, "v1.g.io", "n/s", "Unknown", "60s")
	later := meta.Time{Time: now.Add(time.Hour)}
	down := apiregistrationv1.APIServiceCondition{Type: apiregistrationv1.Available, Status: apiregistrationv1.ConditionFalse}
	apiregistrationv1.SetCondition(s, down, meta.Time{Time: now})
	checktest.WantCells(t, r, s, now, "v1.g.io", "n/s", "False", "60s")
	down.Reason = "ServiceNotFound"
	apiregistrationv1.SetCondition(s, down, later)
	checktest.WantCells(t, r, s, now, "v1.g.io", "n/s", "False (ServiceNotFound)", "60s")
	if c := apiregistrationv1.Condition(s, apiregistrationv1.Available); !c.LastTransitionTime.Time.Equal(now) {
		t.Errorf("the same status for another reason: got the time %v, want %v", c.LastTransitionTime, now)
	}
	apiregistrationv1.SetCondition(s, apiregistrationv1.Local, later)
	if c := s.Status.Conditions; len(c) != 1 || !c[0].LastTransitionTime.Equal(&later) {
		t.Errorf("another status: got %+v, want one condition, of %v", c, later)
	}
}

func TestAPIServiceStatus(t *testing.T) {
	status := declared(t).Status
	old := decode(t, `{"metadata":{"labels":{"c":"d"}}}`)
	s := decode(t, `{"metadata":{"labels":{"a":"b"},"finalizers":["a/b"],"deletionTimestamp":"2030-01-01T00:00:00Z"},`+
		`"status":{"conditions":[{"type":"Available","status":"Unknown"},{"type":"X","status":"Yes"}]}}`)
	status.Prepare(nil, s, old)
	if s.Labels["c"] != "d" || len(s.Labels) != 1 || s.Finalizers != nil || s.DeletionTimestamp == nil {
		t.Errorf("got the metadata %+v, want the old one with the deletion that was asked for, which is refused", s.ObjectMeta)
	}
	checktest.Want(t, status.Validate(s, old), `status.conditions[1].status: Unsupported value: "Yes": supported values: "True", "False", "Unknown"`)
}
