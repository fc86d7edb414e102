package filters

import (
	"net/http"
	"testing"
	"testing/synctest"
	"time"
)

var _ = addExits([]exit{
	{step: "deadline", name: "no duration", token: "alice-token", request: exitGet + "?timeout=x", code: 400},
	{step: "deadline", name: "no duration, too many refusals", config: noRefusal, request: exitGet + "?timeout=x"},
	{step: "deadline", name: "the time is up", token: "alice-token", request: exitGet + "?timeout=100ms", h: untilEnd, code: 504},
})

func TestDeadline(t *testing.T) {
	wait := func(_ http.ResponseWriter, r *http.Request) { <-r.Context().Done() }
	for _, tt := range []struct {
		name, query string
		code        int
		took        time.Duration
	}{
		{"default", "", 504, time.Minute},
		{"shorter", "?timeout=3s", 504, 3 * time.Second},
		{"longer", "?timeout=3h", 504, time.Minute},
		{"zero", "?timeout=0s", 504, time.Minute},
		{"negative", "?timeout=-1s", 504, time.Minute},
		{"at once", "?timeout=1ns", 504, time.Nanosecond},
		{"bad", "?timeout=abc", 400, 0},
	} {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				start := time.Now()
				w := serve(testConfig(t), wait, "admin-token", "GET", "/api/v1/pods"+tt.query)
				if got := time.Since(start); w.Code != tt.code || got != tt.took {
					t.Errorf("got %d after %v, want %d after %v", w.Code, got, tt.code, tt.took)
				}
				switch body := w.Body.String(); {
				case w.Code == 504 && body != "Timeout: Timeout: request did not complete within the allotted timeout",
					w.Code == 400 && body != `BadRequest: invalid timeout specified in the request URL - time: invalid duration "abc"`:
					t.Errorf("body: got %s", body)
				}
			})
		})
	}
}

// TestDeadlineLeavesAlone: a response that has begun stands, and watches have no deadline.
func TestDeadlineLeavesAlone(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := testConfig(t)
		w := serve(c, func(w http.ResponseWriter, r *http.Request) {
			<-r.Context().Done()
			ok(w, r)
		}, "admin-token", "GET", "/api/v1/pods")
		if w.Code != 200 {
			t.Errorf("answered late: got %d, want 200", w.Code)
		}
		w = serve(c, func(w http.ResponseWriter, r *http.Request) {
			if _, has := r.Context().Deadline(); has {
				t.Error("watch has a deadline")
			}
			time.Sleep(time.Hour)
			if err := r.Context().Err(); err != nil {
				t.Errorf("watch: context ended: %v", err)
			}
			ok(w, r)
		}, "admin-token", "GET", "/api/v1/pods?watch=1&timeout=abc")
		if w.Code != 200 {
			t.Errorf("watch: got %d, want 200", w.Code)
		}
	})
}
