package schema

import "testing"

func TestFormats(t *testing.T) {
	for _, tt := range []struct {
		format, good, bad string
	}{
		{"bsonobjectid", "507f1f77bcf86cd799439011", "507f1f77bcf86cd79943901x"},
		{"byte", "aGk=", "aGk"},
		{"byte", "aGkx", ""},
		{"cidr", "10.0.0.0/8", "10.0.0.0"},
		{"creditcard", "4111 1111 1111 1111", "4111 1111 1111 1112"},
		{"date", "2024-02-29", "2023-02-29"},
		{"date-time", "2014-12-15T19:30:20.000Z", "2014-12-15 19:30:20"},
		{"datetime", "2014-12-15t19:30:20+01:00", "2014-12-15T25:30:20Z"},
		{"duration", "22 ns", "22"},
		{"duration", "1h30m", "2 dogs"},
		{"duration", "2 days 3 hours", ""},
		{"email", "a@example.com", "a@"},
		{"hexcolor", "#FFF", "#FFFF"},
		{"hostname", "a-b.example.com", "-a.example.com"},
		{"hostname", "bücher.example", "a_b"},
		{"hostname", "localhost", "a..b"},
		{"ipv4", "192.0.2.1", "2001:db8::1"},
		{"ipv6", "2001:db8::1", "192.0.2.1"},
		{"isbn", "978-0321751041", "978-0321751042"},
		{"isbn10", "0321751043", "0321751044"},
		{"isbn10", "080442957X", "080442957"},
		{"isbn13", "978-0321751041", "0321751043"},
		{"k8s-long-name", "a.b", "A.b"},
		{"k8s-short-name", "a-b", "a.b"},
		{"mac", "01:23:45:67:89:ab", "01:23:45:67:89"},
		{"rgbcolor", "rgb(255, 0,1)", "rgb(256,0,1)"},
		{"ssn", "111-22 3333", "11-22-3333"},
		{"uri", "https://example.com/a", "example"},
		{"uuid", "11111111-2222-3333-4444-555555555555", "11111111-2222-3333-4444-55555555555"},
		{"uuid3", "11111111-2222-3333-4444-555555555555", "11111111-2222-4333-4444-555555555555"},
		{"uuid4", "11111111-2222-4333-8444-555555555555", "11111111-2222-4333-4444-555555555555"},
		{"uuid5", "1111111122225333a444555555555555", "11111111-2222-4333-8444-555555555555"},
	} {
		if ok := formatNamed(tt.format); !ok(tt.good) || ok(tt.bad) {
			t.Errorf("%s: got %v for %q and %v for %q, want true and false", tt.format, ok(tt.good), tt.good, ok(tt.bad), tt.bad)
		}
	}
}
