package meta

import "testing"

func TestUUID(t *testing.T) {
	for _, tt := range []struct {
		fill byte
		want string
	}{
		{0x00, "00000000-0000-4000-8000-000000000000"},
		{0xff, "ffffffff-ffff-4fff-bfff-ffffffffffff"},
		{0x5a, "5a5a5a5a-5a5a-4a5a-9a5a-5a5a5a5a5a5a"},
	} {
		var random [16]byte
		for i := range random {
			random[i] = tt.fill
		}
		if got := UUID(random); got != tt.want {
			t.Errorf("UUID of %#x: got %s, want %s", tt.fill, got, tt.want)
		}
		if n := testing.AllocsPerRun(100, func() { UUID(random) }); n > 1 {
			t.Errorf("UUID: got %v allocs, want at most 1", n)
		}
	}
	in := [16]byte{0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15}
	if got, want := UUID(in), "00010203-0405-4607-8809-0a0b0c0d0e0f"; got != want {
		t.Errorf("UUID(%x): got %s, want %s", in, got, want)
	}
}
