package meta

import (
	"encoding/json"
	"math"
	"reflect"
	"strings"
	"testing"
)

const (
	badForm   = "quantities must match the regular expression '^([+-]?[0-9.]+)([eEinumkKMGTP]*[-+]?[0-9]*)$'"
	badSuffix = "unable to parse quantity's suffix"
	badNumber = "unable to parse numeric part of quantity"
)

func TestParseQuantity(t *testing.T) {
	for _, tt := range []struct {
		in     string
		want   string
		format Format
	}{
		{"0", "0", DecimalSI},
		{"-0", "0", DecimalSI},
		{"0.0", "0", DecimalSI},
		{"0Ki", "0", BinarySI},
		{"0e5", "0", DecimalExponent},
		{"-", "0", DecimalSI},
		{".", "0", DecimalSI},
		{"1", "1", DecimalSI},
		{"+5", "+5", DecimalSI},
		{"0001", "0001", DecimalSI},
		{"1.", "1.", DecimalSI},
		{"1000", "1k", DecimalSI},
		{"1000k", "1M", DecimalSI},
		{"1000m", "1", DecimalSI},
		{"1001m", "1001m", DecimalSI},
		{"0.5", "500m", DecimalSI},
		{".5", "500m", DecimalSI},
		{"1.500", "1.500", DecimalSI},
		{"+1.50", "1500m", DecimalSI},
		{"1000000n", "1m", DecimalSI},
		{"0.1n", "1n", DecimalSI},
		{"-0.1n", "-1n", DecimalSI},
		{"1.23456789123", "1234567892n", DecimalSI},
		{"12345678901234567.89", "12345678901234567890m", DecimalSI},
		{"99999999999999999999", "99999999999999999999", DecimalSI},
		{"100000000000000000000n", "100G", DecimalSI},
		{"1000E", "1000E", DecimalSI},
		{"1Ki", "1Ki", BinarySI},
		{"1024Mi", "1Gi", BinarySI},
		{"-1024Ki", "-1Mi", BinarySI},
		{"1023Ki", "1023Ki", BinarySI},
		{"0.5Ki", "512", BinarySI},
		{"1.5Gi", "1536Mi", BinarySI},
		{"0.1Ki", "102400m", BinarySI},
		{"8Ei", "9223372036854775807", BinarySI},
		{"1024Pi", "1Ei", BinarySI},
		{"0.0001Ki", "102400u", DecimalSI},
		{"1e3", "1e3", DecimalExponent},
		{"1E3", "1E3", DecimalExponent},
		{"1E2", "100", DecimalExponent},
		{"12e5", "1200e3", DecimalExponent},
		{"1.5e3", "1500", DecimalExponent},
		{"1e-10", "1e-9", DecimalExponent},
		{"1e100", "10e99", DecimalExponent},
		{"1e-99999999999", "1e-9", DecimalExponent},
	} {
		q, err := ParseQuantity(tt.in)
		if err != nil {
			t.Errorf("ParseQuantity(%q): got error %v", tt.in, err)
			continue
		}
		if got := q.String(); got != tt.want || q.Format() != tt.format {
			t.Errorf("ParseQuantity(%q): got %s in format %d, want %s in format %d", tt.in, got, q.Format(), tt.want, tt.format)
		}
	}
}

func TestParseQuantityErrors(t *testing.T) {
	for _, tt := range []struct{ in, want string }{
		{"", badForm},
		{"abc", badForm},
		{"1 ", badForm},
		{" 1", badForm},
		{"1..2", badForm},
		{"1.2.3", badForm},
		{"1x", badForm},
		{"1KI", badForm},
		{"1e3Ki", badForm},
		{"١", badForm},
		{string(make([]byte, 5000)), badForm},
		{"1ki", badSuffix},
		{"1K", badSuffix},
		{"1e", badSuffix},
		{"1ee", badSuffix},
		{"1MM", badSuffix},
		{"5-3", badSuffix},
		{"1e1000000000", badSuffix},
		{"Pi", badNumber},
	} {
		if _, err := ParseQuantity(tt.in); err == nil || err.Error() != tt.want {
			t.Errorf("ParseQuantity(%.20q): got %v, want %s", tt.in, err, tt.want)
		}
	}
}

func TestQuantityArithmetic(t *testing.T) {
	for _, tt := range []struct {
		a, b, sum, diff string
		cmp             int
	}{
		{"1", "1", "2", "0", 0},
		{"1", "500m", "1500m", "500m", 1},
		{"1Gi", "1Mi", "1025Mi", "1023Mi", 1},
		{"1Gi", "1", "1073741825", "1073741823", 1},
		{"0", "1Ki", "1Ki", "-1Ki", -1},
		{"-1", "1", "0", "-2", -1},
		{"1n", "1E", "1000000000000000000000000001n", "-999999999999999999999999999n", -1},
		{"9223372036854775807", "1", "9223372036854775808", "9223372036854775806", 1},
		{"-9223372036854775808", "1", "-9223372036854775807", "-9223372036854775809", -1},
		{"99999999999999999999", "99999999999999999999", "199999999999999999998", "0", 0},
		{"1e100", "1e100", "20e99", "0", 0},
	} {
		a, b := MustParse(tt.a), MustParse(tt.b)
		if got := a.Add(b).String(); got != tt.sum {
			t.Errorf("%s + %s: got %s, want %s", a, b, got, tt.sum)
		}
		if got := a.Sub(b).String(); got != tt.diff {
			t.Errorf("%s - %s: got %s, want %s", a, b, got, tt.diff)
		}
		if got := a.Cmp(b); got != tt.cmp || b.Cmp(a) != -tt.cmp || a.Equal(b) != (tt.cmp == 0) {
			t.Errorf("%s cmp %s: got %d, want %d and the opposite the other way", a, b, got, tt.cmp)
		}
		if got := a.Neg().Neg(); got.Cmp(a) != 0 {
			t.Errorf("-(-%s): got %s", a, got)
		}
		if a.String() != MustParse(tt.a).String() {
			t.Errorf("%s was changed to %s", tt.a, a)
		}
	}
}

func TestQuantityValues(t *testing.T) {
	for _, tt := range []struct {
		in           string
		value, milli int64
		exact        bool
		sign         int
		float        float64
	}{
		{"0", 0, 0, true, 0, 0},
		{"1", 1, 1000, true, 1, 1},
		{"1m", 1, 1, false, 1, 0.001},
		{"1n", 1, 1, false, 1, 1e-9},
		{"-1500m", -2, -1500, false, -1, -1.5},
		{"1Ki", 1024, 1024000, true, 1, 1024},
		{"9E", 9e18, math.MaxInt64, true, 1, 9e18},
		{"10E", math.MaxInt64, math.MaxInt64, false, 1, 1e19},
		{"-10E", math.MinInt64, math.MinInt64, false, -1, -1e19},
		{"99999999999999999999999m", math.MaxInt64, math.MaxInt64, false, 1, 1e20},
		{"1000000000000000000001m", 1000000000000000001, math.MaxInt64, false, 1, 1e18},
	} {
		q := MustParse(tt.in)
		if got := q.Value(); got != tt.value {
			t.Errorf("%s.Value: got %d, want %d", q, got, tt.value)
		}
		if got := q.MilliValue(); got != tt.milli {
			t.Errorf("%s.MilliValue: got %d, want %d", q, got, tt.milli)
		}
		if got, ok := q.AsInt64(); ok != tt.exact || (ok && got != tt.value) {
			t.Errorf("%s.AsInt64: got %d, %v, want exact %v", q, got, ok, tt.exact)
		}
		if q.Sign() != tt.sign || q.IsZero() != (tt.sign == 0) {
			t.Errorf("%s: got sign %d, zero %v, want %d", q, q.Sign(), q.IsZero(), tt.sign)
		}
		if got := q.AsApproximateFloat64(); math.Abs(got-tt.float) > math.Abs(tt.float)*1e-15 {
			t.Errorf("%s.AsApproximateFloat64: got %g, want %g", q, got, tt.float)
		}
	}
}

func TestQuantityEquality(t *testing.T) {
	for _, tt := range [][2]Quantity{
		{MustParse("1000m"), MustParse("1.0")},
		{MustParse("0"), {}},
		{NewQuantity(1024, BinarySI), MustParse("1Ki")},
		{NewMilliQuantity(1500, DecimalSI), MustParse("1.5")},
		{MustParse("1").Add(MustParse("1")), MustParse("2")},
		{MustParse("100000000000000000000"), MustParse("1e20").Add(MustParse("0"))},
	} {
		if tt[0].Cmp(tt[1]) != 0 {
			t.Errorf("%s is not the number %s", tt[0], tt[1])
		}
		if tt[0].Format() == tt[1].Format() && !reflect.DeepEqual(tt[0], tt[1]) {
			t.Errorf("%s: got %+v and %+v, want equal structs", tt[0], tt[0], tt[1])
		}
	}
}

func TestQuantityJSON(t *testing.T) {
	for _, tt := range []struct{ in, want string }{
		{`"1024Mi"`, `"1Gi"`},
		{`1.5`, `"1500m"`},
		{`1e3`, `"1e3"`},
		{`null`, `"0"`},
		{`" 1 "`, `"1"`},
	} {
		var q Quantity
		if err := json.Unmarshal([]byte(tt.in), &q); err != nil {
			t.Errorf("%s: got error %v", tt.in, err)
			continue
		}
		if got, err := json.Marshal(q); err != nil || string(got) != tt.want {
			t.Errorf("%s: got %s, %v, want %s", tt.in, got, err, tt.want)
		}
		var p Quantity
		if err := p.ParseProto(q.AppendProto(nil)); err != nil || !reflect.DeepEqual(p, q) {
			t.Errorf("%s through protobuf: got %+v, %v, want %+v", tt.in, p, err, q)
		}
	}
	for _, in := range []string{`""`, `{}`, `true`, `[]`, `"x"`} {
		var q Quantity
		if err := json.Unmarshal([]byte(in), &q); err == nil || err.Error() != badForm {
			t.Errorf("%s: got %v, want %s", in, err, badForm)
		}
	}
}

func TestQuantityAllocations(t *testing.T) {
	for _, s := range []string{"0", "1", "100m", "512Mi", "1e3"} {
		if got := testing.AllocsPerRun(100, func() { _, _ = ParseQuantity(s) }); got > 0 {
			t.Errorf("ParseQuantity(%q): got %v allocations, want 0", s, got)
		}
	}
	a, b := MustParse("1500m"), MustParse("2Gi")
	if got := testing.AllocsPerRun(100, func() { a.Cmp(b) }); got > 0 {
		t.Errorf("Cmp: got %v allocations, want 0", got)
	}
}

func FuzzParseQuantity(f *testing.F) {
	for _, s := range []string{"0", "1", "-1.5", "1024Mi", "0.1Ki", "12e5", "1n", "99999999999999999999", "+5", "1E", "1e-1",
		"100e1000", strings.Repeat("9", 1021) + ".5", strings.Repeat("9", 1020) + "e-1"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		q, err := ParseQuantity(s)
		if err != nil {
			return
		}
		again, err := ParseQuantity(q.String())
		if err != nil {
			t.Fatalf("ParseQuantity(%q) of %q: %v", q.String(), s, err)
		}
		if again.Cmp(q) != 0 || again.String() != q.String() {
			t.Fatalf("%q: got %s, read back %s", s, q, again)
		}
		if !q.Sub(q).IsZero() || q.Neg().Add(q).Sign() != 0 || q.Add(q).Sign() != q.Sign() {
			t.Fatalf("%q: arithmetic is wrong", s)
		}
		q.Value()
		q.MilliValue()
		q.AsApproximateFloat64()
	})
}

func BenchmarkParseQuantity(b *testing.B) {
	for _, s := range []string{"100m", "512Mi", "1000", "1.5Gi"} {
		b.Run("text="+s, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				if _, err := ParseQuantity(s); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

func BenchmarkQuantityAdd(b *testing.B) {
	x, y := MustParse("1500m"), MustParse("2")
	b.ReportAllocs()
	for b.Loop() {
		x.Add(y)
	}
}

func TestQuantityRoundUp(t *testing.T) {
	for _, tt := range []struct {
		in    string
		scale int32
		want  string
	}{
		{"1.500", -3, "1.500"}, // nothing to round: spelled as it was
		{"0", -3, "0"},
		{"100m", -3, "100m"},
		{"1000000n", -3, "1m"},
		{"0.0001", -3, "1m"},
		{"-1u", -3, "-1m"},
		{"1.0005", -3, "1001m"},
		{"1001m", 0, "2"},
		{"12k", 4, "20k"},
		{"12345678901234567890.0001", -3, "12345678901234567890001m"},
		{"1Ei", -3, "1Ei"},
	} {
		if got := MustParse(tt.in).RoundUp(tt.scale).String(); got != tt.want {
			t.Errorf("%s to 10^%d: got %s, want %s", tt.in, tt.scale, got, tt.want)
		}
	}
}
