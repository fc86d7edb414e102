package meta

import (
	"bytes"
	"encoding/json"
	"testing"
	"time"
)

func TestTimeJSON(t *testing.T) {
	var (
		noTime  = `parsing time "x" as "2006-01-02T15:04:05Z07:00": cannot parse "x" as "2006"`
		noMicro = `parsing time "x" as "2006-01-02T15:04:05.000000Z07:00": cannot parse "x" as "2006"`
		short   = `parsing time "2024-01-02T03:04:05Z" as "2006-01-02T15:04:05.000000Z07:00": cannot parse "Z" as ".000000"`
		noText  = `json: cannot unmarshal number into Go value of type string`
	)
	for _, tt := range []struct {
		in          string
		time, micro string // the JSON written, or the error
	}{
		{`null`, `null`, `null`},
		{`"0001-01-01T00:00:00Z"`, `null`, `parsing time "0001-01-01T00:00:00Z" as "2006-01-02T15:04:05.000000Z07:00": cannot parse "Z" as ".000000"`},
		{`"2024-01-02T03:04:05Z"`, `"2024-01-02T03:04:05Z"`, short},
		{`"2024-01-02T03:04:05.123456Z"`, `"2024-01-02T03:04:05Z"`, `"2024-01-02T03:04:05.123456Z"`},
		{`"2024-01-02T03:04:05.000000+01:00"`, `"2024-01-02T02:04:05Z"`, `"2024-01-02T02:04:05.000000Z"`},
		{`"x"`, noTime, noMicro},
		{`1`, noText, noText},
	} {
		var tm Time
		if got := roundTrip(tt.in, &tm, func() any { return tm }); got != tt.time {
			t.Errorf("Time %s: got %s, want %s", tt.in, got, tt.time)
		}
		var mt MicroTime
		if got := roundTrip(tt.in, &mt, func() any { return mt }); got != tt.micro {
			t.Errorf("MicroTime %s: got %s, want %s", tt.in, got, tt.micro)
		}
	}
}

// roundTrip parses in and encodes the result; it returns the JSON or the error.
func roundTrip(in string, into json.Unmarshaler, value func() any) string {
	if err := into.UnmarshalJSON([]byte(in)); err != nil {
		return err.Error()
	}
	out, err := json.Marshal(value())
	if err != nil {
		return err.Error()
	}
	return string(out)
}

func TestTimeProto(t *testing.T) {
	moment := time.Date(2024, 1, 2, 3, 4, 5, 123456789, time.FixedZone("x", 3600))
	for _, tt := range []struct {
		in          time.Time
		time, micro []byte
	}{
		{time.Time{}, nil, nil},
		{time.Unix(0, 0), []byte{8, 0, 16, 0}, []byte{8, 0, 16, 0}},
		{time.Unix(1, 1999), []byte{8, 1, 16, 0}, []byte{8, 1, 16, 0xe8, 7}},
		{moment, []byte{0x08, 0x95, 0xde, 0xcd, 0xac, 0x06, 0x10, 0}, []byte{0x08, 0x95, 0xde, 0xcd, 0xac, 0x06, 0x10, 0x80, 0x94, 0xef, 0x3a}},
	} {
		tm, mt := NewTime(tt.in), NewMicroTime(tt.in)
		var tmBack Time
		if got := tm.AppendProto(nil); !bytes.Equal(got, tt.time) {
			t.Errorf("Time %v: got % x, want % x", tt.in, got, tt.time)
		} else if err := tmBack.ParseProto(got); err != nil || tmBack != tm {
			t.Errorf("Time %v: read back %v, %v", tt.in, tmBack, err)
		}
		var mtBack MicroTime
		if got := mt.AppendProto(nil); !bytes.Equal(got, tt.micro) {
			t.Errorf("MicroTime %v: got % x, want % x", tt.in, got, tt.micro)
		} else if err := mtBack.ParseProto(got); err != nil || mtBack != mt {
			t.Errorf("MicroTime %v: read back %v, %v", tt.in, mtBack, err)
		}
	}
	var tm Time
	if err := tm.ParseProto([]byte{8}); err == nil {
		t.Errorf("cut message: got %v, want an error", tm)
	}
	if err := tm.ParseProto([]byte{10, 0}); err == nil {
		t.Errorf("wrong wire type: got %v, want an error", tm)
	}
}

func TestTimePointers(t *testing.T) {
	early, late := &Time{time.Unix(1, 0)}, &Time{time.Unix(2, 0)}
	if !(*Time)(nil).IsZero() || !(&Time{}).IsZero() || early.IsZero() {
		t.Error("IsZero is wrong")
	}
	if !early.Before(late) || late.Before(early) || !(*Time)(nil).Before(early) || early.Before(nil) {
		t.Error("Before is wrong")
	}
	if !(*Time)(nil).Equal(&Time{}) || early.Equal(nil) || !early.Equal(&Time{time.Unix(1, 0).UTC()}) {
		t.Error("Equal is wrong")
	}
}

func TestDurationJSON(t *testing.T) {
	for _, tt := range []struct{ in, want string }{
		{`"1.5h"`, `"1h30m0s"`},
		{`"-3s"`, `"-3s"`},
		{`"x"`, `time: invalid duration "x"`},
		{`1`, `json: cannot unmarshal number into Go value of type string`},
	} {
		var d Duration
		if got := roundTrip(tt.in, &d, func() any { return d }); got != tt.want {
			t.Errorf("%s: got %s, want %s", tt.in, got, tt.want)
		}
		var back Duration
		if err := back.ParseProto(d.AppendProto(nil)); err != nil || back != d {
			t.Errorf("%s through protobuf: got %v, %v", tt.in, back, err)
		}
	}
}

func FuzzTimeJSON(f *testing.F) {
	for _, s := range []string{`null`, `"2024-01-02T03:04:05Z"`, `"2024-01-02T03:04:05.123456+01:00"`, `"\u0032"`, `1`} {
		f.Add([]byte(s))
	}
	f.Add([]byte(`"9999-12-31T23:59:59-01:00"`))
	f.Add([]byte(`"0000-01-01T00:00:00.000000+01:00"`))
	f.Fuzz(func(t *testing.T, data []byte) {
		var tm, tmBack Time
		if tm.UnmarshalJSON(data) == nil {
			out, _ := tm.MarshalJSON()
			if err := tmBack.UnmarshalJSON(out); err != nil || tmBack != tm {
				t.Errorf("Time %q: got %v, wrote %s, read back %v, %v", data, tm, out, tmBack, err)
			}
		}
		var mt, mtBack MicroTime
		if mt.UnmarshalJSON(data) == nil {
			out, _ := mt.MarshalJSON()
			if err := mtBack.UnmarshalJSON(out); err != nil || mtBack != mt {
				t.Errorf("MicroTime %q: got %v, wrote %s, read back %v, %v", data, mt, out, mtBack, err)
			}
		}
	})
}

func FuzzParseProto(f *testing.F) {
	f.Add([]byte{8, 1, 16, 0})
	f.Add([]byte{10, 3, '1', 'K', 'i'})
	f.Fuzz(func(t *testing.T, data []byte) {
		var tm, tmBack Time
		if tm.ParseProto(data) == nil {
			if out, err := tm.MarshalJSON(); err != nil || tmBack.UnmarshalJSON(out) != nil || tmBack != tm {
				t.Errorf("Time %x: wrote %s, %v, read back %v", data, out, err, tmBack)
			}
		}
		// None of these may panic, whatever the bytes are.
		_ = new(MicroTime).ParseProto(data)
		_ = new(Duration).ParseProto(data)
		_ = new(Quantity).ParseProto(data)
		_ = new(IntOrString).ParseProto(data)
		_ = new(RawExtension).ParseProto(data)
	})
}
