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
	forgets int64  // each so manieth review is passed unchanged; 0 for none
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
