package differential

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	authenticationv1 "k8s.io/api/authentication/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/serializer"
	"k8s.io/apimachinery/pkg/types"
	auditapi "k8s.io/apiserver/pkg/apis/audit"
	auditv1 "k8s.io/apiserver/pkg/apis/audit/v1"
	theiraudit "k8s.io/apiserver/pkg/audit"
	auditpolicy "k8s.io/apiserver/pkg/audit/policy"
	"k8s.io/apiserver/pkg/authentication/user"
	"k8s.io/apiserver/pkg/authorization/authorizer"
	"sigs.k8s.io/yaml"

	"github.com/coracle-project/coracle/filters/audit"
	"github.com/coracle-project/coracle/router/request"
	"github.com/coracle-project/coracle/scheme/meta"
)

// auditing makes random policies, requests and events.
type auditing struct{ *rand.Rand }

func (a auditing) pick(list ...string) string { return list[a.IntN(len(list))] }

// some returns up to three of list, nil in most cases.
func (a auditing) some(list ...string) []string {
	if a.IntN(3) > 0 {
		return nil
	}
	out := make([]string, a.IntN(4))
	for i := range out {
		out[i] = a.pick(list...)
	}
	return out
}

// rarely returns the usual value, or one of others.
func (a auditing) rarely(usual any, others ...any) any {
	if a.IntN(60) > 0 {
		return usual
	}
	return others[a.IntN(len(others))]
}

var (
	auditStages    = []string{"RequestReceived", "ResponseStarted", "ResponseComplete", "Panic"}
	auditUsers     = []string{"alice", "bob", "system:anonymous", ""}
	auditGroups    = []string{"dev", "ops", "system:authenticated", ""}
	auditVerbs     = []string{"get", "list", "watch", "create", "post", ""}
	auditSpaces    = []string{"a", "b", "kube-system", ""}
	auditAPIGroups = []string{"", "apps", "batch.example.com", "*"}
	auditResources = []string{"pods", "nodes", "*", "pods/log", "pods/*", "*/log", "*/*", "nodes/", "/log", "", "pods/log/x", "pod", "*/"}
	auditNames     = []string{"x", "y", ""}
	auditPaths     = []string{"/", "/a", "/a/b", "/ab", "/healthz/etcd", "/*", ""}
	auditURLs      = []string{"/a", "/a*", "/a/*", "/*", "*", "/healthz*", "/"}
)

// rule returns a rule of a policy, rarely a wrong one.
func (a auditing) rule() map[string]any {
	rule := map[string]any{"level": a.rarely(a.pick("None", "Metadata", "Request", "RequestResponse"), "none", "", 1, nil, "<&>")}
	set := func(field string, list []string) {
		if list != nil {
			rule[field] = list
		}
	}
	set("users", a.some(auditUsers...))
	set("userGroups", a.some(auditGroups...))
	set("verbs", a.some(auditVerbs...))
	set("omitStages", a.some(auditStages...))
	switch a.IntN(3) {
	case 0:
		set("nonResourceURLs", a.some(auditURLs...))
	case 1:
		set("namespaces", a.some(auditSpaces...))
		var resources []any
		for range a.IntN(3) {
			entry := map[string]any{}
			if a.IntN(2) == 0 {
				entry["group"] = a.rarely(a.pick(auditAPIGroups...), "apps/v1", "A", "a_b", strings.Repeat("a", 254), 7)
			}
			if list := a.some(auditResources...); len(list) > 0 {
				entry["resources"] = list
				if names := a.some(auditNames...); names != nil {
					entry["resourceNames"] = names
				}
			}
			if a.IntN(60) == 0 {
				entry[a.pick("resourceNames", "resource", "Group")] = []string{"x"}
			}
			resources = append(resources, entry)
		}
		if resources != nil {
			rule["resources"] = resources
		}
	}
	if a.IntN(4) == 0 {
		rule["omitManagedFields"] = a.rarely(a.IntN(2) == 0, nil, "yes", 1)
	}
	if a.IntN(80) == 0 { // something that makes the rule wrong, mostly
		rule[a.pick("omitStages", "nonResourceURLs", "namespaces", "users", "user", "Level", "verbs")] =
			[]any{[]any{a.pick("panic", "/b*c", "c", "", "/**", "**")}, []any{1}, "x", nil, map[string]any{}}[a.IntN(5)]
	}
	return rule
}

// policy returns a policy as YAML or JSON, often a right one.
func (a auditing) policy() []byte {
	rules := []any{}
	n := a.IntN(8)
	if a.IntN(20) == 0 {
		n = a.IntN(150)
	}
	for range n {
		rules = append(rules, a.rule())
	}
	file := map[string]any{
		"apiVersion": a.rarely("audit.k8s.io/v1", "audit.k8s.io/v1beta1", "audit.k8s.io/v1alpha1", "v1", "", nil, 1, "audit.k8s.io/", "a/b/c", "audit.k8s.io/__internal"),
		"kind":       a.rarely("Policy", "Event", "PolicyList", "policy", "", nil, 1, "Status"),
		"rules":      a.rarely(rules, nil, "x", map[string]any{}, []any{nil}, []any{1}),
	}
	if list := a.some(auditStages...); list != nil {
		file["omitStages"] = a.rarely(list, []string{"Panic", "x"}, 1)
	}
	if a.IntN(3) == 0 {
		file["omitManagedFields"] = a.rarely(a.IntN(2) == 0, nil, "true")
	}
	if a.IntN(4) == 0 {
		file["metadata"] = a.rarely(map[string]any{"name": "p", "labels": map[string]any{"a": "b"}}, 1, map[string]any{"x": 1}, map[string]any{"name": 1})
	}
	for _, field := range []string{"apiVersion", "kind", "rules"} {
		if a.IntN(100) == 0 {
			delete(file, field)
		}
	}
	if a.IntN(100) == 0 {
		file[a.pick("spec", "Rules", "status", "KIND")] = a.pick("", "Event")
	}
	text, err := json.Marshal(file)
	if err != nil {
		panic(err)
	}
	double := a.IntN(60) == 0
	if a.IntN(2) == 0 {
		if double {
			field := a.pick("level", "rules", "kind")
			text = []byte(strings.Replace(string(text), fmt.Sprintf("%q:", field), fmt.Sprintf(`%q:%s,%[1]q:`, field, a.pick("null", `"x"`, `"None"`)), 1))
		}
		return append([]byte(a.pick("", " ", "\n\t", "\u00a0")), append(text, a.rarely("", "\n", "}", "x", "\n---\n{}").(string)...)...)
	}
	if text, err = yaml.JSONToYAML(text); err != nil {
		panic(err)
	}
	if double {
		text = append(text, a.pick("kind: Policy\n", "rules: []\n", "metadata:\n  name: a\n  name: b\n")...)
	}
	return append([]byte(a.pick("", "---\n", "# comment\n")), append(text, a.rarely("", "---\nx: 1\n", "- a", "\t", "...\nx: [").(string)...)...)
}

// request returns the same random request for both sides.
func (a auditing) request() (*request.Attributes, *authorizer.AttributesRecord) {
	ours := &request.Attributes{Verb: a.pick(auditVerbs...), IsResource: a.IntN(3) > 0}
	theirs := &authorizer.AttributesRecord{Verb: ours.Verb, ResourceRequest: ours.IsResource}
	if a.IntN(12) > 0 {
		ours.User = &request.User{Name: a.pick(auditUsers...), Groups: a.some(auditGroups...)}
		theirs.User = &user.DefaultInfo{Name: ours.User.Name, Groups: ours.User.Groups}
	}
	ours.Path = a.pick(auditPaths...)
	if ours.IsResource {
		ours.Group, ours.Version = a.pick("", "apps", "batch.example.com", "extensions"), "v1"
		ours.Resource, ours.Subresource = a.pick("pods", "nodes", "secrets", "pod"), a.pick("", "", "log", "status", "*")
		ours.Namespace, ours.Name = a.pick(auditSpaces...), a.pick(auditNames...)
	}
	theirs.Path, theirs.APIGroup, theirs.APIVersion = ours.Path, ours.Group, ours.Version
	theirs.Resource, theirs.Subresource, theirs.Namespace, theirs.Name = ours.Resource, ours.Subresource, ours.Namespace, ours.Name
	return ours, theirs
}

// TestAuditPolicies has both sides load the same random policies and decide about the same
// requests. kube-apiserver starts with a policy that has unknown or repeated fields, and writes
// into its log what is wrong; Coracle refuses it in the same words.
func TestAuditPolicies(t *testing.T) {
	a := auditing{random("audit policies")}
	strict := serializer.NewCodecFactory(theiraudit.Scheme, serializer.EnableStrict).UniversalDecoder()
	refused, mistaken, asked, recorded := 0, 0, 0, 0
	n := times(4000)
	for range n {
		text := a.policy()
		ours, err := audit.ParsePolicy(text)
		theirs, theirErr := auditpolicy.LoadPolicyFromBytes(text)
		if _, _, wrong := strict.Decode(text, nil, &auditapi.Policy{}); runtime.IsStrictDecodingError(wrong) {
			if mistaken++; theirErr == nil {
				theirErr = fmt.Errorf("failed decoding: %w", wrong)
			}
		}
		if err != nil || theirErr != nil {
			refused++
			if difference := compareRefusals(err, theirErr); difference != "" {
				t.Fatalf("%s\n%s:\n got %v\nwant %v", text, difference, err, theirErr)
			}
			continue
		}
		evaluator := auditpolicy.NewPolicyRuleEvaluator(theirs)
		for range 50 {
			attributes, record := a.request()
			got, want := ours.Decide(attributes), evaluator.EvaluatePolicyRule(record)
			if asked++; got.Level != audit.None {
				recorded++
			}
			same := got.Level.String() == string(want.Level) && got.OmitManagedFields == want.OmitManagedFields
			for s := audit.RequestReceived; s <= audit.Panic; s++ {
				same = same && got.Omits(s) == slices.Contains(want.OmitStages, auditapi.Stage(s.String()))
			}
			if !same {
				t.Fatalf("%s\ndecides about %+v:\n got %+v\nwant %+v", text, record, got, want)
			}
		}
	}
	t.Logf("%d policies, of which %d are refused, %d of them for unknown or repeated fields; %d decisions, of which %d record something",
		n, refused, mistaken, asked, recorded)
	if n >= 100 && (refused < n/20 || asked < n*20 || recorded < asked/4) {
		t.Error("the policies have too little in them")
	}
}

// compareRefusals says how two errors differ. The texts count if values are wrong, or fields are
// unknown or repeated. What cannot be decoded need only be refused by both sides.
func compareRefusals(ours, theirs error) string {
	switch {
	case ours == nil:
		return "only Kubernetes refuses it"
	case theirs == nil:
		return "only Coracle refuses it"
	}
	got, want := ours.Error(), theirs.Error()
	if strings.HasPrefix(got, "failed decoding: ") && (!strings.Contains(want, "strict decoding error") || strings.Contains(got, "and at least")) {
		return ""
	}
	if got != want {
		return "the errors differ"
	}
	return ""
}

// text returns a short text with characters that need escapes.
func (a auditing) text() string {
	const alphabet = "abcXYZ019:/-. <>&\"\\\n\t\x00\x7f\u2028\u2029é世😀\ufffd\u00a0"
	runes := []rune(alphabet)
	var b strings.Builder
	for range a.IntN(9) {
		b.WriteRune(runes[a.IntN(len(runes))])
	}
	if a.IntN(8) == 0 {
		b.WriteString(a.pick("\xff", "\xc3", "\xed\xa0\x80"))
	}
	return b.String()
}

func (a auditing) texts() []string {
	switch n := a.IntN(5); n {
	case 4:
		return nil
	default:
		out := make([]string, n)
		for i := range out {
			out[i] = a.text()
		}
		return out
	}
}

// time returns a time in some zone, with nanoseconds; rarely the zero time.
func (a auditing) time() time.Time {
	if a.IntN(20) == 0 {
		return time.Time{}
	}
	zone := []*time.Location{time.UTC, time.FixedZone("", 3600), time.FixedZone("", -19800), time.Local}[a.IntN(4)]
	return time.Unix(a.Int64N(1<<33), a.Int64N(1e9)).In(zone)
}

// json returns JSON, compact or not, escaped or not; rarely none.
func (a auditing) json() []byte {
	var value any = map[string]any{a.text(): a.texts(), a.text(): a.Int64(), a.text(): a.Float64(), a.text(): nil, "metadata": map[string]any{}}
	if a.IntN(6) == 0 {
		value = []any{a.text(), a.IntN(2) == 0, a.IntN(9), nil}[a.IntN(4)]
	}
	var b strings.Builder
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(a.IntN(2) == 0)
	enc.SetIndent("", a.pick("", "", " ", "\t"))
	if err := enc.Encode(value); err != nil {
		panic(err)
	}
	return []byte(b.String())
}

func (a auditing) user() (*request.User, authenticationv1.UserInfo) {
	ours := &request.User{Name: a.text(), UID: a.text(), Groups: a.texts()}
	theirs := authenticationv1.UserInfo{Username: ours.Name, UID: ours.UID, Groups: ours.Groups}
	if a.IntN(2) == 0 {
		ours.Extra, theirs.Extra = map[string][]string{}, map[string]authenticationv1.ExtraValue{}
		for range a.IntN(20) {
			key, values := a.text(), a.texts()
			ours.Extra[key], theirs.Extra[key] = values, values
		}
	}
	return ours, theirs
}

func (a auditing) status() (*meta.Status, *metav1.Status) {
	ours := &meta.Status{Status: a.text(), Message: a.text(), Reason: meta.StatusReason(a.text()), Code: int32(a.IntN(600))}
	theirs := &metav1.Status{Status: ours.Status, Message: ours.Message, Reason: metav1.StatusReason(ours.Reason), Code: ours.Code}
	if a.IntN(2) == 0 {
		return ours, theirs
	}
	o := &meta.StatusDetails{
		Name: a.text(), Group: a.text(), Kind: a.text(), UID: meta.UID(a.text()), RetryAfterSeconds: int32(a.IntN(3)),
	}
	d := &metav1.StatusDetails{
		Name: o.Name, Group: o.Group, Kind: o.Kind, UID: types.UID(o.UID), RetryAfterSeconds: o.RetryAfterSeconds,
	}
	for range a.IntN(3) {
		c := meta.StatusCause{Type: meta.CauseType(a.text()), Message: a.text(), Field: a.text()}
		o.Causes = append(o.Causes, c)
		d.Causes = append(d.Causes, metav1.StatusCause{Type: metav1.CauseType(c.Type), Message: c.Message, Field: c.Field})
	}
	ours.Details, theirs.Details = o, d
	return ours, theirs
}

// event returns the same random event for both sides.
func (a auditing) event() (*audit.Event, *auditapi.Event) {
	ours := &audit.Event{
		Level: audit.Level(a.IntN(4)), Stage: audit.Stage(a.IntN(4)), AuditID: a.text(), RequestURI: a.text(), Verb: a.text(),
		SourceIPs: a.texts(), UserAgent: a.text(), Received: a.time(), Time: a.time(),
	}
	theirs := &auditapi.Event{
		Level: auditapi.Level(ours.Level.String()), Stage: auditapi.Stage(ours.Stage.String()), AuditID: types.UID(ours.AuditID),
		RequestURI: ours.RequestURI, Verb: ours.Verb, SourceIPs: ours.SourceIPs, UserAgent: ours.UserAgent,
		RequestReceivedTimestamp: metav1.NewMicroTime(ours.Received), StageTimestamp: metav1.NewMicroTime(ours.Time),
	}
	if a.IntN(8) > 0 {
		ours.User, theirs.User = a.user()
	}
	if a.IntN(3) == 0 {
		o, u := a.user()
		ours.Impersonated, theirs.ImpersonatedUser = o, &u
		if ours.Constraint = a.text(); ours.Constraint != "" {
			theirs.AuthenticationMetadata = &auditapi.AuthenticationMetadata{ImpersonationConstraint: ours.Constraint}
		}
	}
	if a.IntN(2) == 0 {
		o := &audit.Reference{
			Resource: a.text(), Namespace: a.text(), Name: a.text(), UID: a.text(), APIGroup: a.text(), APIVersion: a.text(),
			ResourceVersion: a.text(), Subresource: a.text(),
		}
		ours.Object, theirs.ObjectRef = o, &auditapi.ObjectReference{
			Resource: o.Resource, Namespace: o.Namespace, Name: o.Name, UID: types.UID(o.UID), APIGroup: o.APIGroup,
			APIVersion: o.APIVersion, ResourceVersion: o.ResourceVersion, Subresource: o.Subresource,
		}
	}
	if a.IntN(2) == 0 {
		ours.Status, theirs.ResponseStatus = a.status()
	}
	if a.IntN(2) == 0 {
		ours.RequestObject = a.json()
		theirs.RequestObject = &runtime.Unknown{Raw: ours.RequestObject, ContentType: runtime.ContentTypeJSON}
	}
	if a.IntN(2) == 0 {
		ours.ResponseObject = a.json()
		theirs.ResponseObject = &runtime.Unknown{Raw: ours.ResponseObject, ContentType: runtime.ContentTypeJSON}
	}
	if a.IntN(2) == 0 {
		ours.Annotations = map[string]string{}
		for range a.IntN(24) {
			ours.Annotations[a.text()] = a.text()
		}
		theirs.Annotations = ours.Annotations
	}
	return ours, theirs
}

// TestAuditEvents: both sides encode the same random events to the same bytes, as lines of both
// formats of the log and as lists.
func TestAuditEvents(t *testing.T) {
	a := auditing{random("audit events")}
	codec := theiraudit.Codecs.LegacyCodec(auditv1.SchemeGroupVersion)
	compare := func(what, got, want string) {
		t.Helper()
		if got != want {
			t.Fatalf("%s:\n got %s\nwant %s", what, got, want)
		}
	}
	encoded := func(object runtime.Object) string {
		t.Helper()
		data, err := runtime.Encode(codec, object)
		if err != nil {
			t.Fatal(err)
		}
		return strings.TrimSuffix(string(data), "\n")
	}
	for range times(4000) {
		var events []*audit.Event
		list := &auditapi.EventList{}
		for range 1 + a.IntN(4) {
			ours, theirs := a.event()
			compare("json", string(ours.AppendJSON(nil, false)), encoded(theirs))
			compare("legacy", string(ours.AppendLegacy(nil)), theiraudit.EventString(theirs))
			events, list.Items = append(events, ours), append(list.Items, *theirs)
		}
		compare("list", string(audit.AppendList(nil, events)), encoded(list))
	}
}
