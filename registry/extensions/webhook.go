package extensions

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/coracle-project/coracle/registry"
	"github.com/coracle-project/coracle/registry/check"
	"github.com/coracle-project/coracle/scheme"
	v1 "github.com/coracle-project/coracle/scheme/api/apiextensionsv1"
	"github.com/coracle-project/coracle/scheme/codec"
	"github.com/coracle-project/coracle/scheme/meta"
)

// Webhook is that of a definition, which converts its objects.
type Webhook struct {
	// Ask posts a ConversionReview and returns the answer. What its error says stands in the
	// answers to clients.
	Ask func(ctx context.Context, review []byte) (answer []byte, err error)
	// Observe, if set, is told of each time that Ask has been called, but for those where nobody
	// waited for the answer to the end.
	Observe func(Conversion)
}

// Conversion is one conversion of any number of objects by a webhook.
type Conversion struct {
	From, To string // versions; of the objects in several, that of the first
	Failure  string // as kube-apiserver's metrics name it; "" for success
	Took     time.Duration
}

// What may fail about a conversion.
const (
	callFailure      = "conversion_webhook_call_failure"
	malformedFailure = "conversion_webhook_malformed_response_failure"
	partialFailure   = "conversion_webhook_partial_response_failure"
	objectFailure    = "conversion_webhook_invalid_converted_object_failure"
)

// errNoConverter is the error of conversions by a webhook where there is nobody to call it.
var errNoConverter = errors.New("there is no converter")

// converter converts the objects of a definition by its webhook. A webhook is somebody else's
// program: of what it answers labels, annotations and content count, and an answer that changes
// whose object it is, or is none, fails the conversion. Errors are worded as kube-apiserver's, and
// have a Status as there: an internal error without a reason.
type converter struct {
	group  string
	review string // the version of ConversionReview; "": the webhook knows none that we know
	*Webhook
}

// nobody is the webhook where there is none.
var nobody = &Webhook{Ask: func(context.Context, []byte) ([]byte, error) { return nil, errNoConverter }}

func newConverter(def *v1.CustomResourceDefinition, hook *Webhook) *converter {
	c := &converter{group: def.Spec.Group, Webhook: cmp.Or(hook, nobody)}
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
func (c *converter) convert(ctx context.Context, objs []*scheme.Unstructured,
	version string) ([]*scheme.Unstructured, error) {
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
	begun := time.Now()
	made, failure, err := c.call(ctx, objs, asked, to)
	if ctx.Err() != nil {
		return nil, ctx.Err()
	}
	if c.Observe != nil {
		c.Observe(Conversion{From: objs[asked[0]].GroupVersionKind().Version, To: version, Failure: failure,
			Took: time.Since(begun)})
	}
	if err != nil {
		return nil, unconverted(err)
	}
	for n, i := range asked {
		out[i] = made[n]
	}
	return out, nil
}

// call has the webhook convert the objects at some places. The error comes with what has failed.
func (c *converter) call(ctx context.Context, objs []*scheme.Unstructured, places []int,
	to meta.GroupVersion) (made []*scheme.Unstructured, failure string, err error) {
	from := objs[places[0]].GroupVersionKind()
	uid := registry.NewUID()
	question, err := c.question(objs, places, to, uid)
	if err != nil {
		return nil, callFailure, err
	}
	var answer conversionAnswer
	a, err := c.Ask(ctx, question)
	failure = callFailure
	if err == nil {
		answer, err = readAnswer(a, len(places))
	}
	if err == nil {
		failure, err = malformedFailure, answer.check(c.review, uid)
	}
	if err != nil {
		return nil, failure, fmt.Errorf("conversion webhook for %v failed: %v", from, err)
	}
	if answer.count != len(places) {
		return nil, partialFailure, fmt.Errorf("conversion webhook for %v returned %d objects, expected %d",
			from, answer.count, len(places))
	}
	made = make([]*scheme.Unstructured, len(places))
	for n, i := range places {
		if made[n], err = adopt(objs[i], answer.objects[n], to); err != nil {
			return nil, objectFailure, err
		}
	}
	return made, "", nil
}

// isEmpty reports whether an object is nothing but a kind.
func isEmpty(u *scheme.Unstructured) bool {
	return len(u.Content) == 0 && u.Name == "" && scheme.Equal(&u.ObjectMeta, &meta.ObjectMeta{})
}

// question makes the ConversionReview for the objects at some places. As in the store, they have no
// resourceVersion.
func (c *converter) question(objs []*scheme.Unstructured, places []int,
	to meta.GroupVersion, uid meta.UID) ([]byte, error) {
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
