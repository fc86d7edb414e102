package server_test

import (
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/coracle-project/coracle/server/servertest"
)

// TestDeadlineOfLongWork: over HTTP, a request whose work takes longer than its time limit soon
// gets 504.
func TestDeadlineOfLongWork(t *testing.T) {
	h := &harbor{servertest.Start(t), t}
	install(t, h.Server.Server, kites(t, kiteVersion("v1", `"spec":{"type":"object","properties":{"list":{"type":"array","x-kubernetes-list-type":"map",
		"x-kubernetes-list-map-keys":["a"],"items":{"type":"object","required":["a"],"properties":{"a":{"type":"integer"},"b":{"type":"string","default":"x"}}}}}}`, true, "")))
	var list []string
	for i := range 40_000 {
		list = append(list, fmt.Sprintf(`{"a":%d}`, i*7919%40_000))
	}
	body := `{"apiVersion":"toys.example.com/v1","kind":"Kite","metadata":{"name":"a"},"spec":{"list":[` + strings.Join(list, ",") + `]}}`
	for _, r := range []struct{ what, method, path, contentType string }{
		{"create", "POST", kitesV1 + "?", "application/json"},
		{"apply", "PATCH", kitesV1 + "/a?fieldManager=m&", "application/apply-patch+yaml"},
	} {
		begun := time.Now()
		code, status := h.do(r.method, r.path+"timeout=50ms", body, "Content-Type", r.contentType)
		if code != http.StatusGatewayTimeout || status["reason"] != "Timeout" {
			t.Errorf("%s: got %d %.300v", r.what, code, status)
		}
		if took := time.Since(begun); took > 5*time.Second {
			t.Errorf("%s: the answer took %v", r.what, took)
		}
	}
}
