package extensions

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/coracle-project/coracle/registry"
	"github.com/coracle-project/coracle/registry/check"
	"github.com/coracle-project/coracle/scheme"
	v1 "github.com/coracle-project/coracle/scheme/api/apiextensionsv1"
	"github.com/coracle-project/coracle/scheme/codec"
	"github.com/coracle-project/coracle/scheme/meta"
)

// Ask posts a ConversionReview to the webhook of a definition and returns the answer. What its error says stands in the answers to
// clients.
type Ask func(ctx context.Context, review []byte) (answer []byte, err error)

// errNoConverter is the error of conversions by a webhook where there is nobody to call it.
var errNoConverter = errors.New("there is no converter")

// converter converts the objects of a definition by its webhook. A webhook is somebody else's program: of what it answers labels,
// annotations and content count, and an answer that changes whose object it is, or is none, fails the conversion. Errors are worded
// as kube-apiserver's, and have a Status as there: an internal error without a reason.
type converter struct {
	group  string
	review string // the version of ConversionReview; "": the webhook knows none that we know
	ask    Ask
}

func newConverter(def *v1.CustomResourceDefinition, ask Ask) *converter {
	c := &converter{group: def.Spec.Group, ask: ask}
	if ask == nil {
		c.ask = func(context.Context, []byte) ([]byte, error) { return nil, errNoConverter }
	}
	if w := def.Spec.Conversion.Webhook; w != nil {
		if i := slices.IndexFunc(w.ConversionReviewVersions, check.KnownReview); i >= 0 {
			c.review = w.ConversionReviewVersions[i]
		}
	}
	return c
}

// unconverted is the error of a conversion.
func unconverted(err error) error { return &meta.StatusError{Status: *meta.StatusOf(err)} }

// convert returns objects in a version, which none of them is in. They are the caller's no more.
func (c *converter) convert(ctx context.Context, objs []*scheme.Unstructured, version string) ([]*scheme.Unstructured, error) {
	to := meta.GroupVersion{Group: c.group, Version: version}
	out := slices.Clone(objs)
	var asked []int
	for i, u := range objs {
		if !isEmpty(u) {
			asked = append(asked, i)
			continue
		}
		u.APIVersion = to.String() // nothing is converted into nothing
	}
	if len(asked) == 0 {
		return out, nil
	}
	if c.review == "" {
		return nil, unconverted(errors.New("no supported conversion review versions"))
	}
	from := objs[asked[0]].GroupVersionKind()
	uid := registry.NewUID()
	question, err := c.question(objs, asked, to, uid)
	if err != nil {
		return nil, err
	}
	a, err := c.ask(ctx, question)
	if ctx.Err() != nil {
		return nil, ctx.Err()
	}
	var answer conversionAnswer
	if err == nil {
		answer, err = readAnswer(a, len(asked))
	}
	if err == nil {
		err = answer.check(c.review, uid)
	}
	if err != nil {
		return nil, unconverted(fmt.Errorf("conversion webhook for %v failed: %v", from, err))
	}
	if answer.count != len(asked) {
		return nil, unconverted(fmt.Errorf("conversion webhook for %v returned %d objects, expected %d", from, answer.count, len(asked)))
	}
	for n, i := range asked {
		if out[i], err = adopt(objs[i], answer.objects[n], to); err != nil {
			return nil, unconverted(err)
		}
	}
	return out, nil
}

// isEmpty reports whether an object is nothing but a kind.
func isEmpty(u *scheme.Unstructured) bool {
	return len(u.Content) == 0 && u.Name == "" && scheme.Equal(&u.ObjectMeta, &meta.ObjectMeta{})
}

// question makes the ConversionReview for the objects at some places. As in the store, they have no resourceVersion.
func (c *converter) question(objs []*scheme.Unstructured, places []int, to meta.GroupVersion, uid meta.UID) ([]byte, error) {
	request := &v1.ConversionRequest{UID: uid, DesiredAPIVersion: to.String()}
	for _, i := range places {
		u := objs[i]
		rv := u.ResourceVersion
		u.ResourceVersion = ""
		data, err := u.MarshalJSON()
		u.ResourceVersion = rv
		if err != nil {
			return nil, err
		}
		request.Objects = append(request.Objects, meta.RawExtension{Raw: data})
	}
	return codec.AppendJSON(nil, &v1.ConversionReview{
		TypeMeta: meta.TypeMeta{Kind: reviewKind, APIVersion: v1.GroupVersion.Group + "/" + c.review},
		Request:  request,
	})
}

const reviewKind = "ConversionReview"
