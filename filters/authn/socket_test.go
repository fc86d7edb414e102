package authn

import (
	"encoding/base64"
	"net/http/httptest"
	"slices"
	"testing"

	"github.com/coracle-project/coracle/router/request"
)

// TestSocket: a token among the WebSocket subprotocols counts if there is another subprotocol to
// select, and is removed.
func TestSocket(t *testing.T) {
	tokenOf := func(text string) string { return socketProtocol + base64.RawURLEncoding.EncodeToString([]byte(text)) }
	token := tokenOf("some-token")
	upgrade := [2]string{"websocket", "Upgrade"}
	for _, tt := range []struct {
		asks    [2]string // Upgrade and Connection
		offered []string
		known   bool
		fails   bool
		left    []string
	}{
		{upgrade, []string{"v4.channel.k8s.io, " + token}, true, false, []string{"v4.channel.k8s.io"}},
		{upgrade, []string{token, "a", "b,c"}, true, false, []string{"a,b,c"}},
		{[2]string{"WebSocket", "keep-alive, upgrade"}, []string{token, "a"}, true, false, []string{"a"}},
		{upgrade, []string{tokenOf("else"), "a"}, false, true, nil},
		{upgrade, []string{token}, false, true, nil},
		{upgrade, []string{token, token, "a"}, false, true, nil},
		{upgrade, []string{socketProtocol + "%%, a"}, false, true, nil},
		{upgrade, []string{tokenOf("\xff"), "a"}, false, true, nil},
		{upgrade, []string{socketProtocol + ", a"}, false, false, nil},
		{upgrade, []string{"a"}, false, false, nil},
		{upgrade, nil, false, false, nil},
		{[2]string{}, []string{token, "a"}, false, false, nil},
		{[2]string{"websocket", "keep-alive"}, []string{token, "a"}, false, false, nil},
		{[2]string{"spdy/3.1", "Upgrade"}, []string{token, "a"}, false, false, nil},
	} {
		tokens := new(Tokens)
		tokens.Add("some-token", request.User{Name: "u"})
		r := httptest.NewRequest("GET", "/", nil)
		r.Header.Set("Upgrade", tt.asks[0])
		r.Header.Set("Connection", tt.asks[1])
		r.Header[protocolHeader] = slices.Clone(tt.offered)
		user, err := Socket(tokens).Authenticate(r)
		if (user != nil && user.Name == "u") != tt.known || (err != nil) != tt.fails {
			t.Errorf("%q for %q: got %v, %v", tt.offered, tt.asks, user, err)
		}
		left := tt.left
		if left == nil {
			left = tt.offered
		}
		if got := r.Header[protocolHeader]; !slices.Equal(got, left) {
			t.Errorf("%q for %q: left %q, want %q", tt.offered, tt.asks, got, left)
		}
	}
}
