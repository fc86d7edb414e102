package filters

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
)

// TestImpersonate refuses everybody who asks to be somebody else, administrators included.
func TestImpersonate(t *testing.T) {
	for _, tt := range []struct {
		name, token, header string
		want                int
	}{
		{"administrator", "admin-token", "Impersonate-User", http.StatusForbidden},
		{"user", "alice-token", "Impersonate-User", http.StatusForbidden},
		{"group", "admin-token", "Impersonate-Group", http.StatusForbidden},
		{"uid", "admin-token", "Impersonate-Uid", http.StatusForbidden},
		{"extra", "admin-token", "Impersonate-Extra-Scopes", http.StatusForbidden},
		{"bad credentials", "nobody", "Impersonate-User", http.StatusUnauthorized},
		{"anything", "admin-token", "Impersonate-", http.StatusForbidden},
		{"as it came", "admin-token", "impersonate-user", http.StatusForbidden},
		{"strangely", "admin-token", "iMPERSONATE-user name", http.StatusForbidden},
		{"another word", "admin-token", "Impersonate", http.StatusOK},
		{"another line", "admin-token", "Impersonate_user", http.StatusOK},
		{"none", "admin-token", "X-Impersonate-User", http.StatusOK},
	} {
		t.Run(tt.name, func(t *testing.T) {
			served := false
			h := Chain(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { served = true }), testConfig(t).Steps()...)
			r, w := httptest.NewRequest("POST", "/api/v1/namespaces/n/secrets", nil), httptest.NewRecorder()
			r.Header.Set("Authorization", "Bearer "+tt.token)
			r.Header[tt.header] = []string{"jane"} // as it stands: not everything is canonicalized on the way
			h.ServeHTTP(w, r)
			if w.Code != tt.want || served != (tt.want == http.StatusOK) {
				t.Errorf("got code %d (served: %v), want %d", w.Code, served, tt.want)
			}
			if tt.want == http.StatusForbidden && !strings.Contains(w.Body.String(), "impersonation is not served") {
				t.Errorf("got %q", w.Body)
			}
		})
	}
}

// A look at each name is all that it costs, however many there are.
func TestImpersonateAllocs(t *testing.T) {
	r := get()
	for i := range 1000 {
		r.Header[fmt.Sprintf("Impersonat-%d", i)] = []string{"x"}
	}
	h, w := Impersonate(fail)(noop), &sink{header: http.Header{}}
	if got := testing.AllocsPerRun(100, func() { h.ServeHTTP(w, r) }); got != 0 {
		t.Errorf("got %v allocs, want none", got)
	}
}
