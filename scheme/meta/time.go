package meta

import (
	"encoding/json"
	"fmt"
	"slices"
	"time"

	"github.com/coracle-project/coracle/scheme/jsontext"
)

// Time is a moment in whole seconds, in UTC, as RFC 3339 has it; null if it is zero.
type Time struct {
	time.Time // copied with the struct
}

// MicroTime is a moment in microseconds, in UTC, as RFC 3339 has it with exactly six decimals; null if it is zero.
type MicroTime struct {
	time.Time // copied with the struct
}

const rfc3339Micro = "2006-01-02T15:04:05.000000Z07:00"

// Now returns the current time as a Time.
func Now() Time { return NewTime(time.Now()) }

// NewTime returns t without what a Time cannot hold: fractions of a second, the zone, the monotonic clock.
func NewTime(t time.Time) Time { return Time{t.UTC().Truncate(time.Second)} }

// NewMicroTime returns t without what a MicroTime cannot hold: fractions of a microsecond, the zone, the monotonic clock.
func NewMicroTime(t time.Time) MicroTime { return MicroTime{t.UTC().Truncate(time.Microsecond)} }

// IsZero reports whether t is unset; so is a nil pointer.
func (t *Time) IsZero() bool { return t == nil || t.Time.IsZero() }

// IsZero reports whether t is unset; so is a nil pointer.
func (t *MicroTime) IsZero() bool { return t == nil || t.Time.IsZero() }

// Equal reports whether both are the same moment, or both unset.
func (t *Time) Equal(o *Time) bool {
	if t == nil || o == nil {
		return t.IsZero() && o.IsZero()
	}
	return t.Time.Equal(o.Time)
}

// Before reports whether t is earlier than o. An unset time is earlier than any other.
func (t *Time) Before(o *Time) bool {
	if t == nil || o == nil {
		return t == nil && o != nil
	}
	return t.Time.Before(o.Time)
}

// MarshalJSON writes RFC 3339 in UTC, or null.
func (t Time) MarshalJSON() ([]byte, error) { return t.AppendJSON(nil), nil }

// AppendJSON appends what MarshalJSON writes.
func (t Time) AppendJSON(dst []byte) []byte { return appendTime(dst, t.Time, time.RFC3339) }

// MarshalJSON writes RFC 3339 in UTC with six decimals, or null.
func (t MicroTime) MarshalJSON() ([]byte, error) { return t.AppendJSON(nil), nil }

// AppendJSON appends what MarshalJSON writes.
func (t MicroTime) AppendJSON(dst []byte) []byte { return appendTime(dst, t.Time, rfc3339Micro) }

func appendTime(dst []byte, t time.Time, layout string) []byte {
	if t.IsZero() {
		return append(dst, "null"...)
	}
	dst = append(slices.Grow(dst, len(layout)+2), '"')
	return append(t.UTC().AppendFormat(dst, layout), '"')
}

// UnmarshalJSON reads RFC 3339 with any zone; null is zero.
func (t *Time) UnmarshalJSON(data []byte) error {
	p, err := unmarshalTime(data, time.RFC3339)
	if err == nil {
		*t = NewTime(p)
	}
	return err
}

// UnmarshalJSON reads RFC 3339 with six decimals and any zone; null is zero.
func (t *MicroTime) UnmarshalJSON(data []byte) error {
	p, err := unmarshalTime(data, rfc3339Micro)
	if err == nil {
		*t = NewMicroTime(p)
	}
	return err
}

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

// inRange refuses times that UTC puts into a year without four digits: written, they could not be read again.
func inRange(t time.Time) (time.Time, error) {
	if year := t.UTC().Year(); year < 0 || year > 9999 {
		return time.Time{}, fmt.Errorf("time is in year %d, outside of range [0,9999]", year)
	}
	return t, nil
}

// unquote reads a JSON string. The result may be a part of data.
func unquote(data []byte) (string, error) {
	if s, ok := jsontext.RawOf(data).Str(); ok {
		return s, nil
	}
	var s string
	err := json.Unmarshal(data, &s)
	return s, err
}

// AppendProto appends seconds and nanoseconds since 1970; the latter are always 0. The zero time is an empty message.
func (t Time) AppendProto(b []byte) []byte {
	if t.Time.IsZero() {
		return b
	}
	return appendVarint(appendVarint(b, 1, t.Unix()), 2, 0)
}

// AppendProto appends seconds and nanoseconds since 1970, the latter in whole microseconds. The zero time is an empty
// message.
func (t MicroTime) AppendProto(b []byte) []byte {
	if t.Time.IsZero() {
		return b
	}
	return appendVarint(appendVarint(b, 1, t.Unix()), 2, int64(t.Nanosecond()/1000*1000))
}

// ParseProto reads the message.
func (t *Time) ParseProto(data []byte) error {
	p, err := parseTimeProto(data)
	if err == nil {
		*t = NewTime(p)
	}
	return err
}

// ParseProto reads the message.
func (t *MicroTime) ParseProto(data []byte) error {
	p, err := parseTimeProto(data)
	if err == nil {
		*t = NewMicroTime(p)
	}
	return err
}

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

// Duration is a length of time. JSON has it as Go writes it, such as "1h30m0s".
type Duration struct{ time.Duration }

// MarshalJSON writes a string.
func (d Duration) MarshalJSON() ([]byte, error) { return json.Marshal(d.Duration.String()) }

// UnmarshalJSON reads a string that time.ParseDuration understands.
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

// AppendProto appends the nanoseconds.
func (d Duration) AppendProto(b []byte) []byte { return appendVarint(b, 1, int64(d.Duration)) }

// ParseProto reads the message.
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
