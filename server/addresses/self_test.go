package addresses_test

import (
	"net"
	"testing"

	"github.com/coracle-project/coracle/server/addresses"
)

// TestSelf: documents contain the configured port until the server listens, and then the port at
// which it listens.
func TestSelf(t *testing.T) {
	for _, tt := range []struct {
		name          string
		self          *addresses.Self
		before, after string
	}{
		{"advertised", &addresses.Self{Bind: "0.0.0.0", Advertise: "192.0.2.7", Port: 6443, Secure: true}, "192.0.2.7:6443", "192.0.2.7:7443"},
		{"bound", &addresses.Self{Bind: "192.0.2.8", Port: 6443, Secure: true}, "192.0.2.8:6443", "192.0.2.8:7443"},
		{"loopback that is meant", &addresses.Self{Bind: "0.0.0.0", Advertise: "127.0.0.1", Port: 6443}, "127.0.0.1:6443", "127.0.0.1:7443"},
		{"named", &addresses.Self{Bind: "192.0.2.8", Hostname: "api.example", Port: 6443}, "api.example:6443", "api.example:7443"},
		{"of version 6", &addresses.Self{Bind: "2001:db8::1", Port: 6443}, "[2001:db8::1]:6443", "[2001:db8::1]:7443"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			tt.self.Listen(nil) // without a secure port
			if got := tt.self.External(); got != tt.before || tt.self.Listens() != nil {
				t.Errorf("before it listens: got %s, want %s", got, tt.before)
			}
			tt.self.Listen(&net.TCPAddr{IP: net.IPv4zero, Port: 7443})
			if got := tt.self.External(); got != tt.after {
				t.Errorf("when it listens: got %s, want %s", got, tt.after)
			}
		})
	}
}
