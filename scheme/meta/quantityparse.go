package meta

import (
	"math"
	"math/big"
	"strconv"
	"strings"
)

// Spellings of quantities: ParseQuantity, and the canonical spelling of a number (spell). Stored
// objects contain spellings, so these rules are part of the API.

// suffixes maps SI suffixes to their meaning. exponent is a power of 2 for BinarySI and of 10 for
// DecimalSI.
var suffixes = map[string]struct {
	exponent int32
	format   Format
}{
	"n": {-9, DecimalSI}, "u": {-6, DecimalSI}, "m": {-3, DecimalSI}, "": {0, DecimalSI}, "k": {3, DecimalSI},
	"M": {6, DecimalSI}, "G": {9, DecimalSI}, "T": {12, DecimalSI}, "P": {15, DecimalSI}, "E": {18, DecimalSI},
	"Ki": {10, BinarySI}, "Mi": {20, BinarySI}, "Gi": {30, BinarySI}, "Ti": {40, BinarySI}, "Pi": {50, BinarySI},
	"Ei": {60, BinarySI},
}

var (
	decimalSuffix = [...]string{"n", "u", "m", "", "k", "M", "G", "T", "P", "E"} // by exponent/3 + 3
	binarySuffix  = [...]string{"", "Ki", "Mi", "Gi", "Ti", "Pi", "Ei"}          // by power of 1024
)

// MustParse parses a constant. It panics if the constant is malformed.
func MustParse(s string) Quantity {
	q, err := ParseQuantity(s)
	if err != nil {
		panic("meta.MustParse(" + strconv.Quote(s) + "): " + err.Error())
	}
	return q
}

// ParseQuantity parses a quantity: a number with an optional sign and fraction, and a suffix, which
// is an SI suffix (m, k, Ki, ...) or an exponent (e3, E-6). Digits finer than 1n round away from
// zero. Binary quantities are capped at 2^63-1.
func ParseQuantity(s string) (Quantity, error) {
	p, err := splitQuantity(s)
	if err != nil {
		return Quantity{}, err
	}
	q := Quantity{format: p.format}
	// Kubernetes keeps a spelling that passes a quick test for the canonical form, even if it is
	// not canonical ("+5", "1.500"). Stored objects have such spellings, so this makes the same
	// test.
	plain := false
	switch {
	case p.format != BinarySI && p.decimal(&q):
		plain = q.scale%3 == 0 && p.whole[0] != '0' && !strings.HasSuffix(p.whole+p.fraction, "000")
	case p.format == BinarySI && p.binary(&q):
		plain = p.whole[0] != '0' && q.value>>p.exponent%8 != 0
	default:
		if err := p.wide(&q); err != nil {
			return Quantity{}, err
		}
	}
	q.strip()
	if q.scale > maxExponent {
		return Quantity{}, errQuantitySuffix
	}
	if plain {
		q.text = s
		return q, nil
	}
	q.spell(s)
	if len(q.text) > maxQuantityText { // a client must be able to send back what it was shown
		return Quantity{}, errQuantityForm
	}
	return q, nil
}

// quantityParts are the parts of a spelling.
type quantityParts struct {
	negative bool
	whole    string // digits before the point, without leading zeros; never empty
	fraction string // digits after the point
	blank    bool   // there are no digits at all
	exponent int32
	format   Format
}

// splitQuantity splits a spelling into its parts.
func splitQuantity(s string) (p quantityParts, err error) {
	if s == "" || len(s) > maxQuantityText {
		return p, errQuantityForm
	}
	rest := s
	if rest[0] == '-' || rest[0] == '+' {
		p.negative = rest[0] == '-'
		rest = rest[1:]
	}
	n := digits(rest)
	p.whole, rest = strings.TrimLeft(rest[:n], "0"), rest[n:]
	p.blank = n == 0
	if p.whole == "" {
		p.whole = "0"
	}
	if strings.HasPrefix(rest, ".") {
		n = digits(rest[1:])
		p.fraction, rest = rest[1:1+n], rest[1+n:]
		p.blank = p.blank && n == 0
	}
	// First the form of the suffix is checked, then its meaning, because the errors differ.
	end := 0
	for end < len(rest) && strings.IndexByte("eEinumkKMGTP", rest[end]) >= 0 {
		end++
	}
	if end < len(rest) && (rest[end] == '-' || rest[end] == '+') {
		end++
	}
	if end += digits(rest[end:]); end < len(rest) {
		return p, errQuantityForm
	}
	if known, ok := suffixes[rest]; ok {
		p.exponent, p.format = known.exponent, known.format
		return p, nil
	}
	if len(rest) > 1 && (rest[0] == 'e' || rest[0] == 'E') {
		e, err := strconv.ParseInt(rest[1:], 10, 64)
		if err != nil || e > maxExponent {
			return p, errQuantitySuffix
		}
		// Exponents below this are all the same: they round to nano.
		p.exponent, p.format = int32(max(e, -maxExponent)), DecimalExponent
		return p, nil
	}
	return p, errQuantitySuffix
}

// digits returns the number of decimal digits at the beginning of s.
func digits(s string) int {
	n := 0
	for n < len(s) && '0' <= s[n] && s[n] <= '9' {
		n++
	}
	return n
}

// small returns whole and fraction as one integer. They must have at most 18 digits.
func (p *quantityParts) small() int64 {
	var v int64
	for _, part := range [...]string{p.whole, p.fraction} {
		for i := range len(part) {
			v = v*10 + int64(part[i]-'0')
		}
	}
	if p.negative {
		return -v
	}
	return v
}

// decimal sets q if the number is decimal, fits into an int64, and needs no rounding.
func (p *quantityParts) decimal(q *Quantity) bool {
	scale := p.exponent - int32(len(p.fraction))
	if len(p.whole)+len(p.fraction) > 18 || scale < nano {
		return false
	}
	q.value, q.scale = p.small(), scale
	return true
}

// binary sets q if the number is binary, has no fraction, and fits into an int64 by a rough count
// of digits.
func (p *quantityParts) binary(q *Quantity) bool {
	if p.fraction != "" || len(p.whole)+int(p.exponent)*3/10 > 14 {
		return false
	}
	q.value = p.small() << p.exponent
	return true
}

// wide sets q to any other number, which it rounds and caps.
func (p *quantityParts) wide(q *Quantity) error {
	v, ok := new(big.Int).SetString(p.whole+p.fraction, 10)
	if !ok || p.blank {
		return errQuantityNumber
	}
	scale := -int32(len(p.fraction))
	if p.format == BinarySI {
		v.Lsh(v, uint(p.exponent))
	} else {
		scale += p.exponent
	}
	if scale < nano {
		v, scale = divUp(v, bigPow10(nano-scale)), nano
	}
	if p.format == BinarySI {
		one := bigPow10(-scale)
		limit := new(big.Int).Mul(big.NewInt(math.MaxInt64), one)
		if v.Cmp(limit) > 0 {
			v = limit
		}
		if v.Sign() > 0 && v.Cmp(one) < 0 {
			q.format = DecimalSI // binary suffixes cannot write it
		}
	}
	if p.negative {
		v.Neg(v)
	}
	q.wide, q.scale = v, scale
	return nil
}

// spell sets q.text to the canonical spelling. It reuses the string have if that is the canonical
// spelling.
func (q *Quantity) spell(have string) {
	if q.IsZero() {
		q.text = ""
		return
	}
	var room [40]byte
	text := room[:0]
	if q.format == BinarySI {
		text = q.appendBinary(text)
	}
	if len(text) == 0 {
		text = q.appendDecimal(text)
	}
	if string(text) != have {
		have = string(text)
	}
	q.text = have
}

// appendDecimal appends the mantissa with as many zeros as make the exponent a multiple of three.
func (q *Quantity) appendDecimal(b []byte) []byte {
	b = q.mantissaText(b)
	zeros := (q.scale%3 + 3) % 3
	if q.format != DecimalExponent && q.scale > 18 {
		zeros = q.scale - 18 // no suffix is greater than E
	}
	for range zeros {
		b = append(b, '0')
	}
	exponent := q.scale - zeros
	if q.format != DecimalExponent {
		return append(b, decimalSuffix[exponent/3+3]...)
	}
	if exponent != 0 {
		b = append(b, 'e')
		b = strconv.AppendInt(b, int64(exponent), 10)
	}
	return b
}

// appendBinary appends an integer of at least 1024 with the largest suffix that leaves an integer
// before it. It appends nothing if q is no such number.
func (q *Quantity) appendBinary(b []byte) []byte {
	if q.scale < 0 {
		return b
	}
	power := 0
	if v, ok := q.AsInt64(); ok {
		if -1024 < v && v < 1024 {
			return b
		}
		for v%1024 == 0 && power < len(binarySuffix)-1 {
			v /= 1024
			power++
		}
		b = strconv.AppendInt(b, v, 10)
	} else {
		v := new(big.Int).Mul(q.mantissa(), bigPow10(q.scale))
		power = min(int(v.TrailingZeroBits()/10), len(binarySuffix)-1)
		b = v.Quo(v, new(big.Int).Lsh(big.NewInt(1), uint(10*power))).Append(b, 10)
	}
	return append(b, binarySuffix[power]...)
}
