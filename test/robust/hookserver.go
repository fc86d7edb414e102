package robust

import (
	"encoding/json"
	"encoding/pem"
	"fmt"
	"io"
	"log"
	"net/http"
	"net/http/httptest"
	"strconv"
	"strings"
	"sync/atomic"
)

// hookServer answers webhooks in this process, over TLS. Hook and generation stand in the path that
// is called, so that an answer shows which version of the configuration was in force.
type hookServer struct {
	*httptest.Server
	ca      []byte // PEM
	forgets int64  // every forgets-th review is passed unchanged; 0 for none
	reviews atomic.Int64
}

func newHookServer() *hookServer {
	s := &hookServer{}
	s.Server = httptest.NewUnstartedServer(s)
	s.Config.ErrorLog = log.New(io.Discard, "", 0) // clients are killed
	s.StartTLS()
	s.ca = pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: s.Certificate().Raw})
	return s
}

// object is the object of a resource that makes a hook, or a part of it. Webhooks are called at s.
func (s *hookServer) object(resource, hook string, gen int) tree {
	rules := []tree{{"apiGroups": []string{""}, "apiVersions": []string{"v1"}, "operations": []string{"CREATE", "UPDATE"},
		"resources": []string{"configmaps"}}}
	selector := tree{"matchLabels": tree{hook: "yes"}}
	matches := tree{"resourceRules": rules, "objectSelector": selector}
	note := strconv.Itoa(gen)
	o := tree{"apiVersion": "admissionregistration.k8s.io/v1",
		"metadata": tree{"name": hook, "annotations": tree{genNote: note}}}
	switch resource {
	case "validatingadmissionpolicies":
		o["kind"], o["spec"] = "ValidatingAdmissionPolicy", tree{"matchConstraints": matches,
			"validations": []tree{{"expression": "false", "message": hookWords + hook + " " + note}}}
	case "validatingadmissionpolicybindings":
		o["kind"] = "ValidatingAdmissionPolicyBinding"
		o["spec"] = tree{"policyName": hook, "validationActions": []string{"Deny"}}
	case "mutatingadmissionpolicies":
		o["kind"], o["spec"] = "MutatingAdmissionPolicy", tree{"matchConstraints": matches, "reinvocationPolicy": "Never",
			"mutations": []tree{{"patchType": "ApplyConfiguration", "applyConfiguration": tree{
				"expression": fmt.Sprintf("Object{metadata: Object.metadata{annotations: {%q: %q}}}", hook, note)}}}}
	case "mutatingadmissionpolicybindings":
		o["kind"], o["spec"] = "MutatingAdmissionPolicyBinding", tree{"policyName": hook}
	case "mutatingwebhookconfigurations", "validatingwebhookconfigurations":
		o["kind"] = "ValidatingWebhookConfiguration"
		if resource == "mutatingwebhookconfigurations" {
			o["kind"] = "MutatingWebhookConfiguration"
		}
		o["webhooks"] = []tree{{"name": hook + ".robust.example.com", "rules": rules, "objectSelector": selector,
			"clientConfig":  tree{"url": fmt.Sprintf("%s/%s/%d", s.URL, hook, gen), "caBundle": s.ca},
			"failurePolicy": "Fail", "sideEffects": "None", "timeoutSeconds": 30, "admissionReviewVersions": []string{"v1"}}}
	}
	return o
}

// ServeHTTP refuses or stamps the object of a review.
func (s *hookServer) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	var review struct {
		Request struct {
			UID    string
			Object struct{ Metadata meta }
		}
	}
	parts := strings.Split(r.URL.Path, "/") // "", hook, generation
	if err := json.NewDecoder(r.Body).Decode(&review); err != nil || len(parts) != 3 || kindOfHook(parts[1]) == nil {
		http.Error(w, fmt.Sprintf("not a review: %s %v", r.URL, err), http.StatusBadRequest)
		return
	}
	response := tree{"uid": review.Request.UID, "allowed": true}
	switch hook, gen := parts[1], parts[2]; {
	case s.forgets > 0 && s.reviews.Add(1)%s.forgets == 0:
	case !kindOfHook(hook).stamps:
		response["allowed"], response["status"] = false, tree{"code": 403, "message": hookWords + hook + " " + gen}
	default:
		patch := tree{"op": "add", "path": "/metadata/annotations", "value": tree{hook: gen}}
		if len(review.Request.Object.Metadata.Annotations) > 0 {
			patch = tree{"op": "add", "path": "/metadata/annotations/" + hook, "value": gen}
		}
		encoded, err := json.Marshal([]tree{patch})
		if err != nil {
			panic(err)
		}
		response["patchType"], response["patch"] = "JSONPatch", encoded
	}
	w.Header().Set("Content-Type", asJSON)
	json.NewEncoder(w).Encode(tree{"apiVersion": "admission.k8s.io/v1", "kind": "AdmissionReview", "response": response})
}

// refusal returns the hook that a message names, and its generation, "" if it names none.
func refusal(message string) (hook string, gen int) {
	_, words, ok := strings.Cut(message, hookWords)
	if !ok {
		return "", 0
	}
	hook, rest, _ := strings.Cut(words, " ")
	digits := rest[:len(rest)-len(strings.TrimLeft(rest, "0123456789"))]
	gen, err := strconv.Atoi(digits)
	if err != nil {
		return "", 0
	}
	return hook, gen
}
