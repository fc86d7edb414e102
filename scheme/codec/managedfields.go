package codec

import (
	"cmp"

	"google.golang.org/protobuf/encoding/protowire"

	"github.com/coracle-project/coracle/scheme/jsontext"
)

// WithoutManagedFields returns an encoded object, JSON or protobuf of whatever kind, without metadata.managedFields. All
// else is kept as it is written; nothing is decoded. An object that has none is returned itself, which allocates nothing.
// The error is for data that is malformed.
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

// cutter cuts managedFields out of JSON, in one pass. A name may be there more than once, also that of metadata: which of
// them counts is not the cutter's business.
type cutter struct {
	peeker
	kept []byte // of Data[:done]; nil until something is cut
	done int
}

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

// metadata cuts each run of managedFields, with the comma behind it, or the one before it if nothing follows.
func (c *cutter) metadata() error {
	if err := c.Open(); err != nil {
		return err
	}
	before, run := 0, 0 // where the last member that stays ended, and where the run behind it began
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

func (c *cutter) cut(from, to int) {
	if c.kept == nil {
		c.kept = make([]byte, 0, len(c.Data)-(to-from))
	}
	c.kept = append(c.kept, c.Data[c.done:from]...)
	c.done = to
}

// inEnvelope is where in the envelope of an object its managedFields are: in the message, in metadata.
var inEnvelope = []protowire.Number{2, 1, 17}

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

// sizeAt returns how many bytes the field at a path takes in a message, tag and all; of one that is repeated, wherever it is.
// Only the messages on the way are looked into.
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

// appendWithout appends a message without the field at a path to dst.
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

// wireField is a field as it stands in a message.
type wireField struct {
	number protowire.Number // 0 if it is not length-delimited
	value  []byte           // what is behind tag and length
	all    []byte
}

// firstField returns the field that a message begins with.
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
