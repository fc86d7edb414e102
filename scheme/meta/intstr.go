package meta

import (
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
	"strings"
)

// IntOrStringType says which of the two values an IntOrString has.
type IntOrStringType int64

// The types of an IntOrString.
const (
	IntType    IntOrStringType = 0
	StringType IntOrStringType = 1
)

// IntOrString is a number or a string, such as a port or its name, a count or a percentage.
type IntOrString struct {
	Type   IntOrStringType
	IntVal int32
	StrVal string
}

// FromInt32 returns an IntOrString that is a number.
func FromInt32(v int32) IntOrString { return IntOrString{Type: IntType, IntVal: v} }

// FromString returns an IntOrString that is a string.
func FromString(s string) IntOrString { return IntOrString{Type: StringType, StrVal: s} }

// String returns the string, or the number in decimal.
func (v IntOrString) String() string {
	if v.Type == StringType {
		return v.StrVal
	}
	return strconv.Itoa(int(v.IntVal))
}

// EqualTo implements equality for typeinfo: it compares the value that Type selects, and ignores
// the other one.
func (v *IntOrString) EqualTo(other any) bool {
	o := other.(*IntOrString)
	if v.Type == StringType {
		return o.Type == StringType && v.StrVal == o.StrVal
	}
	return o.Type != StringType && v.IntVal == o.IntVal
}

// IntValue returns the number. A string is parsed as a number, and is 0 if it is none.
func (v IntOrString) IntValue() int {
	if v.Type == StringType {
		i, _ := strconv.Atoi(v.StrVal)
		return i
	}
	return int(v.IntVal)
}

// ScaledValue returns the number or, for a string such as "25%", that percentage of total, rounded
// up or down.
func (v IntOrString) ScaledValue(total int, roundUp bool) (int, error) {
	if v.Type == IntType {
		return int(v.IntVal), nil
	}
	if v.Type != StringType {
		return 0, errors.New("invalid value for IntOrString: invalid type: neither int nor percentage")
	}
	digits, ok := strings.CutSuffix(v.StrVal, "%")
	if !ok {
		return 0, errors.New("invalid value for IntOrString: invalid type: string is not a percentage")
	}
	percent, err := strconv.Atoi(digits)
	if err != nil {
		return 0, fmt.Errorf("invalid value for IntOrString: invalid value %q: %w", v.StrVal, err)
	}
	product := percent * total
	floor := product / 100
	if product%100 != 0 && product < 0 {
		floor--
	}
	if roundUp && product%100 != 0 {
		floor++
	}
	return floor, nil
}

// MarshalJSON returns a JSON number or string.
func (v IntOrString) MarshalJSON() ([]byte, error) {
	switch v.Type {
	case IntType:
		return strconv.AppendInt(nil, int64(v.IntVal), 10), nil
	case StringType:
		return json.Marshal(v.StrVal)
	}
	return nil, errors.New("impossible IntOrString.Type")
}

// UnmarshalJSON parses a number or a string. null sets v to the number 0.
func (v *IntOrString) UnmarshalJSON(data []byte) error {
	if len(data) > 0 && data[0] == '"' {
		s, err := unquote(data)
		if err == nil {
			*v = FromString(strings.Clone(s))
		}
		return err
	}
	if i, err := strconv.ParseInt(string(data), 10, 32); err == nil {
		*v = FromInt32(int32(i))
		return nil
	}
	var i int32 // null, or an error
	err := json.Unmarshal(data, &i)
	if err == nil {
		*v = FromInt32(i)
	}
	return err
}

// AppendProto appends the message of v. All three fields are written always, as Kubernetes does.
func (v IntOrString) AppendProto(b []byte) []byte {
	b = appendVarint(b, 1, int64(v.Type))
	b = appendVarint(b, 2, int64(v.IntVal))
	return appendString(b, 3, v.StrVal)
}

// ParseProto parses the message of an IntOrString.
func (v *IntOrString) ParseProto(data []byte) error {
	*v = IntOrString{}
	return eachField(data, func(f wireField) error {
		var n int64
		var s []byte
		var err error
		switch f.number {
		case 1:
			n, err = f.int()
			v.Type = IntOrStringType(n)
		case 2:
			n, err = f.int()
			v.IntVal = int32(n)
		case 3:
			s, err = f.bytes()
			v.StrVal = string(s)
		}
		return err
	})
}
