package codec

import (
	"slices"
	"strconv"

	"github.com/coracle-project/coracle/scheme/jsontext"
	"github.com/coracle-project/coracle/scheme/meta"
)

// appendStatus is AppendJSON for a Status, written by hand. Anybody can provoke refusals as fast as
// the network allows, and the general encoder needs more stack than the goroutine of an HTTP/2
// request has: growing the stack would cost a quarter of the refusal. FuzzStatus compares the
// output with that of encoding/json.
func appendStatus(dst []byte, s *meta.Status) ([]byte, error) {
	if s.ListMeta != (meta.ListMeta{}) {
		return appendAny(dst, s)
	}
	o := objectWriter{dst: append(slices.Grow(dst, usualStatus+len(s.Message)), '{')}
	o.text("kind", s.Kind)
	o.text("apiVersion", s.APIVersion)
	o.name("metadata")
	o.dst = append(o.dst, '{', '}')
	o.text("status", s.Status)
	o.text("message", s.Message)
	o.text("reason", string(s.Reason))
	if s.Details != nil {
		o.name("details")
		o.details(s.Details)
	}
	o.number("code", s.Code)
	return append(o.dst, '}'), nil
}

// usualStatus is the size of a usual Status without its message, in bytes.
const usualStatus = 256

// objectWriter appends JSON members to dst. It leaves out members with empty values.
type objectWriter struct {
	dst []byte
}

// details appends a StatusDetails.
func (o *objectWriter) details(d *meta.StatusDetails) {
	o.dst = append(o.dst, '{')
	o.text("name", d.Name)
	o.text("group", d.Group)
	o.text("kind", d.Kind)
	o.text("uid", string(d.UID))
	if len(d.Causes) > 0 {
		o.name("causes")
		o.dst = append(o.dst, '[')
		for i := range d.Causes {
			if i > 0 {
				o.dst = append(o.dst, ',')
			}
			o.cause(&d.Causes[i])
		}
		o.dst = append(o.dst, ']')
	}
	o.number("retryAfterSeconds", d.RetryAfterSeconds)
	o.dst = append(o.dst, '}')
}

// cause appends a StatusCause.
func (o *objectWriter) cause(c *meta.StatusCause) {
	o.dst = append(o.dst, '{')
	o.text("reason", string(c.Type))
	o.text("message", c.Message)
	o.text("field", c.Field)
	o.dst = append(o.dst, '}')
}

// name appends the name of the next member, with a comma if a member precedes it.
func (o *objectWriter) name(name string) {
	if o.dst[len(o.dst)-1] != '{' {
		o.dst = append(o.dst, ',')
	}
	o.dst = append(o.dst, '"')
	o.dst = append(o.dst, name...)
	o.dst = append(o.dst, '"', ':')
}

// text appends a string member unless value is empty.
func (o *objectWriter) text(name, value string) {
	if value != "" {
		o.name(name)
		o.dst = jsontext.AppendString(o.dst, value, jsontext.HTML)
	}
}

// number appends a number member unless value is 0.
func (o *objectWriter) number(name string, value int32) {
	if value != 0 {
		o.name(name)
		o.dst = strconv.AppendInt(o.dst, int64(value), 10)
	}
}
