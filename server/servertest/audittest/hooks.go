package audittest

import (
	"encoding/base64"
	"encoding/json"
	"encoding/pem"
	"fmt"
	"net/http"
	"net/http/httptest"
	"testing"
)

// closed is a URL at which nobody listens.
const closed = "https://127.0.0.1:1"

// hookServer serves the admission webhooks of a session, one at each path.
type hookServer struct{ *httptest.Server }

// verdicts are what the webhooks answer, by path: fields of an AdmissionResponse.
var verdicts = map[string]string{
	"/nothing": `"allowed":true`,
	"/patch": `"allowed":true,"patchType":"JSONPatch","patch":"` +
		base64.StdEncoding.EncodeToString([]byte(`[{"op":"add","path":"/data/by-hook","value":"yes"}]`)) + `"`,
	"/annotate": `"allowed":true,"warnings":["the hook warns"],"auditAnnotations":{"saw":"it","thought":"nothing of it"}`,
	"/deny":     `"allowed":false,"status":{"code":403,"message":"the hook refuses"},"auditAnnotations":{"reason":"its mood"}`,
	"/garble":   `"allowed":"perhaps"`,
}

func newHooks(t testing.TB) *hookServer {
	return &hookServer{httptest.NewTLSServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		var review struct {
			Request struct {
				UID string `json:"uid"`
			} `json:"request"`
		}
		if err := json.NewDecoder(r.Body).Decode(&review); err != nil {
			t.Errorf("webhook %s: %v", r.URL.Path, err)
		}
		w.Header().Set("Content-Type", "application/json")
		fmt.Fprintf(w, `{"kind":"AdmissionReview","apiVersion":"admission.k8s.io/v1","response":{"uid":%q,%s}}`,
			review.Request.UID, verdicts[r.URL.Path])
	}))}
}

// bundle returns the certificate of the webhooks as a caBundle.
func (h *hookServer) bundle() string {
	text := pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: h.Certificate().Raw})
	return base64.StdEncoding.EncodeToString(text)
}
