package registry

import (
	"testing"
	"time"
)

func TestHumanDuration(t *testing.T) {
	const day = 24 * time.Hour
	for _, tt := range []struct {
		d    time.Duration
		want string
	}{
		{-3 * time.Second, "<invalid>"},
		{-1 * time.Second, "0s"},
		{0, "0s"},
		{119 * time.Second, "119s"},
		{120 * time.Second, "2m"},
		{125 * time.Second, "2m5s"},
		{9*time.Minute + 59*time.Second, "9m59s"},
		{10*time.Minute + 5*time.Second, "10m"},
		{179 * time.Minute, "179m"},
		{3 * time.Hour, "3h"},
		{3*time.Hour + 4*time.Minute, "3h4m"},
		{8*time.Hour + 4*time.Minute, "8h"},
		{47 * time.Hour, "47h"},
		{48 * time.Hour, "2d"},
		{51 * time.Hour, "2d3h"},
		{8*day + 3*time.Hour, "8d"},
		{729 * day, "729d"},
		{730 * day, "2y"},
		{735 * day, "2y5d"},
		{3000 * day, "8y"},
	} {
		if got := HumanDuration(tt.d); got != tt.want {
			t.Errorf("HumanDuration(%v): got %q, want %q", tt.d, got, tt.want)
		}
	}
	if got := Since(time.Time{}, time.Now()); got != "<unknown>" {
		t.Errorf("Since(zero): got %q, want <unknown>", got)
	}
}

func TestLabels(t *testing.T) {
	for _, tt := range []struct {
		labels map[string]string
		want   string
	}{
		{nil, "<none>"},
		{map[string]string{"b": "1", "a": ""}, "a=,b=1"},
		{map[string]string{"a": "b", "a.a": "c"}, "a.a=c,a=b"}, // sorted by the text of the whole pair
	} {
		if got := Labels(tt.labels); got != tt.want {
			t.Errorf("Labels(%v): got %q, want %q", tt.labels, got, tt.want)
		}
	}
}
