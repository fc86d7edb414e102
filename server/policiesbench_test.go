package server_test

import (
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"
)

const (
	benchConfigMap = `{"metadata":{"generateName":"a-"},"data":{"a":"1","b":"2"}}`
	benchPod       = `{"metadata":{"generateName":"a-","labels":{"app":"web"},"annotations":{"a":"b"}},"spec":{"containers":[{"name":"c","image":"i",` +
		`"ports":[{"containerPort":80}],"env":[{"name":"A","value":"1"},{"name":"B","value":"2"}],` +
		`"resources":{"limits":{"cpu":"1","memory":"1Gi"},"requests":{"cpu":"1","memory":"1Gi"}},"volumeMounts":[{"name":"v","mountPath":"/v"}]},` +
		`{"name":"d","image":"j"}],"volumes":[{"name":"v","emptyDir":{}}],"securityContext":{"runAsNonRoot":true}}}`
	benchValidations = `"validations":[{"expression":"object.spec.containers.all(c, !c.image.endsWith(':latest'))"},` +
		`{"expression":"!has(object.spec.hostNetwork) || !object.spec.hostNetwork"},{"expression":"object.metadata.labels.app == 'web'","message":"no app"},` +
		`{"expression":"object.spec.securityContext.runAsNonRoot == true","messageExpression":"'pod ' + object.metadata.name"},` +
		`{"expression":"namespaceObject.metadata.name != 'kube-system' || request.userInfo.username == 'admin'"}]`
	benchMutations = `"reinvocationPolicy":"Never","mutations":[{"patchType":"ApplyConfiguration","applyConfiguration":{"expression":` +
		`"Object{metadata: Object.metadata{labels: {'team': 'a'}}}"}}]`
)

// ruleFor is the list of rules of a policy or webhook for creates of one resource of a group.
func ruleFor(group, resource string) string {
	return fmt.Sprintf(`[{"apiGroups":[%q],"apiVersions":["v1"],"operations":["CREATE"],"resources":[%q]}]`, group, resource)
}

// policyOf returns a policy for a resource of a group. spec are its other fields.
func policyOf(name, group, resource, spec string) string {
	return fmt.Sprintf(`{"metadata":{"name":%q},"spec":{"matchConstraints":{"resourceRules":%s},%s}}`, name, ruleFor(group, resource), spec)
}

// webhookFor returns the configuration of a validating webhook for a resource of a group. Nothing
// listens at its address. more are its other fields.
func webhookFor(name, group, resource, more string) string {
	return fmt.Sprintf(`{"metadata":{"name":%q},"webhooks":[{"name":"a.example.com","clientConfig":{"url":"https://127.0.0.1:1/"},`+
		`"sideEffects":"None","admissionReviewVersions":["v1"],"rules":%s%s}]}`, name, ruleFor(group, resource), more)
}

// bindingOf returns the binding of a policy.
func bindingOf(name, more string) string {
	return fmt.Sprintf(`{"metadata":{"name":%q},"spec":{"policyName":%q%s}}`, name, name, more)
}

// BenchmarkPolicies measures what policies and webhooks add to a create in memory: the median over
// rounds of both servers, one after the other, in percent of the server without them. No webhook is
// called.
func BenchmarkPolicies(b *testing.B) {
	const registration = "/apis/admissionregistration.k8s.io/v1/"
	validating := func(p *inProcess, name, group, resource string) {
		p.must("POST", registration+"validatingadmissionpolicies", policyOf(name, group, resource, benchValidations))
		p.must("POST", registration+"validatingadmissionpolicybindings", bindingOf(name, `,"validationActions":["Deny"]`))
	}
	mutating := func(p *inProcess, name, group, resource string) {
		p.must("POST", registration+"mutatingadmissionpolicies", policyOf(name, group, resource, benchMutations))
		p.must("POST", registration+"mutatingadmissionpolicybindings", bindingOf(name, ""))
	}
	webhooks := func(group, resource, more string) func(p *inProcess) {
		return func(p *inProcess) {
			for i := range 200 {
				p.must("POST", registration+"validatingwebhookconfigurations", webhookFor(fmt.Sprint("h", i), group, resource, more))
			}
		}
	}
	for _, bm := range []struct {
		name, path, body string
		set              func(p *inProcess)
	}{
		{"none", "configmaps", benchConfigMap, func(*inProcess) {}},
		{"unmatched=200", "configmaps", benchConfigMap, func(p *inProcess) {
			for i := range 200 {
				validating(p, fmt.Sprintf("p%d", i), "apps", "deployments")
			}
		}},
		{"unmatched=200 webhooks", "configmaps", benchConfigMap, webhooks("apps", "deployments", "")},
		{"namespaceSelector=200 webhooks", "configmaps", benchConfigMap,
			webhooks("", "configmaps", `,"namespaceSelector":{"matchLabels":{"kubernetes.io/metadata.name":"other"}}`)},
		{"objectSelector=200 webhooks", "configmaps", benchConfigMap, webhooks("", "configmaps", `,"objectSelector":{"matchLabels":{"a":"b"}}`)},
		{"matchConditions=200 webhooks", "configmaps", benchConfigMap,
			webhooks("", "configmaps", `,"matchConditions":[{"name":"c","expression":"request.namespace == 'other'"}]`)},
		{"validating=1", "pods", benchPod, func(p *inProcess) { validating(p, "p", "", "pods") }},
		{"mutating=1", "pods", benchPod, func(p *inProcess) { mutating(p, "p", "", "pods") }},
	} {
		b.Run(bm.name, func(b *testing.B) {
			with, without := newInProcess(b), newInProcess(b)
			bm.set(with)
			create := func(p *inProcess, n int) time.Duration {
				began := time.Now()
				for range n {
					w := p.Serve(p.Request("POST", "/api/v1/namespaces/ns/"+bm.path, strings.NewReader(bm.body)))
					if w.Code != http.StatusCreated {
						b.Fatalf("got %d %s", w.Code, w.Body)
					}
				}
				return time.Since(began)
			}
			create(with, 100)
			create(without, 100)
			var ratios []float64
			for b.Loop() {
				less, more := create(without, 10), create(with, 20) // each server is measured first as often as second
				less += create(without, 10)
				ratios = append(ratios, float64(more)/float64(less))
			}
			slices.Sort(ratios)
			b.ReportMetric(100*(ratios[len(ratios)/2]-1), "%more")
		})
	}
}
