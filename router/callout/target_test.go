package callout

import (
	"context"
	"strings"
	"testing"
)

func TestNewRefuses(t *testing.T) {
	resolve := func(context.Context, Service) (string, error) { return "", nil }
	for _, tt := range []struct {
		cfg  Config
		want string
	}{
		{Config{}, "the name is missing"},
		{Config{Name: "x"}, "exactly one of a URL and a service"},
		{Config{Name: "x", Target: Target{URL: "https://h", Service: &Service{}}}, "exactly one of a URL and a service"},
		{Config{Name: "x", Target: Target{URL: "http://h"}}, "does not begin with https://"},
		{Config{Name: "x", Target: Target{URL: "h:443"}}, "does not begin with https://"},
		{Config{Name: "x", Target: Target{URL: "https:///p"}}, "names no host"},
		{Config{Name: "x", Target: Target{URL: "https://:443"}}, "names no host"},
		{Config{Name: "x", Target: Target{URL: "https://u:secret@h"}}, "a user name or password"},
		{Config{Name: "x", Target: Target{URL: "https://u:secret/h"}}, "malformed"},
		{Config{Name: "x", Target: Target{URL: "https://h?key=secret"}}, "a query or fragment"},
		{Config{Name: "x", Target: Target{URL: "https://h#secret"}}, "a query or fragment"},
		{Config{Name: "x", Target: Target{URL: "https://h", CABundle: []byte("secret")}}, "no certificate in PEM"},
		{Config{Name: "x", Target: Target{URL: "https://h", CABundle: []byte("secret"), Insecure: true}}, "must not be combined"},
		{Config{Name: "x", Target: Target{Service: &Service{Namespace: "n", Name: "s"}}}, "there is no resolver"},
		{Config{Name: "x", Target: Target{Service: &Service{Namespace: "n"}}, Resolve: resolve}, "no valid name"},
		{Config{Name: "x", Target: Target{Service: &Service{Namespace: "n", Name: "s/../t"}}, Resolve: resolve}, "no valid name"},
		{Config{Name: "x", Target: Target{Service: &Service{Namespace: "n", Name: "s", Port: 1 << 16}}, Resolve: resolve}, "out of range"},
		{Config{Name: "x", Target: Target{Service: &Service{Namespace: "n", Name: "s", Path: "p"}}, Resolve: resolve}, "begin with a slash"},
	} {
		c, err := New(tt.cfg)
		if err == nil || c != nil || !strings.Contains(err.Error(), tt.want) || strings.Contains(err.Error(), "secret") {
			t.Errorf("New(%+v): got %v, want %q", tt.cfg, err, tt.want)
		}
	}
}
