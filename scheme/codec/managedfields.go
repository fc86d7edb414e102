package codec

import (
	"cmp"

	"google.golang.org/protobuf/encoding/protowire"

	"github.com/coracle-project/coracle/scheme/jsontext"
)

// WithoutManagedFields cuts metadata.managedFields out of an encoded object. The router calls it
// when a client asks for ";drop=metadata.managedFields" (router/encode.go). The JSON half is a
// cutter, the protobuf half the functions below it.

// WithoutManagedFields returns an encoded object, JSON or protobuf of any kind, without
// metadata.managedFields. All other bytes stay as they are; nothing is decoded. An object without
// managedFields is returned as data itself, without an allocation. The error is for malformed data.
func WithoutManagedFields(data []byte) ([]byte, error) {
	if IsProtobuf(data) {
		return protoWithoutManagedFields(data)
	}
	c := cutter{peeker: peeker{Scanner: jsontext.NewScanner(data, true, nil)}}
	if c.Next() != '{' || c.top() != nil || c.End() != nil {
		return nil, errNoObject
	}
	if c.kept == nil {
		return data, nil
	}
	return append(c.kept, data[c.done:]...), nil
}

// cutter cuts managedFields out of JSON in one pass. Both metadata and managedFields may occur more
// than once: the cutter removes every occurrence and need not know which one counts.
type cutter struct {
	peeker
	kept []byte // the bytes of Data[:done] that stay; nil until something is cut
	done int    // how much of Data has been copied to kept, or cut
}

// top reads the members of the object.
func (c *cutter) top() error {
	if err := c.Open(); err != nil {
		return err
	}
	for first := true; ; first = false {
		key, _, more, err := c.Member(first)
		if err != nil || !more {
			return err
		}
		if key == "metadata" && c.Next() == '{' {
			err = c.metadata()
		} else {
			err = c.Skip()
		}
		if err != nil {
			return err
		}
	}
}

// metadata cuts each run of consecutive managedFields members together with the comma after the
// run, or with the comma before it if the run ends the object.
func (c *cutter) metadata() error {
	if err := c.Open(); err != nil {
		return err
	}
	// before is the end of the last member that stays, run the beginning of the current run; 0 if
	// there is none.
	before, run := 0, 0
	for first := true; ; first = false {
		end := c.Pos
		key, at, more, err := c.Member(first)
		if err != nil {
			return err
		}
		if !more {
			if run > 0 {
				c.cut(cmp.Or(before, run), end)
			}
			return nil
		}
		stays := key != "managedFields"
		switch {
		case stays && run > 0:
			c.cut(run, at)
			run = 0
		case !stays && run == 0:
			run = at
		}
		if err := c.Skip(); err != nil {
			return err
		}
		if stays {
			before = c.Pos
		}
	}
}

// cut drops Data[from:to] and copies what precedes it to kept.
func (c *cutter) cut(from, to int) {
	if c.kept == nil {
		c.kept = make([]byte, 0, len(c.Data)-(to-from))
	}
	c.kept = append(c.kept, c.Data[c.done:from]...)
	c.done = to
}

// inEnvelope is the path of field numbers from the envelope to managedFields: raw, metadata,
// managedFields.
var inEnvelope = []protowire.Number{2, 1, 17}

// protoWithoutManagedFields is WithoutManagedFields for protobuf. It measures first, so that it
// allocates once, or not at all.
func protoWithoutManagedFields(data []byte) ([]byte, error) {
	body := data[len(protoPrefix):]
	size, err := sizeAt(inEnvelope, body)
	if err != nil {
		return nil, err
	}
	if size == 0 {
		return data, nil
	}
	return appendWithout(append(make([]byte, 0, len(data)-size), protoPrefix...), inEnvelope, body)
}

// sizeAt returns the total size, in bytes with tags, of all fields at a path of field numbers. Only
// the messages on the path are parsed.
func sizeAt(path []protowire.Number, message []byte) (size int, err error) {
	for len(message) > 0 {
		f, err := firstField(message)
		if err != nil {
			return 0, err
		}
		message = message[len(f.all):]
		if f.number != path[0] {
			continue
		}
		n := len(f.all)
		if len(path) > 1 {
			if n, err = sizeAt(path[1:], f.value); err != nil {
				return 0, err
			}
		}
		size += n
	}
	return size, nil
}

// appendWithout appends a message to dst without the fields at a path. The lengths of the messages
// on the path are written anew.
func appendWithout(dst []byte, path []protowire.Number, message []byte) ([]byte, error) {
	for len(message) > 0 {
		f, err := firstField(message)
		if err != nil {
			return nil, err
		}
		message = message[len(f.all):]
		switch {
		case f.number != path[0]:
			dst = append(dst, f.all...)
		case len(path) > 1:
			out, at := beginLength(protowire.AppendTag(dst, f.number, protowire.BytesType))
			if out, err = appendWithout(out, path[1:], f.value); err != nil {
				return nil, err
			}
			dst = endLength(out, at)
		}
	}
	return dst, nil
}

// wireField is a field of a message as it is encoded.
type wireField struct {
	number protowire.Number // 0 if the field is not length-delimited
	value  []byte           // the bytes after tag and length
	all    []byte           // the whole field with its tag
}

// firstField parses the field that message begins with.
func firstField(message []byte) (wireField, error) {
	number, typ, tag := protowire.ConsumeTag(message)
	if tag < 0 {
		return wireField{}, wireError(tag)
	}
	n := protowire.ConsumeFieldValue(number, typ, message[tag:])
	if n < 0 {
		return wireField{}, wireError(n)
	}
	f := wireField{all: message[:tag+n]}
	if typ == protowire.BytesType {
		f.number = number
		f.value, _ = protowire.ConsumeBytes(message[tag:])
	}
	return f, nil
}
