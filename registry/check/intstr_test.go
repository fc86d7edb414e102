package check

import (
	"testing"

	"github.com/coracle-project/coracle/registry/check/checktest"
	"github.com/coracle-project/coracle/scheme/field"
	"github.com/coracle-project/coracle/scheme/meta"
)

func TestIntOrPercent(t *testing.T) {
	const percent = "a valid percent string must be a numeric string followed by an ending '%' (e.g. '1%',  or '93%', regex used for validation is '[0-9]+%')"
	p := field.NewPath("p")
	for _, tt := range []struct {
		value  meta.IntOrString
		amount int
		want   string
	}{
		{meta.FromInt32(0), 0, ""}, {meta.FromInt32(500), 500, ""}, {meta.FromString("0%"), 0, ""}, {meta.FromString("100%"), 100, ""},
		{meta.FromInt32(-1), -1, "p: Invalid value: -1: must be greater than or equal to 0"},
		{meta.FromString("101%"), 101, "p: Invalid value: \"101%\": must not be greater than 100%"},
		{meta.FromString("5"), 5, `p: Invalid value: "5": ` + percent},
		{meta.FromString("-5%"), 0, `p: Invalid value: "-5%": ` + percent},
		{meta.FromString("%"), 0, `p: Invalid value: "%": ` + percent},
		{meta.FromString("500"), 500, `p: Invalid value: "500": ` + percent},
	} {
		checktest.Want(t, append(IntOrPercent(p, tt.value), AtMost100Percent(p, tt.value)...), tt.want)
		if got := Amount(tt.value); got != tt.amount {
			t.Errorf("the amount of %s: got %d, want %d", tt.value, got, tt.amount)
		}
	}
}
