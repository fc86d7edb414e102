package audit

import (
	"slices"
	"strconv"
	"time"

	"github.com/coracle-project/coracle/router/request"
	"github.com/coracle-project/coracle/scheme/jsontext"
	"github.com/coracle-project/coracle/scheme/meta"
)

// This file encodes events as kube-apiserver does, byte for byte. Each function appends to dst and
// returns the result. The members of an object are appended with a comma behind each, and end
// replaces the last comma, because nearly all members may be absent.

// kinds of encoded events and lists, as the first members of their JSON.
const (
	eventKind = `"kind":"Event","apiVersion":"audit.k8s.io/v1",`
	listKind  = `"kind":"EventList","apiVersion":"audit.k8s.io/v1","metadata":{},`
)

// AppendJSON appends the event as JSON in one line, without a newline at the end. An event that is
// listed is an item of an EventList and has neither kind nor apiVersion.
func (e *Event) AppendJSON(dst []byte, listed bool) []byte {
	dst = append(dst, '{')
	if !listed {
		dst = append(dst, eventKind...)
	}
	dst = append(append(dst, `"level":"`...), e.Level.String()...)
	dst = appendValue(append(dst, `","auditID":`...), e.AuditID)
	dst = append(append(dst, `"stage":"`...), e.Stage.String()...)
	dst = appendValue(append(dst, `","requestURI":`...), e.RequestURI)
	dst = appendValue(append(dst, `"verb":`...), e.Verb)
	dst = appendUser(append(dst, `"user":`...), e.User)
	if e.Impersonated != nil {
		dst = appendUser(append(dst, `"impersonatedUser":`...), e.Impersonated)
	}
	if e.Constraint != "" {
		dst = appendValue(append(dst, `"authenticationMetadata":{"impersonationConstraint":`...), e.Constraint)
		dst = append(end(dst), ',')
	}
	if len(e.SourceIPs) > 0 {
		dst = appendStrings(append(dst, `"sourceIPs":`...), e.SourceIPs)
	}
	dst = appendMember(dst, `"userAgent":`, e.UserAgent)
	dst = appendReference(dst, e.Object)
	dst = appendStatus(dst, e.Status)
	dst = appendSent(dst, e.RequestObject)
	dst = appendObject(dst, `"responseObject":`, e.ResponseObject)
	dst = appendTime(append(dst, `"requestReceivedTimestamp":`...), e.Received)
	dst = appendTime(append(dst, `"stageTimestamp":`...), e.Time)
	return end(appendAnnotations(dst, e.Annotations))
}

// AppendList appends an EventList, which is what the webhook gets, without a newline at the end.
func AppendList(dst []byte, events []*Event) []byte {
	dst = append(append(append(dst, '{'), listKind...), `"items":[`...)
	for i, e := range events {
		if i > 0 {
			dst = append(dst, ',')
		}
		dst = e.AppendJSON(dst, true)
	}
	return append(dst, `]}`...)
}

// end ends an object whose members have a comma behind each.
func end(dst []byte) []byte {
	if last := len(dst) - 1; dst[last] == ',' {
		dst[last] = '}'
		return dst
	}
	return append(dst, '}')
}

// appendValue appends a string and a comma.
func appendValue(dst []byte, s string) []byte {
	return append(jsontext.AppendString(dst, s, jsontext.HTML), ',')
}

// appendMember appends a member whose value is a string; nothing for "". name has its quotes and
// colon.
func appendMember(dst []byte, name, value string) []byte {
	if value == "" {
		return dst
	}
	return appendValue(append(dst, name...), value)
}

// appendStrings appends an array of strings and a comma; null if there is no array.
func appendStrings(dst []byte, list []string) []byte {
	if list == nil {
		return append(dst, `null,`...)
	}
	dst = append(dst, '[')
	for i, s := range list {
		if i > 0 {
			dst = append(dst, ',')
		}
		dst = jsontext.AppendString(dst, s, jsontext.HTML)
	}
	return append(dst, `],`...)
}

// appendUser appends a user and a comma; an empty object for a request without a user.
func appendUser(dst []byte, u *request.User) []byte {
	if u == nil {
		return append(dst, `{},`...)
	}
	dst = append(dst, '{')
	dst = appendMember(dst, `"username":`, u.Name)
	dst = appendMember(dst, `"uid":`, u.UID)
	if len(u.Groups) > 0 {
		dst = appendStrings(append(dst, `"groups":`...), u.Groups)
	}
	if len(u.Extra) > 0 {
		dst = append(dst, `"extra":{`...)
		var space [inline]string
		for _, key := range sortedKeys(space[:0], u.Extra) {
			dst = append(jsontext.AppendString(dst, key, jsontext.HTML), ':')
			dst = appendStrings(dst, u.Extra[key])
		}
		dst = append(end(dst), ',')
	}
	return append(end(dst), ',')
}

// appendReference appends the member objectRef, if there is an object.
func appendReference(dst []byte, r *Reference) []byte {
	if r == nil {
		return dst
	}
	dst = append(dst, `"objectRef":{`...)
	dst = appendMember(dst, `"resource":`, r.Resource)
	dst = appendMember(dst, `"namespace":`, r.Namespace)
	dst = appendMember(dst, `"name":`, r.Name)
	dst = appendMember(dst, `"uid":`, r.UID)
	dst = appendMember(dst, `"apiGroup":`, r.APIGroup)
	dst = appendMember(dst, `"apiVersion":`, r.APIVersion)
	dst = appendMember(dst, `"resourceVersion":`, r.ResourceVersion)
	dst = appendMember(dst, `"subresource":`, r.Subresource)
	return append(end(dst), ',')
}

// appendStatus appends the member responseStatus, if there is a status.
func appendStatus(dst []byte, s *meta.Status) []byte {
	if s == nil {
		return dst
	}
	dst = append(dst, `"responseStatus":{"metadata":{},`...)
	dst = appendMember(dst, `"status":`, s.Status)
	dst = appendMember(dst, `"message":`, s.Message)
	dst = appendMember(dst, `"reason":`, string(s.Reason))
	if s.Details != nil {
		dst = appendDetails(dst, s.Details)
	}
	dst = appendNumber(dst, `"code":`, s.Code)
	return append(end(dst), ',')
}

// appendDetails appends the member details of a status.
func appendDetails(dst []byte, d *meta.StatusDetails) []byte {
	dst = append(dst, `"details":{`...)
	dst = appendMember(dst, `"name":`, d.Name)
	dst = appendMember(dst, `"group":`, d.Group)
	dst = appendMember(dst, `"kind":`, d.Kind)
	dst = appendMember(dst, `"uid":`, string(d.UID))
	if len(d.Causes) > 0 {
		dst = append(dst, `"causes":[`...)
		for i := range d.Causes {
			if i > 0 {
				dst = append(dst, ',')
			}
			dst = append(dst, '{')
			dst = appendMember(dst, `"reason":`, string(d.Causes[i].Type))
			dst = appendMember(dst, `"message":`, d.Causes[i].Message)
			dst = end(appendMember(dst, `"field":`, d.Causes[i].Field))
		}
		dst = append(dst, `],`...)
	}
	dst = appendNumber(dst, `"retryAfterSeconds":`, d.RetryAfterSeconds)
	return append(end(dst), ',')
}

// appendNumber appends a member whose value is a number; nothing for 0.
func appendNumber(dst []byte, name string, n int32) []byte {
	if n == 0 {
		return dst
	}
	return append(strconv.AppendInt(append(dst, name...), int64(n), 10), ',')
}

// appendSent appends the member requestObject. A patch is as the client sent it, and may be YAML or
// no more than a mistake. As it is, it could end the line and forge others, so a text that is not
// JSON becomes a string. kube-apiserver drops such an event.
func appendSent(dst, object []byte) []byte {
	if object == nil {
		return dst
	}
	s := jsontext.NewScanner(object, true, nil)
	if s.Next(); s.Skip() != nil || s.End() != nil {
		return appendValue(append(dst, `"requestObject":`...), string(object))
	}
	return appendObject(dst, `"requestObject":`, object)
}

// appendObject appends a member whose value is JSON already; nothing for nil. The value may have
// white space between its tokens, and characters in its strings that style HTML escapes.
func appendObject(dst []byte, name string, object []byte) []byte {
	if object == nil {
		return dst
	}
	dst = append(dst, name...)
	return append(jsontext.AppendRaw(dst, jsontext.RawOf(object), jsontext.HTML), ',')
}

// appendTime appends a time and a comma.
func appendTime(dst []byte, t time.Time) []byte {
	return append(meta.NewMicroTime(t).AppendJSON(dst), ',')
}

// appendAnnotations appends the member annotations, if there are any.
func appendAnnotations(dst []byte, annotations map[string]string) []byte {
	if len(annotations) == 0 {
		return dst
	}
	dst = append(dst, `"annotations":{`...)
	var space [inline]string
	for _, key := range sortedKeys(space[:0], annotations) {
		dst = append(jsontext.AppendString(dst, key, jsontext.HTML), ':')
		dst = appendValue(dst, annotations[key])
	}
	return append(end(dst), ',')
}

// inline is the number of keys of a map that are sorted without an allocation.
const inline = 16

// sortedKeys appends the keys of a map to keys, which is empty, and sorts them.
func sortedKeys[V any](keys []string, from map[string]V) []string {
	for key := range from {
		keys = append(keys, key)
	}
	slices.Sort(keys)
	return keys
}

// AppendLegacy appends the event in the format legacy of the log, which tells less than JSON does,
// without a newline at the end. Its time is in the time zone of Received.
func (e *Event) AppendLegacy(dst []byte) []byte {
	user, groups := "<none>", []byte("<none>")
	if e.User != nil && e.User.Name != "" {
		user = e.User.Name
		if len(e.User.Groups) > 0 {
			groups = quoted(e.User.Groups)
		}
	}
	as, asGroups := "<self>", []byte("<lookup>")
	if e.Impersonated != nil {
		as = e.Impersonated.Name
		if e.Impersonated.Groups != nil {
			asGroups = quoted(e.Impersonated.Groups)
		}
	}
	ip, namespace := "<unknown>", "<none>"
	if len(e.SourceIPs) > 0 {
		ip = e.SourceIPs[0]
	}
	if e.Object != nil && e.Object.Namespace != "" {
		namespace = e.Object.Namespace
	}
	dst = append(e.Received.AppendFormat(dst, time.RFC3339Nano), " AUDIT:"...)
	for _, part := range [...]struct{ name, value string }{
		{" id=", e.AuditID}, {" stage=", e.Stage.String()}, {" ip=", ip}, {" method=", e.Verb}, {" user=", user},
		{" groups=", string(groups)}, {" as=", as}, {" asgroups=", string(asGroups)}, {" user-agent=", e.UserAgent},
		{" namespace=", namespace}, {" uri=", e.RequestURI},
	} {
		dst = strconv.AppendQuote(append(dst, part.name...), part.value)
	}
	if e.Status == nil {
		return append(dst, ` response="<deferred>"`...)
	}
	dst = strconv.AppendInt(append(dst, ` response="`...), int64(e.Status.Code), 10)
	return append(dst, '"')
}

// quoted returns a list as the format legacy shows it before it is quoted as a whole.
func quoted(list []string) []byte {
	var out []byte
	for i, s := range list {
		if i > 0 {
			out = append(out, ',')
		}
		out = strconv.AppendQuote(out, s)
	}
	return out
}
