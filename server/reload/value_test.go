package reload

import (
	"io"
	"os"
	"path/filepath"
	"testing"
	"time"
)

func TestValue(t *testing.T) {
	file := filepath.Join(t.TempDir(), "f")
	write := func(text string, at time.Time) {
		t.Helper()
		if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		if err := os.Chtimes(file, at, at); err != nil {
			t.Fatal(err)
		}
	}
	now := time.Now()
	write("a", now)
	r, err := NewValue([]string{file}, func() (*string, error) {
		b, err := os.ReadFile(file)
		if err == nil && string(b) == "bad" {
			err = io.ErrUnexpectedEOF
		}
		text := string(b)
		return &text, err
	})
	if err != nil {
		t.Fatal(err)
	}
	for i, tt := range []struct {
		text string
		want string
	}{{"a", "a"}, {"b", "b"}, {"bad", "b"}, {"c", "c"}} {
		write(tt.text, now.Add(time.Duration(i+1)*time.Second))
		if got := *r.Get(); i > 0 && got == tt.want && tt.text == tt.want {
			t.Errorf("step %d: read again within a second", i)
		}
		r.checked.Store(0)
		if got := *r.Get(); got != tt.want {
			t.Errorf("step %d, file says %s: got %s, want %s", i, tt.text, got, tt.want)
		}
	}
}
