package server_test

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"encoding/pem"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/coracle-project/coracle/registry"
	"github.com/coracle-project/coracle/registry/admission"
	"github.com/coracle-project/coracle/router/request"
	"github.com/coracle-project/coracle/scheme/jsontext"
	"github.com/coracle-project/coracle/scheme/patch"
	"github.com/coracle-project/coracle/server"
	"github.com/coracle-project/coracle/server/access"
	"github.com/coracle-project/coracle/server/plugins"
)

// storied is a server that keeps the story of the last request.
type storied struct {
	*inProcess
	last *request.Story
}

// newStoried returns a server whose authorizer, which every request meets, asks for the story.
func newStoried(t *testing.T) *storied {
	s := &storied{}
	s.inProcess = newInProcess(t, func(c *server.Config) {
		c.Authorization = access.Config{Authorizer: s, Modes: []string{access.AlwaysAllow}}
		c.Admission.Disable = append(c.Admission.Disable, "Priority", "DefaultTolerationSeconds")
		c.Limits.DeleteWorkers = 4
	})
	return s
}

// Authorize implements request.Authorizer.
func (s *storied) Authorize(ctx context.Context, _ *request.Attributes) (request.Decision, string, error) {
	if info := request.From(ctx); info != nil && info.Record == nil { // else an expression asks
		s.last = &request.Story{}
		info.Record = &request.Record{Story: s.last}
	}
	return request.NoOpinion, "", nil
}

// told returns the story of the last request, without the steps and hooks that say nothing. A step
// of the server itself is shown without its patch, which has times.
func (s *storied) told() string {
	var b strings.Builder
	tries, _ := s.last.Tries()
	for _, try := range tries {
		fmt.Fprintf(&b, "%s %s/%s %s/%s\n", try.Operation, try.Resource.Resource, try.Subresource, try.Namespace, try.Name)
		for _, step := range try.Steps {
			if step.Plugin == "" {
				b.WriteString("  the server\n")
				continue
			}
			if step.Outcome == request.OutcomeAdmitted && step.Patch == nil && len(step.Hooks) == 0 {
				continue
			}
			again := ""
			if step.Again {
				again = " again"
			}
			fmt.Fprintf(&b, "  %s%s %s: %s\n", step.Phase, again, step.Plugin, shownResult(&step.Result))
			for _, hook := range step.Hooks {
				fmt.Fprintf(&b, "    %s: %s\n", strings.Join(strings.Fields(hook.Name+" "+hook.Configuration+" "+hook.Binding+" "+hook.Params+" "+hook.Kind.Kind), " "), shownResult(&hook.Result))
			}
		}
	}
	return b.String()
}

// shownResult returns a result as text.
func shownResult(r *request.Result) string {
	parts := []string{string(r.Outcome)}
	if r.Patch != nil {
		parts = append(parts, string(r.Patch))
	}
	for _, reason := range r.Reasons {
		parts = append(parts, "because "+reason)
	}
	if r.Refusal != nil {
		parts = append(parts, fmt.Sprintf("answers %d %s", r.Refusal.Code, r.Refusal.Message))
	}
	for _, text := range r.Warnings {
		parts = append(parts, "warns "+text)
	}
	for _, a := range r.Annotations {
		parts = append(parts, "notes "+a.Key)
	}
	return strings.Join(parts, "; ")
}

// answering starts a webhook that gives each write the answer for its path, in JSON without the
// uid. A path without an answer is answered by an error.
func answering(t *testing.T, answers map[string]string) *httptest.Server {
	h := httptest.NewTLSServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		var review struct {
			Request struct {
				UID string `json:"uid"`
			} `json:"request"`
		}
		if err := json.NewDecoder(r.Body).Decode(&review); err != nil {
			t.Error(err)
		}
		answer, ok := answers[r.URL.Path]
		if !ok {
			w.WriteHeader(http.StatusTeapot)
			return
		}
		fmt.Fprintf(w, `{"kind":"AdmissionReview","apiVersion":"admission.k8s.io/v1","response":{"uid":%q,%s}}`, review.Request.UID, answer)
	}))
	t.Cleanup(h.Close)
	return h
}

// webhookOf returns a webhook of a configuration that sends pods to a path. more has more fields.
func webhookOf(h *httptest.Server, path, more string) string {
	ca := pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: h.Certificate().Raw})
	return fmt.Sprintf(`{"name":"%s.example.com","sideEffects":"None","admissionReviewVersions":["v1"],
		"clientConfig":{"url":%q,"caBundle":%q},
		"rules":[{"apiGroups":[""],"apiVersions":["v1"],"operations":["*"],"resources":["pods","pods/status"]}]%s}`,
		path, h.URL+"/"+path, base64.StdEncoding.EncodeToString(ca), more)
}

const registrationPath = "/apis/admissionregistration.k8s.io/v1/"

// podRules are the matchConstraints of a policy for new pods.
const podRules = `"matchConstraints":{"resourceRules":[{"apiGroups":[""],"apiVersions":["v1"],"operations":["CREATE"],"resources":["pods"]}]}`

// newWithHooks returns a server with webhooks, policies and a LimitRange, all for pods.
func newWithHooks(t *testing.T) *storied {
	s := newStoried(t)
	patched := base64.StdEncoding.EncodeToString([]byte(`[{"op":"add","path":"/metadata/labels","value":{"hook":"yes"}}]`))
	h := answering(t, map[string]string{
		"/label":  `"allowed":true,"patchType":"JSONPatch","patch":"` + patched + `","warnings":["labelled"],"auditAnnotations":{"a":"b"}`,
		"/ok":     `"allowed":true`,
		"/no":     `"allowed":false,"status":{"code":403,"message":"never"}`,
		"/no-too": `"allowed":false`,
	})
	const isBad = `,"matchConditions":[{"name":"bad","expression":"object != null && object.metadata.name == 'bad'"}]`
	isNew := strings.NewReplacer(`"*"`, `"CREATE"`)
	s.Must("POST", registrationPath+"mutatingwebhookconfigurations", isNew.Replace(`{"metadata":{"name":"changing"},"webhooks":[`+
		webhookOf(h, "label", "")+","+webhookOf(h, "gone", `,"failurePolicy":"Ignore"`)+","+
		webhookOf(h, "other", `,"objectSelector":{"matchLabels":{"a":"b"}}`)+`]}`))
	s.Must("POST", registrationPath+"validatingwebhookconfigurations", `{"metadata":{"name":"checking"},"webhooks":[`+
		webhookOf(h, "ok", "")+","+webhookOf(h, "no", isBad)+","+webhookOf(h, "no-too", isBad)+`]}`)
	s.Must("POST", "/api/v1/namespaces/ns/limitranges", `{"metadata":{"name":"l"},"spec":{"limits":[{"type":"Container","defaultRequest":{"cpu":"1"}}]}}`)
	s.Must("POST", registrationPath+"mutatingadmissionpolicies", `{"metadata":{"name":"team"},"spec":{`+podRules+`,"reinvocationPolicy":"IfNeeded","paramKind":{"apiVersion":"v1","kind":"ConfigMap"},
		"mutations":[{"patchType":"ApplyConfiguration","applyConfiguration":{"expression":"Object{metadata: Object.metadata{annotations: {'team': params.data.team}}}"}}]}}`)
	s.Must("POST", registrationPath+"mutatingadmissionpolicybindings", `{"metadata":{"name":"all"},"spec":{"policyName":"team","paramRef":{"name":"teams","namespace":"ns","parameterNotFoundAction":"Deny"}}}`)
	s.Must("POST", "/api/v1/namespaces/ns/configmaps", `{"metadata":{"name":"teams"},"data":{"team":"a"}}`)
	s.Must("POST", registrationPath+"validatingadmissionpolicies", `{"metadata":{"name":"hooked"},"spec":{`+podRules+`,"validations":[{"expression":"has(object.metadata.labels)"},{"expression":"object.metadata.labels.hook == 'no'","message":"no hook, please"}]}}`)
	s.Must("POST", registrationPath+"validatingadmissionpolicies", `{"metadata":{"name":"unsafe"},"spec":{`+podRules+`,"failurePolicy":"Ignore","validations":[{"expression":"object.spec.containers[7].name == ''"}]}}`)
	s.Must("POST", registrationPath+"validatingadmissionpolicies", `{"metadata":{"name":"alone"},"spec":{`+podRules+`,"validations":[{"expression":"false"}]}}`)
	s.Must("POST", registrationPath+"validatingadmissionpolicybindings", `{"metadata":{"name":"warn"},"spec":{"policyName":"hooked","validationActions":["Warn","Audit"]}}`)
	s.Must("POST", registrationPath+"validatingadmissionpolicybindings", `{"metadata":{"name":"deny"},"spec":{"policyName":"hooked","validationActions":["Deny"],"matchResources":{"namespaceSelector":{"matchLabels":{"strict":"yes"}}}}}`)
	s.Must("POST", registrationPath+"validatingadmissionpolicybindings", `{"metadata":{"name":"safe"},"spec":{"policyName":"unsafe","validationActions":["Deny"]}}`)
	return s
}

// newPod returns a pod.
func newPod(name string) string {
	return `{"metadata":{"name":"` + name + `"},"spec":{"containers":[{"name":"c","image":"i"}]}}`
}

// toldOfMutators is what mutators tell about a new pod.
const toldOfMutators = `  mutate LimitRanger: admitted; [{"op":"add","path":"/metadata/annotations","value":{"kubernetes.io/limit-ranger":"LimitRanger plugin set: cpu request for container c"}},{"op":"add","path":"/spec/containers/0/resources/requests","value":{"cpu":"1"}}]
  mutate MutatingAdmissionPolicy: admitted; [{"op":"add","path":"/metadata/annotations/team","value":"a"}]
    team all ns/teams Pod: admitted; [{"op":"add","path":"/metadata/annotations/team","value":"a"}]
  mutate MutatingAdmissionWebhook: admitted; [{"op":"add","path":"/metadata/labels","value":{"hook":"yes"}}]
    label.example.com changing Pod: admitted; [{"op":"add","path":"/metadata/labels","value":{"hook":"yes"}}]; warns labelled; notes label.example.com/a; notes patch.webhook.admission.k8s.io/round_0_index_0; notes mutation.webhook.admission.k8s.io/round_0_index_0
    gone.example.com changing Pod: failed open; because failed calling webhook "gone.example.com": failed to call webhook: the server responded with the status code 418 but did not return more information; notes mutation.webhook.admission.k8s.io/round_0_index_1; notes failed-open.mutation.webhook.admission.k8s.io/round_0_index_1
    other.example.com changing: skipped; because objectSelector selects neither the object nor the old object
  mutate again MutatingAdmissionPolicy: admitted
    team all ns/teams Pod: admitted
  mutate again MutatingAdmissionWebhook: admitted
    label.example.com changing: skipped; because SECOND
    gone.example.com changing: skipped; because SECOND
    other.example.com changing: skipped; because objectSelector selects neither the object nor the old object
  the server
  validate ValidatingAdmissionPolicy: admitted
    alone: skipped; because no binding names it
    hooked deny: skipped; because namespaceSelector does not select the namespace
    hooked warn Pod: warned; because validation 1: no hook, please; warns Validation failed for ValidatingAdmissionPolicy 'hooked' with binding 'warn': no hook, please; notes validation.policy.admission.k8s.io/validation_failure
    unsafe safe Pod: failed open; because validation 0: expression 'object.spec.containers[7].name == ''' resulted in error: index out of bounds: 7
`

// TestStoryOfCreate tells the story of a pod from plugins, policies and webhooks. The patches, one
// after the other, make the object that is stored of the one that was sent.
func TestStoryOfCreate(t *testing.T) {
	s := newWithHooks(t)
	second := strings.NewReplacer("SECOND", "in the second run, it runs only if reinvocationPolicy is IfNeeded and the object has changed after its call")
	const pods = "/api/v1/namespaces/ns/pods"
	code, answer := s.do("POST", pods, newPod("good"))
	s.want(t, code, 201, second.Replace("CREATE pods/ ns/good\n"+toldOfMutators+`  validate ValidatingAdmissionWebhook: admitted
    no.example.com checking: skipped; because the match condition "bad" is false
    no-too.example.com checking: skipped; because the match condition "bad" is false
    ok.example.com checking Pod: admitted
`))
	s.explains(t, answer)
	code, _ = s.do("POST", pods, newPod("bad"))
	s.want(t, code, 403, second.Replace("CREATE pods/ ns/bad\n"+toldOfMutators+`  validate ValidatingAdmissionWebhook: refused; answers 403 admission webhook "no.example.com" denied the request: never
    ok.example.com checking Pod: admitted
    no.example.com checking Pod: refused; answers 403 admission webhook "no.example.com" denied the request: never
    no-too.example.com checking Pod: refused; answers 400 admission webhook "no-too.example.com" denied the request without explanation
`))
	s.do("PATCH", "/api/v1/namespaces/ns", `{"metadata":{"labels":{"strict":"yes"}}}`)
	code, _ = s.do("POST", pods, newPod("strict"))
	if told := s.told(); code != 422 || !strings.Contains(told, `    hooked deny Pod: refused; because validation 1: no hook, please; answers 422 pods "strict" is forbidden: ValidatingAdmissionPolicy 'hooked' with binding 'deny' denied request: no hook, please`) {
		t.Errorf("got %d %s", code, told)
	}
}

// want compares the story with a text.
func (s *storied) want(t *testing.T, code, wantCode int, want string) {
	t.Helper()
	if got := s.told(); code != wantCode || got != want {
		t.Errorf("got %d\n%s\nwant %d\n%s", code, got, wantCode, want)
	}
}

// explains applies the patches of the last try and compares the result with an answer, which has a
// resourceVersion beyond them.
func (s *storied) explains(t *testing.T, answer string) {
	t.Helper()
	tries, _ := s.last.Tries()
	try := tries[len(tries)-1]
	obj := try.Object
	for _, step := range try.Steps {
		if step.Patch == nil {
			continue
		}
		var err error
		if obj, err = patch.JSON(obj, step.Patch, nil); err != nil {
			t.Fatal(err)
		}
	}
	got, _ := jsontext.Decode(obj, nil)
	want, _ := jsontext.Decode([]byte(answer), nil)
	got.(map[string]any)["metadata"].(map[string]any)["resourceVersion"] = want.(map[string]any)["metadata"].(map[string]any)["resourceVersion"]
	if !jsontext.Equal(got, want) {
		t.Errorf("the patches make\n%s\nwant\n%s", obj, answer)
	}
}

// TestStoryOfOtherWrites tells of updates, deletions, subresources, dry runs and collections.
func TestStoryOfOtherWrites(t *testing.T) {
	s := newWithHooks(t)
	const pods = "/api/v1/namespaces/ns/pods"
	s.Must("POST", pods, newPod("p"))
	const checked = `  validate ValidatingAdmissionWebhook: admitted
    no.example.com checking: skipped; because the match condition "bad" is false
    no-too.example.com checking: skipped; because the match condition "bad" is false
    ok.example.com checking Pod: admitted
`
	const unmatched = `  mutate MutatingAdmissionPolicy: admitted
    team: skipped; because no rule matches the operation, the resource and its scope
`
	const uncalled = `  mutate MutatingAdmissionWebhook: admitted
    label.example.com changing: skipped; because no rule matches the operation, the resource and its scope
    gone.example.com changing: skipped; because no rule matches the operation, the resource and its scope
    other.example.com changing: skipped; because no rule matches the operation, the resource and its scope
`
	const unvalidated = `  validate ValidatingAdmissionPolicy: admitted
    alone: skipped; because no binding names it
    hooked: skipped; because no rule matches the operation, the resource and its scope
    unsafe: skipped; because no rule matches the operation, the resource and its scope
`
	code, answer := s.do("PATCH", pods+"/p", `{"metadata":{"labels":{"x":"y"}}}`)
	s.want(t, code, 200, "UPDATE pods/ ns/p\n"+unmatched+uncalled+unvalidated+checked)
	s.explains(t, answer)
	code, answer = s.do("PATCH", pods+"/p/status", `{"status":{"phase":"Running"}}`)
	s.want(t, code, 200, "UPDATE pods/status ns/p\n"+unmatched+uncalled+unvalidated+checked)
	s.explains(t, answer)
	code, _ = s.do("POST", pods+"/p/eviction?dryRun=All", `{"apiVersion":"policy/v1","kind":"Eviction","metadata":{"name":"p"}}`)
	if tries, _ := s.last.Tries(); code != 201 || len(tries) != 1 || tries[0].Subresource != "eviction" || !tries[0].DryRun || tries[0].Kind.Kind != "Eviction" {
		t.Errorf("got %d %s", code, s.told())
	}
	code, _ = s.do("DELETE", pods+"/p?gracePeriodSeconds=0", "")
	s.want(t, code, 200, "DELETE pods/ ns/p\n"+uncalled+unvalidated+checked)
	if tries, _ := s.last.Tries(); !strings.Contains(string(tries[0].Object), `"phase":"Running"`) {
		t.Errorf("the deleted object: got %s", tries[0].Object)
	}
	for i := range 20 {
		s.Must("POST", pods, newPod(fmt.Sprintf("p%d", i)))
	}
	code, _ = s.do("DELETE", pods+"?gracePeriodSeconds=0", "")
	tries, left := s.last.Tries()
	if code != 200 || len(tries) != 20 || left != 0 {
		t.Fatalf("a collection: got %d, %d tries, %d left", code, len(tries), left)
	}
	names := map[string]bool{}
	for _, try := range tries {
		if names[try.Name] = true; len(try.Steps) == 0 || len(try.Object) == 0 {
			t.Errorf("a deletion of a collection: got %+v", try)
		}
	}
	if len(names) != 20 {
		t.Errorf("got %v", names)
	}
}

// TestStoryOfEquivalents tells what a webhook saw and changed in another group than that of the
// request, and why no hook sees the kinds that configure hooks.
func TestStoryOfEquivalents(t *testing.T) {
	s := newStoried(t)
	patched := base64.StdEncoding.EncodeToString([]byte(`[{"op":"replace","path":"/note","value":"changed"}]`))
	h := answering(t, map[string]string{"/note": `"allowed":true,"patchType":"JSONPatch","patch":"` + patched + `"`})
	hook := strings.NewReplacer(`"apiGroups":[""]`, `"apiGroups":["events.k8s.io"]`, "pods/status", "events").Replace(webhookOf(h, "note", ""))
	const configurations = registrationPath + "mutatingwebhookconfigurations"
	code, _ := s.do("POST", configurations, `{"metadata":{"name":"changing"},"webhooks":[`+hook+`]}`)
	s.want(t, code, 201, "CREATE mutatingwebhookconfigurations/ /changing\n  the server\n")
	tries, _ := s.last.Tries()
	for _, step := range tries[0].Steps {
		if want := "no webhook sees this kind"; strings.HasSuffix(step.Plugin, "Webhook") && (len(step.Reasons) != 1 || step.Reasons[0] != want) {
			t.Errorf("%s: got %q, want %q", step.Plugin, step.Reasons, want)
		}
	}
	code, answer := s.do("POST", "/api/v1/namespaces/ns/events", `{"metadata":{"name":"e","namespace":"ns"},"involvedObject":{"kind":"Pod","namespace":"ns"},"message":"sent"}`)
	s.want(t, code, 201, `CREATE events/ ns/e
  mutate MutatingAdmissionWebhook: admitted; [{"op":"replace","path":"/message","value":"changed"}]
    note.example.com changing Event: admitted; [{"op":"replace","path":"/note","value":"changed"}]; notes patch.webhook.admission.k8s.io/round_0_index_0; notes mutation.webhook.admission.k8s.io/round_0_index_0
  mutate again MutatingAdmissionWebhook: admitted
    note.example.com changing: skipped; because in the second run, it runs only if reinvocationPolicy is IfNeeded and the object has changed after its call
  the server
`)
	s.explains(t, answer)
}

// racing is a plugin that lets another writer be faster in the first try of an update.
type racing struct{ faster func() }

func (*racing) Name() string                        { return "Racing" }
func (*racing) Handles(op admission.Operation) bool { return op == admission.Update }

func (r *racing) Mutate(context.Context, *admission.Attributes) error {
	if faster := r.faster; faster != nil {
		r.faster = nil
		faster()
	}
	return nil
}

// TestStoryOfTries tells of each try of an update.
func TestStoryOfTries(t *testing.T) {
	s, r := &storied{}, &racing{}
	s.inProcess = newInProcess(t, func(c *server.Config) {
		c.Authorization = access.Config{Authorizer: s, Modes: []string{access.AlwaysAllow}}
		c.Admission.Plugins = []plugins.Plugin{{Name: "Racing", Make: func(registry.Stores, []byte) (admission.Plugin, error) { return r, nil }}}
	})
	const m = "/api/v1/namespaces/ns/configmaps"
	s.Must("POST", m, `{"metadata":{"name":"m"}}`)
	var story *request.Story
	r.faster = func() {
		story = s.last
		s.do("PATCH", m+"/m", `{"data":{"faster":"yes"}}`)
	}
	code, answer := s.do("PATCH", m+"/m", `{"data":{"slower":"yes"}}`)
	s.last = story
	tries, _ := story.Tries()
	if code != 200 || len(tries) != 2 || strings.Contains(string(tries[0].Object), "faster") || !strings.Contains(string(tries[1].Object), "faster") {
		t.Errorf("got %d, %d tries\n%s", code, len(tries), s.told())
	}
	s.explains(t, answer)
}
