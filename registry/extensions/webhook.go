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

// Conversion of instances by the webhook of their definition. kindOf (kind.go) makes a converter,
// and the kind calls convert whenever objects are needed in a version that they are not stored or
// sent in. The webhook's answer is read in webhookanswer.go. The connection to the webhook belongs
// to server/definitions, which passes it as a Webhook.

// Webhook is the conversion webhook of one definition. Both functions must be safe for concurrent
// use.
type Webhook struct {
	// Ask sends a ConversionReview to the webhook and returns its answer. The text of the error is
	// part of the answers to clients.
	Ask func(ctx context.Context, review []byte) (answer []byte, err error)
	// Observe, if set, is called after each conversion by the webhook, failed or not, except if the
	// request ended before.
	Observe func(WebhookConversion)
}

// WebhookConversion describes the conversion of a list of objects by one call of a webhook. It is
// for metrics.
type WebhookConversion struct {
	From, To string // versions; From is that of the first object
	Failure  string // the failure_type of kube-apiserver's metrics; "" for success
	Took     time.Duration
}

// The values of WebhookConversion.Failure. They are labels of kube-apiserver's metrics.
const (
	callFailure      = "conversion_webhook_call_failure"
	malformedFailure = "conversion_webhook_malformed_response_failure"
	partialFailure   = "conversion_webhook_partial_response_failure"
	objectFailure    = "conversion_webhook_invalid_converted_object_failure"
)

// errNoConverter is the error of a conversion if nothing can call the webhook.
var errNoConverter = errors.New("the server has no client for conversion webhooks")

// converter converts the instances of a definition by its webhook. The webhook is a program that
// the server does not trust: the converter takes labels, annotations and content from its answer,
// and fails if the answer changes an object's identity or is no object. The texts of errors are
// kube-apiserver's. Each error has a Status, as in kube-apiserver: an internal error without a
// reason.
type converter struct {
	group  string
	review string // the version of ConversionReview to send; "": the webhook knows none that the server knows
	*Webhook
}

// noWebhook is the Webhook of a definition whose webhook nothing can call.
var noWebhook = &Webhook{Ask: func(context.Context, []byte) ([]byte, error) { return nil, errNoConverter }}

// newConverter returns the converter of def. hook may be nil: every conversion then fails. The
// version of ConversionReview is the first in the webhook's list that the server knows.
func newConverter(def *v1.CustomResourceDefinition, hook *Webhook) *converter {
	c := &converter{group: def.Spec.Group, Webhook: cmp.Or(hook, noWebhook)}
	if w := def.Spec.Conversion.Webhook; w != nil {
		if i := slices.IndexFunc(w.ConversionReviewVersions, check.KnownReview); i >= 0 {
			c.review = w.ConversionReviewVersions[i]
		}
	}
	return c
}

// conversionError gives err a Status.
func conversionError(err error) error { return &meta.StatusError{Status: *meta.StatusOf(err)} }

// convert returns objs converted to version, which none of them is in, in the same order. The
// caller must not use objs afterwards: the result may share memory with them. An object that has
// only a kind is not sent to the webhook.
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
		u.APIVersion = to.String() // there is nothing to convert but the version
	}
	if len(asked) == 0 {
		return out, nil
	}
	if c.review == "" {
		return nil, conversionError(errors.New("no supported conversion review versions"))
	}
	begun := time.Now()
	made, failure, err := c.call(ctx, objs, asked, to)
	if ctx.Err() != nil {
		return nil, ctx.Err()
	}
	if c.Observe != nil {
		c.Observe(WebhookConversion{From: objs[asked[0]].GroupVersionKind().Version, To: version, Failure: failure,
			Took: time.Since(begun)})
	}
	if err != nil {
		return nil, conversionError(err)
	}
	for n, i := range asked {
		out[i] = made[n]
	}
	return out, nil
}

// call converts the objects at the given indexes with one call of the webhook. made is in the
// order of indexes. failure is the kind of the error, for metrics.
func (c *converter) call(ctx context.Context, objs []*scheme.Unstructured, indexes []int,
	to meta.GroupVersion) (made []*scheme.Unstructured, failure string, err error) {
	from := objs[indexes[0]].GroupVersionKind()
	uid := registry.NewUID()
	question, err := c.question(objs, indexes, to, uid)
	if err != nil {
		return nil, callFailure, err
	}
	var answer conversionAnswer
	a, err := c.Ask(ctx, question)
	failure = callFailure
	if err == nil {
		answer, err = readAnswer(a, len(indexes))
	}
	if err == nil {
		failure, err = malformedFailure, answer.check(c.review, uid)
	}
	if err != nil {
		return nil, failure, fmt.Errorf("conversion webhook for %v failed: %v", from, err)
	}
	if answer.count != len(indexes) {
		return nil, partialFailure, fmt.Errorf("conversion webhook for %v returned %d objects, expected %d",
			from, answer.count, len(indexes))
	}
	made = make([]*scheme.Unstructured, len(indexes))
	for n, i := range indexes {
		if made[n], err = adopt(objs[i], answer.objects[n], to); err != nil {
			return nil, objectFailure, err
		}
	}
	return made, "", nil
}

// isEmpty reports whether an object has a kind and nothing else.
func isEmpty(u *scheme.Unstructured) bool {
	return len(u.Content) == 0 && u.Name == "" && scheme.Equal(&u.ObjectMeta, &meta.ObjectMeta{})
}

// question returns the ConversionReview for the objects at the given indexes. The objects are sent
// without resourceVersion, as they are stored. They are unchanged afterwards.
func (c *converter) question(objs []*scheme.Unstructured, indexes []int,
	to meta.GroupVersion, uid meta.UID) ([]byte, error) {
	request := &v1.ConversionRequest{UID: uid, DesiredAPIVersion: to.String()}
	for _, i := range indexes {
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
