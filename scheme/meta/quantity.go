package meta

import (
	"bytes"
	"errors"
	"math"
	"math/big"
	"math/bits"
	"slices"
	"strconv"
	"strings"
)

// Quantities: representation, arithmetic and encoding. quantityparse.go has the spellings. Both
// follow k8s.io/apimachinery's resource.Quantity in every observable result, but hold each number
// as an exact decimal of its own.

// Format is the notation of a Quantity.
type Format uint8

// The formats. A quantity keeps the format in which it was written if that can express it. BinarySI
// cannot express fractions and small numbers, which become DecimalSI.
const (
	DecimalSI       Format = iota // 12, 500m, 3k
	BinarySI                      // 12Ki, 3Gi
	DecimalExponent               // 12e6
)

var (
	errQuantityForm = errors.New(
		"quantities must match the regular expression '^([+-]?[0-9.]+)([eEinumkKMGTP]*[-+]?[0-9]*)$'")
	errQuantityNumber = errors.New("unable to parse numeric part of quantity")
	errQuantitySuffix = errors.New("unable to parse quantity's suffix")
)

const (
	// nano is the exponent of the smallest power of ten that a quantity keeps. Finer digits round
	// away from zero, so that a request for something never becomes a request for nothing.
	nano = -9
	// maxExponent bounds the power of ten, and maxQuantityText the length in bytes, so that a
	// client cannot make comparing and adding expensive. Real quantities are far smaller.
	maxExponent     = 1000
	maxQuantityText = 1024
)

// Quantity is an exact decimal number: an amount of CPU, memory or anything countable. It may end
// in n, u or m (billionths to thousandths), k, M, G, T, P or E (powers of 1000), Ki, Mi, Gi, Ti, Pi
// or Ei (powers of 1024) or an exponent, as in "2", "500m", "1.5Gi" and "12e6".
type Quantity struct {
	// A Quantity is immutable: copying the struct copies the quantity, and methods return new ones.
	// The zero value is 0. Equal numbers in the same format are equal structs, also for
	// reflect.DeepEqual, except for spellings that Kubernetes keeps as they were written, such as
	// "+5".
	//
	// The number is mantissa * 10^scale. The mantissa has no factor 10, and is 0 only if scale is
	// 0. It is in value if it fits there; otherwise value is 0 and wide has it. The big.Int that
	// wide points to never changes.
	value  int64
	scale  int32
	format Format
	wide   *big.Int
	text   string // what String returns; empty for 0
}

// NewQuantity returns the number value in format f.
func NewQuantity(value int64, f Format) Quantity { return makeQuantity(value, 0, f) }

// NewMilliQuantity returns value/1000 in format f.
func NewMilliQuantity(value int64, f Format) Quantity { return makeQuantity(value, -3, f) }

// makeQuantity returns value * 10^scale in its canonical spelling. scale must be at least nano.
func makeQuantity(value int64, scale int32, f Format) Quantity {
	q := Quantity{value: value, scale: scale, format: f}
	q.strip()
	q.spell("")
	return q
}

// makeWide returns v * 10^scale in its canonical spelling, for a mantissa of any size. It owns v
// afterwards.
func makeWide(v *big.Int, scale int32, f Format) Quantity {
	if v.IsInt64() {
		return makeQuantity(v.Int64(), scale, f)
	}
	q := Quantity{wide: v, scale: scale, format: f}
	q.strip()
	q.spell("")
	return q
}

// strip moves factors of 10 from the mantissa to the scale, so that equal numbers are equal
// structs.
func (q *Quantity) strip() {
	if q.wide != nil {
		if !q.wide.IsInt64() {
			q.wide, q.scale = stripWide(q.wide, q.scale)
		}
		if !q.wide.IsInt64() {
			return
		}
		q.value, q.wide = q.wide.Int64(), nil
	}
	if q.value == 0 {
		q.scale = 0
		return
	}
	for q.value%10 == 0 {
		q.value /= 10
		q.scale++
	}
}

// stripWide is strip for a mantissa that is not 0 and may be of any size.
func stripWide(v *big.Int, scale int32) (*big.Int, int32) {
	text := v.String()
	digits := strings.TrimRight(text, "0")
	zeros := len(text) - len(digits)
	if zeros == 0 {
		return v, scale
	}
	v, _ = new(big.Int).SetString(digits, 10)
	return v, scale + int32(zeros)
}

// Format returns the notation of q.
func (q Quantity) Format() Format { return q.format }

// String returns the canonical spelling: no fraction, no loss of precision, and the largest suffix
// that allows both.
func (q Quantity) String() string {
	if q.text == "" {
		return "0"
	}
	return q.text
}

// IsZero reports whether q is 0.
func (q Quantity) IsZero() bool { return q.value == 0 && q.wide == nil }

// Sign returns -1, 0 or 1.
func (q Quantity) Sign() int {
	switch {
	case q.wide != nil:
		return q.wide.Sign()
	case q.value < 0:
		return -1
	case q.value > 0:
		return 1
	}
	return 0
}

// Cmp returns -1 if q is less than o, 0 if they are the same number, and 1 if q is greater. Formats
// do not matter.
func (q Quantity) Cmp(o Quantity) int {
	if a, b := q.Sign(), o.Sign(); a != b {
		if a < b {
			return -1
		}
		return 1
	}
	if x, y, _, ok := align(q, o); ok {
		switch {
		case x < y:
			return -1
		case x > y:
			return 1
		}
		return 0
	}
	x, y, _ := alignWide(q, o)
	return x.Cmp(y)
}

// Equal reports whether q and o are the same number.
func (q Quantity) Equal(o Quantity) bool { return q.Cmp(o) == 0 }

// EqualTo implements equality for typeinfo.Equal.
func (q *Quantity) EqualTo(other any) bool { return q.Equal(*other.(*Quantity)) }

// Add returns q+o in the format of q, or of o if q is 0.
func (q Quantity) Add(o Quantity) Quantity {
	f := q.format
	if q.IsZero() {
		f = o.format
	}
	if x, y, scale, ok := align(q, o); ok {
		if sum := x + y; (sum > x) == (y > 0) {
			return makeQuantity(sum, scale, f)
		}
	}
	x, y, scale := alignWide(q, o)
	return makeWide(new(big.Int).Add(x, y), scale, f)
}

// Sub returns q-o in the format of q, or of o if q is 0.
func (q Quantity) Sub(o Quantity) Quantity {
	f := q.format
	if q.IsZero() {
		f = o.format
	}
	d := q.Add(o.Neg())
	if d.format != f {
		d.format = f
		d.spell("")
	}
	return d
}

// Neg returns -q.
func (q Quantity) Neg() Quantity {
	if q.wide == nil && q.value != math.MinInt64 {
		return makeQuantity(-q.value, q.scale, q.format)
	}
	return makeWide(new(big.Int).Neg(q.mantissa()), q.scale, q.format)
}

// AsInt64 returns q as an integer. It reports false if q is not an integer or does not fit.
func (q Quantity) AsInt64() (int64, bool) {
	if q.wide != nil || q.scale < 0 {
		return 0, false
	}
	return mulPow10(q.value, q.scale)
}

// Value returns q rounded away from zero to an integer. A number that does not fit becomes the
// nearest int64.
func (q Quantity) Value() int64 { return q.scaled(0) }

// MilliValue returns 1000*q rounded away from zero to an integer. A number that does not fit
// becomes the nearest int64.
func (q Quantity) MilliValue() int64 { return q.scaled(-3) }

// scaled returns q / 10^scale rounded away from zero, or the nearest int64.
func (q Quantity) scaled(scale int32) int64 {
	shift := q.scale - scale
	if q.wide == nil && shift >= 0 {
		if v, ok := mulPow10(q.value, shift); ok {
			return v
		}
		return saturate(q.Sign())
	}
	if q.wide == nil && -shift < int32(len(pow10)) {
		p := pow10[-shift]
		v := q.value / p
		if q.value%p != 0 {
			v += int64(q.Sign())
		}
		return v
	}
	v := q.mantissa()
	if shift >= 0 {
		v = new(big.Int).Mul(v, bigPow10(shift))
	} else {
		v = divUp(v, bigPow10(-shift))
	}
	if !v.IsInt64() {
		return saturate(q.Sign())
	}
	return v.Int64()
}

// RoundUp returns q rounded away from zero to a multiple of 10^scale. scale must be at least -9.
func (q Quantity) RoundUp(scale int32) Quantity {
	if q.scale >= scale { // q is a multiple already: its mantissa has no factor 10
		return q
	}
	return makeWide(divUp(q.mantissa(), bigPow10(scale-q.scale)), scale, q.format)
}

// saturate returns the largest or smallest int64, by the sign.
func saturate(sign int) int64 {
	if sign < 0 {
		return math.MinInt64
	}
	return math.MaxInt64
}

// AsApproximateFloat64 returns the nearest float64, which is infinite if q is out of range.
func (q Quantity) AsApproximateFloat64() float64 {
	if q.wide == nil && q.scale == 0 {
		return float64(q.value)
	}
	text := append(q.mantissaText(nil), 'e')
	f, _ := strconv.ParseFloat(string(strconv.AppendInt(text, int64(q.scale), 10)), 64)
	return f
}

// MarshalJSON returns the spelling as a JSON string.
func (q Quantity) MarshalJSON() ([]byte, error) { return q.AppendJSON(nil), nil }

// AppendJSON appends the spelling as a JSON string to dst.
func (q Quantity) AppendJSON(dst []byte) []byte {
	s := q.String()
	dst = append(slices.Grow(dst, len(s)+2), '"')
	return append(append(dst, s...), '"') // letters, digits and signs need no escape
}

// UnmarshalJSON parses a string or a number. null is 0.
func (q *Quantity) UnmarshalJSON(data []byte) error {
	if string(data) == "null" {
		*q = Quantity{}
		return nil
	}
	if n := len(data); n >= 2 && data[0] == '"' && data[n-1] == '"' {
		data = data[1 : n-1]
	}
	p, err := ParseQuantity(string(bytes.TrimSpace(data)))
	if err != nil {
		return err
	}
	*q = p
	return nil
}

// AppendProto appends the message of q, whose only field is the spelling.
func (q Quantity) AppendProto(b []byte) []byte { return appendString(b, 1, q.String()) }

// ParseProto parses the message of a Quantity. An empty message is 0.
func (q *Quantity) ParseProto(data []byte) error {
	*q = Quantity{}
	return eachField(data, func(f wireField) error {
		if f.number != 1 {
			return nil
		}
		text, err := f.bytes()
		if err != nil {
			return err
		}
		*q, err = ParseQuantity(string(text))
		return err
	})
}

// pow10 holds the powers of ten that fit into an int64.
var pow10 = func() (p [19]int64) {
	p[0] = 1
	for i := 1; i < len(p); i++ {
		p[i] = p[i-1] * 10
	}
	return p
}()

// bigPow10 returns 10^n.
func bigPow10(n int32) *big.Int {
	return new(big.Int).Exp(big.NewInt(10), big.NewInt(int64(n)), nil)
}

// mulPow10 returns v * 10^n, and false if that does not fit. n must not be negative.
func mulPow10(v int64, n int32) (int64, bool) {
	if v == 0 || n == 0 {
		return v, true
	}
	if n >= int32(len(pow10)) {
		return 0, false
	}
	abs := uint64(v)
	if v < 0 {
		abs = -abs
	}
	high, low := bits.Mul64(abs, uint64(pow10[n]))
	if high != 0 || low > math.MaxInt64 {
		return 0, false
	}
	if v < 0 {
		return -int64(low), true
	}
	return int64(low), true
}

// divUp returns v/d rounded away from zero. d must be positive.
func divUp(v, d *big.Int) *big.Int {
	quo, rem := new(big.Int).QuoRem(v, d, new(big.Int))
	if sign := rem.Sign(); sign != 0 {
		quo.Add(quo, big.NewInt(int64(sign)))
	}
	return quo
}

// align returns the mantissas of a and b at the lower of their scales. It reports false if they do
// not fit.
func align(a, b Quantity) (x, y int64, scale int32, ok bool) {
	if a.wide != nil || b.wide != nil {
		return 0, 0, 0, false
	}
	scale = min(a.scale, b.scale)
	x, okA := mulPow10(a.value, a.scale-scale)
	y, okB := mulPow10(b.value, b.scale-scale)
	return x, y, scale, okA && okB
}

// alignWide is align for mantissas of any size.
func alignWide(a, b Quantity) (x, y *big.Int, scale int32) {
	scale = min(a.scale, b.scale)
	x, y = a.mantissa(), b.mantissa()
	if n := a.scale - scale; n > 0 {
		x = new(big.Int).Mul(x, bigPow10(n))
	}
	if n := b.scale - scale; n > 0 {
		y = new(big.Int).Mul(y, bigPow10(n))
	}
	return x, y, scale
}

// mantissa returns the mantissa, which must not be changed.
func (q Quantity) mantissa() *big.Int {
	if q.wide != nil {
		return q.wide
	}
	return big.NewInt(q.value)
}

// mantissaText appends the digits of the mantissa.
func (q Quantity) mantissaText(b []byte) []byte {
	if q.wide != nil {
		return q.wide.Append(b, 10)
	}
	return strconv.AppendInt(b, q.value, 10)
}
