package meta

import (
	"encoding/json"
	"fmt"
	"slices"
	"time"

	"github.com/coracle-project/coracle/scheme/jsontext"
)

// Time, MicroTime and Duration with their JSON and protobuf forms. They truncate when they are
// made, so that a stored value equals the value in memory.

// Time is a moment in whole seconds, in UTC. Its JSON is RFC 3339, or null if it is zero.
type Time struct {
	time.Time // copied with the struct
}

// MicroTime is a moment in microseconds, in UTC. Its JSON is RFC 3339 with exactly six decimals, or
// null if it is zero.
type MicroTime struct {
	time.Time // copied with the struct
}

// rfc3339Micro is the layout of a MicroTime.
const rfc3339Micro = "2006-01-02T15:04:05.000000Z07:00"

// Now returns the current time as a Time.
func Now() Time { return NewTime(time.Now()) }

// NewTime returns t as a Time, without fractions of a second, time zone and monotonic clock.
func NewTime(t time.Time) Time { return Time{t.UTC().Truncate(time.Second)} }

// NewMicroTime returns t as a MicroTime, without fractions of a microsecond, time zone and
// monotonic clock.
func NewMicroTime(t time.Time) MicroTime { return MicroTime{t.UTC().Truncate(time.Microsecond)} }

// IsZero reports whether t is nil or the zero time.
func (t *Time) IsZero() bool { return t == nil || t.Time.IsZero() }

// IsZero reports whether t is nil or the zero time.
func (t *MicroTime) IsZero() bool { return t == nil || t.Time.IsZero() }

// Equal reports whether t and o are the same moment, or both zero or nil.
func (t *Time) Equal(o *Time) bool {
	if t == nil || o == nil {
		return t.IsZero() && o.IsZero()
	}
	return t.Time.Equal(o.Time)
}

// Before reports whether t is earlier than o. A nil time is earlier than any other.
func (t *Time) Before(o *Time) bool {
	if t == nil || o == nil {
		return t == nil && o != nil
	}
	return t.Time.Before(o.Time)
}

// MarshalJSON returns RFC 3339 in UTC, or null.
func (t Time) MarshalJSON() ([]byte, error) { return t.AppendJSON(nil), nil }

// AppendJSON appends the JSON of t to dst.
func (t Time) AppendJSON(dst []byte) []byte {
	if t.Time.IsZero() {
		return append(dst, "null"...)
	}
	dst = append(slices.Grow(dst, len(time.RFC3339)+2), '"')
	return append(t.UTC().AppendFormat(dst, time.RFC3339), '"')
}

// MarshalJSON returns RFC 3339 in UTC with six decimals, or null.
func (t MicroTime) MarshalJSON() ([]byte, error) { return t.AppendJSON(nil), nil }

// AppendJSON appends the JSON of t to dst.
func (t MicroTime) AppendJSON(dst []byte) []byte {
	if t.Time.IsZero() {
		return append(dst, "null"...)
	}
	// Package time formats RFC 3339 three times as fast as a layout with decimals.
	dst = append(slices.Grow(dst, len(rfc3339Micro)+2), '"')
	dst = t.UTC().AppendFormat(dst, time.RFC3339)
	dst[len(dst)-1] = '.' // for the Z
	micros := t.Nanosecond() / 1000
	for unit := 100_000; unit > 0; unit /= 10 {
		dst = append(dst, byte('0'+micros/unit%10))
	}
	return append(dst, `Z"`...)
}

// UnmarshalJSON parses RFC 3339 with any time zone. null is the zero time.
func (t *Time) UnmarshalJSON(data []byte) error {
	p, err := unmarshalTime(data, time.RFC3339)
	if err == nil {
		*t = NewTime(p)
	}
	return err
}

// UnmarshalJSON parses RFC 3339 with six decimals and any time zone. null is the zero time.
func (t *MicroTime) UnmarshalJSON(data []byte) error {
	p, err := unmarshalTime(data, rfc3339Micro)
	if err == nil {
		*t = NewMicroTime(p)
	}
	return err
}

// unmarshalTime parses a time in a layout.
func unmarshalTime(data []byte, layout string) (time.Time, error) {
	if string(data) == "null" {
		return time.Time{}, nil
	}
	s, err := unquote(data)
	if err != nil {
		return time.Time{}, err
	}
	t, err := time.Parse(layout, s)
	if err != nil {
		return time.Time{}, err
	}
	return inRange(t)
}

// inRange refuses times whose year in UTC does not have four digits: their JSON could not be parsed
// again.
func inRange(t time.Time) (time.Time, error) {
	if year := t.UTC().Year(); year < 0 || year > 9999 {
		return time.Time{}, fmt.Errorf("time is in year %d, outside of range [0,9999]", year)
	}
	return t, nil
}

// unquote parses a JSON string. The result may refer to data.
func unquote(data []byte) (string, error) {
	if s, ok := jsontext.RawOf(data).Str(); ok {
		return s, nil
	}
	var s string
	err := json.Unmarshal(data, &s)
	return s, err
}

// AppendProto appends the message of t: seconds since 1970 and nanoseconds, which are 0. The zero
// time is an empty message.
func (t Time) AppendProto(b []byte) []byte {
	if t.Time.IsZero() {
		return b
	}
	return appendVarint(appendVarint(b, 1, t.Unix()), 2, 0)
}

// AppendProto appends the message of t: seconds since 1970 and nanoseconds, in whole microseconds.
// The zero time is an empty message.
func (t MicroTime) AppendProto(b []byte) []byte {
	if t.Time.IsZero() {
		return b
	}
	return appendVarint(appendVarint(b, 1, t.Unix()), 2, int64(t.Nanosecond()/1000*1000))
}

// ParseProto parses the message of a Time.
func (t *Time) ParseProto(data []byte) error {
	p, err := parseTimeProto(data)
	if err == nil {
		*t = NewTime(p)
	}
	return err
}

// ParseProto parses the message of a MicroTime.
func (t *MicroTime) ParseProto(data []byte) error {
	p, err := parseTimeProto(data)
	if err == nil {
		*t = NewMicroTime(p)
	}
	return err
}

// parseTimeProto parses a message of seconds and nanoseconds.
func parseTimeProto(data []byte) (time.Time, error) {
	if len(data) == 0 {
		return time.Time{}, nil
	}
	var seconds, nanos int64
	err := eachField(data, func(f wireField) (err error) {
		switch f.number {
		case 1:
			seconds, err = f.int()
		case 2:
			nanos, err = f.int()
			nanos = int64(int32(nanos))
		}
		return err
	})
	if err != nil {
		return time.Time{}, err
	}
	return inRange(time.Unix(seconds, nanos))
}

// Duration is a length of time. Its JSON is a string in Go's form, such as "1h30m0s".
type Duration struct{ time.Duration }

// MarshalJSON returns a JSON string.
func (d Duration) MarshalJSON() ([]byte, error) { return json.Marshal(d.Duration.String()) }

// UnmarshalJSON parses a string in the form of time.ParseDuration.
func (d *Duration) UnmarshalJSON(data []byte) error {
	s, err := unquote(data)
	if err != nil {
		return err
	}
	p, err := time.ParseDuration(s)
	if err == nil {
		d.Duration = p
	}
	return err
}

// AppendProto appends the message of d, which is a number of nanoseconds.
func (d Duration) AppendProto(b []byte) []byte { return appendVarint(b, 1, int64(d.Duration)) }

// ParseProto parses the message of a Duration.
func (d *Duration) ParseProto(data []byte) error {
	d.Duration = 0
	return eachField(data, func(f wireField) error {
		if f.number != 1 {
			return nil
		}
		n, err := f.int()
		d.Duration = time.Duration(n)
		return err
	})
}
