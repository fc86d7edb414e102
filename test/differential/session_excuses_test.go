package differential

import (
	"bytes"
	"fmt"
	"regexp"
	"slices"
	"strings"
)

// sessionExcuse is an intended difference between the answers of the servers in a session.
type sessionExcuse struct {
	// what is a regular expression that matches the whole path in the answer.
	what   string
	when   func(st step, their, our reply, theirs, ours any) bool
	reason string
	// ends is set if the servers differ afterwards, so that the session cannot go on.
	ends bool
	seen int
}

var sessionExcuses = []*sessionExcuse{
	{what: `header\.Server`, reason: "Coracle names itself in each answer."},
	{
		what: "code",
		when: func(st step, their, our reply, theirs, ours any) bool {
			return their.Code == 500 && our.Code == 406 && textAt(theirs, "message") == "content is not a list"
		},
		reason: "For custom resources Kubernetes checks whether the answer is a list, and fails. For other kinds it answers 406, as Coracle does for all kinds.",
	},
	{
		what: "code",
		when: func(st step, their, our reply, theirs, ours any) bool {
			return their.Code == 500 && our.Code == 400 && st.Form == applyForm && sameFault(textAt(theirs, "message"), textAt(ours, "message"))
		},
		reason: "Kubernetes answers 500 if an applied object does not fit. That is a mistake of the client.",
	},
	{
		what: "code",
		when: func(st step, their, our reply, theirs, ours any) bool {
			message := textAt(theirs, "message")
			return their.Code == 500 && our.Code == 400 && message == textAt(ours, "message") &&
				(strings.HasSuffix(message, `strconv.ParseUint: parsing "x": invalid syntax`) || message == "resourceVersion should not be set on objects to be created")
		},
		reason: "Kubernetes answers 500 to an invalid resourceVersion and to one in an object to create. Both are mistakes of the client.",
	},
	{
		what: `header\.Warning`,
		when: func(st step, their, our reply, theirs, ours any) bool {
			return (their.Code == 406 || their.Code == 415) && theirs == nil && strings.Contains(fmt.Sprint(ours), "is deprecated in")
		},
		reason: "Coracle warns of a deprecated resource before it checks media types. Kubernetes' router checks media types first.",
	},
	{
		what: `details\.causes.*|message`,
		when: func(st step, their, our reply, theirs, ours any) bool {
			a, b := their.causes(), our.causes()
			return their.Code == 422 && !slices.Equal(a, b) && slices.Equal(metadataFirst(a), metadataFirst(b))
		},
		reason: "Coracle validates metadata first, in one order for all kinds. In kube-apiserver each kind has its own order.",
	},
	{
		what:   `\[\*\]\.object\.columnDefinitions`,
		when:   func(st step, their, our reply, theirs, ours any) bool { return ours == nil },
		reason: "Only the first event of a watch has the columns of a table. Kubernetes repeats the columns if it has encoded that event for another watch already.",
	},
	{
		what: "code",
		when: func(st step, their, our reply, theirs, ours any) bool {
			return st.Method == "DELETE" && their.Code == 400 && our.Code == 422 && textAt(ours, "details.kind") == "DeleteOptions" &&
				matches(`.*is not a known field selector.*|field label .*not supported.*`, textAt(theirs, "message"))
		},
		reason: "Coracle validates all options of a deletion before it checks that the field selector names a known field.",
	},
	{
		what: `metadata\.resourceVersion|rows\[\*\]\.object\.metadata\.resourceVersion`,
		when: func(st step, their, our reply, theirs, ours any) bool {
			return strings.Contains(st.Path, "/jobs/") && (st.Method == "PATCH" || st.Method == "PUT") && bytes.Equal(withoutVersions(their), withoutVersions(our))
		},
		reason: "Kubernetes adds the labels of the template to a job without labels when it reads the job, not when it stores it. So an update that changes " +
			"nothing else stores the labels. Coracle stores them at the create.",
		ends: true,
	},
	{
		what: `(rows\[\*\]\.object\.)?metadata\.labels`,
		when: func(st step, their, our reply, theirs, ours any) bool {
			return strings.Contains(st.Path, "/jobs/") && theirs == nil && strings.Contains(string(encode(ours)), "batch.kubernetes.io/job-name")
		},
		reason: "Kubernetes' answer to the write that removes a job lacks the labels of the template, because Kubernetes does not read the job back.",
	},
	{
		what: `metadata\.resourceVersion|rows\[\*\]\.object\.metadata\.resourceVersion`,
		when: func(st step, their, our reply, theirs, ours any) bool {
			return their.Code == 201 && st.Query["dryRun"] == "All" && ours == nil && textAt(st.Body, "metadata.resourceVersion") != ""
		},
		reason: "Kubernetes' answer to a dry run of an update that would create shows the resourceVersion of the request.",
		ends:   true, // references to resourceVersions count it
	},
	{
		what: "items.*|metadata.*",
		when: func(st step, their, our reply, theirs, ours any) bool {
			return st.Query["limit"] != "" && strings.HasPrefix(st.Query["fieldSelector"], "metadata.namespace=")
		},
		reason: "A paged list of all namespaces with a field selector for one namespace: Kubernetes ends after the first page, or repeats the first object on the second page.",
		ends:   true,
	},
	{
		what: "message",
		when: func(st step, their, our reply, theirs, ours any) bool {
			return st.Query["dryRun"] == "All" && strings.Replace(fmt.Sprint(ours), "Key: /registry/", "Key: /", 1) == theirs
		},
		reason: "In the dry run of a write that would create, Kubernetes' message has the key without its prefix.",
	},
	{
		what: `metadata\.finalizers`,
		when: func(st step, their, our reply, theirs, ours any) bool {
			return st.Method == "DELETE" && strings.HasPrefix(st.Path, "/api/v1/namespaces/") && textAt(st.Body, "orphanDependents") == "false" && ours == nil
		},
		reason: "Coracle reads orphanDependents: false as Background for all kinds. Kubernetes reads it as Foreground for namespaces.",
		ends:   true,
	},
	{
		what: "message",
		when: func(st step, their, our reply, theirs, ours any) bool {
			return their.Code == 406 && strings.HasSuffix(st.Path, "/scale") &&
				strings.Replace(fmt.Sprint(theirs), "(*v1.Scale)", "(*unstructured.Unstructured)", 1) == ours
		},
		reason: "The message names the Go type of the scale of a custom resource; Coracle names the type of the resource.",
	},
	{
		what: "",
		when: func(st step, their, our reply, theirs, ours any) bool {
			return st.Read > 0 && strings.Contains(st.Path, "/jobs/") && len(theirs.([]any)) > len(ours.([]any))
		},
		reason: "Kubernetes has more events: those of the writes that store the labels of jobs.",
		ends:   true,
	},
	{
		what: "code",
		when: func(st step, their, our reply, theirs, ours any) bool {
			going := their.Code == 403 && strings.Contains(textAt(theirs, "message"), "because it is being terminated")
			gone := their.Code == 404 && textAt(theirs, "details.kind") == "namespaces"
			return (going || gone) && our.Code == 400 && strings.Contains(textAt(ours, "message"), "strconv.ParseUint: parsing")
		},
		reason: "An update or apply that would create and has an invalid resourceVersion: Coracle checks the resourceVersion before the namespace.",
	},
	{
		what: `details\.causes\[\*\]\.(field|message)`,
		when: func(st step, their, our reply, theirs, ours any) bool {
			return their.Code == 409 && slices.Equal(slices.Sorted(slices.Values(their.causes())), slices.Sorted(slices.Values(our.causes())))
		},
		reason: "Kubernetes lists the managers with which an apply conflicts in the order of a map.",
	},
	{
		what: "apiVersion|kind|details|status",
		when: func(st step, their, our reply, theirs, ours any) bool {
			return st.Method == "DELETE" && textAt(their.Body, "kind") == "PartialObjectMetadata" && textAt(our.Body, "kind") == "Status" && textAt(our.Body, "status") == "Success"
		},
		reason: "If a client wants metadata only, Kubernetes converts the status that answers a deletion to empty metadata.",
	},
	{
		what: "code",
		when: func(st step, their, our reply, theirs, ours any) bool {
			return st.Method == "DELETE" && their.Code == 409 && our.Code == 200 && textAt(st.Body, "preconditions.resourceVersion") != "" &&
				strings.Contains(textAt(theirs, "message"), "ResourceVersion in precondition: , ")
		},
		reason: "A deletion with a resourceVersion as precondition that removes the last finalizer: Kubernetes loses the resourceVersion between its two " +
			"steps and then refuses. Coracle deletes.",
		ends: true,
	},
	{
		what: `code|details\.kind|message`,
		when: func(st step, their, our reply, theirs, ours any) bool {
			return st.Method == "PATCH" && strings.HasPrefix(st.Path, "/apis/session.example.com/") && strings.HasSuffix(st.Path, "/scale") &&
				our.Code == 409 && strings.Contains(textAt(our.Body, "message"), "Precondition failed: UID in precondition")
		},
		reason: "A patch of a scale with the uid of another object: Kubernetes ignores the uid for custom resources, and answers 409 for other kinds. Coracle answers 409 for all.",
		ends:   true,
	},
	{
		what: `[^.]*`,
		when: func(st step, their, our reply, theirs, ours any) bool {
			return st.Method == "DELETE" && strings.Contains(string(encode(st.Body)), `"dryRun":["All"]`) && their.Code == 200 && our.Code == 200 &&
				textAt(our.Body, "kind") == "Status" && textAt(our.Body, "status") == "Success" && ofNothing(their.Body)
		},
		reason: "A dry run of a deletion that removes the last finalizer and the object: Kubernetes answers with an empty object of the kind. Coracle " +
			"answers with the status that also answers the deletion without dry run.",
	},
	{
		what: `details\.causes\[\*\]\.message|message`,
		when: func(st step, their, our reply, theirs, ours any) bool {
			return strings.Contains(fmt.Sprint(theirs), "json: cannot unmarshal ") && unreadable.ReplaceAllString(fmt.Sprint(theirs), "$1$2") == unreadable.ReplaceAllString(fmt.Sprint(ours), "$1$2")
		},
		reason: "If the metadata of an embedded resource cannot be decoded, Coracle's message shows it without unknown fields.",
	},
	{
		what: `details\.causes\[\*\]\.message|message`,
		when: func(st step, their, our reply, theirs, ours any) bool {
			return strings.ReplaceAll(fmt.Sprint(theirs), "99999999999999999999", "100000000000000000000") == ours
		},
		reason: "A message shows an object with an integer beyond 64 bits.",
	},
	{
		what: `details\.causes.*|message`,
		when: func(st step, their, our reply, theirs, ours any) bool {
			a, b := their.causes(), our.causes()
			return their.Code == 422 && slices.ContainsFunc(a, embeddedType.MatchString) && slices.Equal(slices.Sorted(slices.Values(a)), slices.Sorted(slices.Values(b)))
		},
		reason: "Kubernetes reports the errors of apiVersion and kind of an embedded resource in the order of a map.",
	},
}

// unreadable finds the value of metadata in a message about metadata that cannot be decoded.
var unreadable = regexp.MustCompile(`(metadata: Invalid value: ).*(: json: cannot unmarshal )`)

// embeddedType finds a cause about the apiVersion or kind of an embedded resource.
var embeddedType = regexp.MustCompile(`^spec\..*\.(apiVersion|kind): `)

// withoutVersions is the body of an answer without resourceVersions.
func withoutVersions(r reply) []byte {
	v := tree(r.Body)
	var walk func(v any)
	walk = func(v any) {
		switch v := v.(type) {
		case map[string]any:
			delete(v, "resourceVersion")
			for _, inner := range v {
				walk(inner)
			}
		case []any:
			for _, inner := range v {
				walk(inner)
			}
		}
	}
	walk(v)
	return encode(v)
}

// ofNothing reports whether an object, or the object in the only row of a table, has no name and no
// uid.
func ofNothing(body any) bool {
	obj, _ := body.(map[string]any)
	if rows, _ := obj["rows"].([]any); len(rows) == 1 {
		obj, _ = rows[0].(map[string]any)["object"].(map[string]any)
	}
	meta, _ := obj["metadata"].(map[string]any) // a custom resource then has no metadata
	return meta["name"] == nil && meta["uid"] == nil && obj["kind"] != "Status"
}

// sessionExcused is the excuse for a difference, nil if there is none.
func sessionExcused(st step, what string, their, our reply, theirs, ours any) *sessionExcuse {
	for _, e := range sessionExcuses {
		if matches(e.what, what) && (e.when == nil || e.when(st, their, our, theirs, ours)) {
			e.seen++
			return e
		}
	}
	return nil
}

// causes are the causes of a Status, in order.
func (r reply) causes() []string {
	body, _ := r.Body.(map[string]any)
	return answer{Body: body}.causes()
}
