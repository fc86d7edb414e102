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
	{what: `header\.Server`, reason: "Coracle says in each answer what it is."},
	{
		what: "code",
		when: func(st step, their, our reply, theirs, ours any) bool {
			return their.Code == 500 && our.Code == 406 && textAt(theirs, "message") == "content is not a list"
		},
		reason: "Kubernetes asks custom resources whether they are lists and fails; of other kinds it says 406, as Coracle does of all.",
	},
	{
		what: "code",
		when: func(st step, their, our reply, theirs, ours any) bool {
			return their.Code == 500 && our.Code == 400 && st.Form == applyForm && sameFault(textAt(theirs, "message"), textAt(ours, "message"))
		},
		reason: "What is applied and does not fit is the client's mistake.",
	},
	{
		what: "code",
		when: func(st step, their, our reply, theirs, ours any) bool {
			message := textAt(theirs, "message")
			return their.Code == 500 && our.Code == 400 && message == textAt(ours, "message") &&
				(strings.HasSuffix(message, `strconv.ParseUint: parsing "x": invalid syntax`) || message == "resourceVersion should not be set on objects to be created")
		},
		reason: "A resourceVersion that is none, or is where none may be, is the client's mistake, not the server's.",
	},
	{
		what: `header\.Warning`,
		when: func(st step, their, our reply, theirs, ours any) bool {
			return (their.Code == 406 || their.Code == 415) && theirs == nil && strings.Contains(fmt.Sprint(ours), "is deprecated in")
		},
		reason: "Coracle says that a resource is deprecated before it looks at media types, which Kubernetes' router has done.",
	},
	{
		what: `details\.causes.*|message`,
		when: func(st step, their, our reply, theirs, ours any) bool {
			a, b := their.causes(), our.causes()
			return their.Code == 422 && !slices.Equal(a, b) && slices.Equal(metadataFirst(a), metadataFirst(b))
		},
		reason: "Coracle checks metadata first, in one order for all kinds, and then the rest; in kube-apiserver each kind has its own order.",
	},
	{
		what:   `\[\*\]\.object\.columnDefinitions`,
		when:   func(st step, their, our reply, theirs, ours any) bool { return ours == nil },
		reason: "Only the first event of a watch has the columns of a table. Kubernetes repeats them, if another watch has had that first event encoded.",
	},
	{
		what: "code",
		when: func(st step, their, our reply, theirs, ours any) bool {
			return st.Method == "DELETE" && their.Code == 400 && our.Code == 422 && textAt(ours, "details.kind") == "DeleteOptions" &&
				matches(`.*is not a known field selector.*|field label .*not supported.*`, textAt(theirs, "message"))
		},
		reason: "Coracle reads all options of a deletion before it asks whether there is such a field to select by.",
	},
	{
		what: `metadata\.resourceVersion|rows\[\*\]\.object\.metadata\.resourceVersion`,
		when: func(st step, their, our reply, theirs, ours any) bool {
			return strings.Contains(st.Path, "/jobs/") && (st.Method == "PATCH" || st.Method == "PUT") && bytes.Equal(withoutVersions(their), withoutVersions(our))
		},
		reason: "Kubernetes gives a job without labels those of its template when it reads it, not when it stores it, so that an update which " +
			"changes nothing else is one. Coracle stores them.",
		ends: true,
	},
	{
		what: `(rows\[\*\]\.object\.)?metadata\.labels`,
		when: func(st step, their, our reply, theirs, ours any) bool {
			return strings.Contains(st.Path, "/jobs/") && theirs == nil && strings.Contains(string(encode(ours)), "batch.kubernetes.io/job-name")
		},
		reason: "The same of the write that lets a job go: Kubernetes does not read its answer back.",
	},
	{
		what: `metadata\.resourceVersion|rows\[\*\]\.object\.metadata\.resourceVersion`,
		when: func(st step, their, our reply, theirs, ours any) bool {
			return their.Code == 201 && st.Query["dryRun"] == "All" && ours == nil && textAt(st.Body, "metadata.resourceVersion") != ""
		},
		reason: "The answer to a dry write that would create shows the resourceVersion that was sent there.",
		ends:   true, // references to resourceVersions count it
	},
	{
		what: "items.*|metadata.*",
		when: func(st step, their, our reply, theirs, ours any) bool {
			return st.Query["limit"] != "" && strings.HasPrefix(st.Query["fieldSelector"], "metadata.namespace=")
		},
		reason: "The pages of a list of all namespaces that selects one by a field: Kubernetes ends with the first page, or begins the second with the first object again.",
		ends:   true,
	},
	{
		what: "message",
		when: func(st step, their, our reply, theirs, ours any) bool {
			return st.Query["dryRun"] == "All" && strings.Replace(fmt.Sprint(ours), "Key: /registry/", "Key: /", 1) == theirs
		},
		reason: "A dry write that would create names the key without its prefix there.",
	},
	{
		what: `metadata\.finalizers`,
		when: func(st step, their, our reply, theirs, ours any) bool {
			return st.Method == "DELETE" && strings.HasPrefix(st.Path, "/api/v1/namespaces/") && textAt(st.Body, "orphanDependents") == "false" && ours == nil
		},
		reason: "orphanDependents: false is Background here for all kinds; in Kubernetes it is Foreground for namespaces.",
		ends:   true,
	},
	{
		what: "message",
		when: func(st step, their, our reply, theirs, ours any) bool {
			return their.Code == 406 && strings.HasSuffix(st.Path, "/scale") &&
				strings.Replace(fmt.Sprint(theirs), "(*v1.Scale)", "(*unstructured.Unstructured)", 1) == ours
		},
		reason: "The Go type of the scale of a custom resource: Coracle names that of the resource.",
	},
	{
		what: "",
		when: func(st step, their, our reply, theirs, ours any) bool {
			return st.Read > 0 && strings.Contains(st.Path, "/jobs/") && len(theirs.([]any)) > len(ours.([]any))
		},
		reason: "The events of the writes with which Kubernetes stores the labels of jobs.",
		ends:   true,
	},
	{
		what: "code",
		when: func(st step, their, our reply, theirs, ours any) bool {
			going := their.Code == 403 && strings.Contains(textAt(theirs, "message"), "because it is being terminated")
			gone := their.Code == 404 && textAt(theirs, "details.kind") == "namespaces"
			return (going || gone) && our.Code == 400 && strings.Contains(textAt(ours, "message"), "strconv.ParseUint: parsing")
		},
		reason: "An update or apply that would create, with a resourceVersion that is none: Coracle reads that before it looks at the namespace.",
	},
	{
		what: `details\.causes\[\*\]\.(field|message)`,
		when: func(st step, their, our reply, theirs, ours any) bool {
			return their.Code == 409 && slices.Equal(slices.Sorted(slices.Values(their.causes())), slices.Sorted(slices.Values(our.causes())))
		},
		reason: "Kubernetes names those whom an apply is in conflict with in the order of a map.",
	},
	{
		what: "apiVersion|kind|details|status",
		when: func(st step, their, our reply, theirs, ours any) bool {
			return st.Method == "DELETE" && textAt(their.Body, "kind") == "PartialObjectMetadata" && textAt(our.Body, "kind") == "Status" && textAt(our.Body, "status") == "Success"
		},
		reason: "Kubernetes makes of the status that answers a deletion the metadata of nothing, for those who want metadata.",
	},
	{
		what: "code",
		when: func(st step, their, our reply, theirs, ours any) bool {
			return st.Method == "DELETE" && their.Code == 409 && our.Code == 200 && textAt(st.Body, "preconditions.resourceVersion") != "" &&
				strings.Contains(textAt(theirs, "message"), "ResourceVersion in precondition: , ")
		},
		reason: "A deletion that takes the last finalizer away and insists on a resourceVersion: Kubernetes forgets which one between the two, " +
			"and then refuses. Coracle deletes.",
		ends: true,
	},
	{
		what: `code|details\.kind|message`,
		when: func(st step, their, our reply, theirs, ours any) bool {
			return st.Method == "PATCH" && strings.HasPrefix(st.Path, "/apis/session.example.com/") && strings.HasSuffix(st.Path, "/scale") &&
				our.Code == 409 && strings.Contains(textAt(our.Body, "message"), "Precondition failed: UID in precondition")
		},
		reason: "A patch of a scale that names the uid of another object: of custom resources Kubernetes ignores it, of other kinds it says " +
			"409, as Coracle does of all.",
		ends: true,
	},
	{
		what: `[^.]*`,
		when: func(st step, their, our reply, theirs, ours any) bool {
			return st.Method == "DELETE" && strings.Contains(string(encode(st.Body)), `"dryRun":["All"]`) && their.Code == 200 && our.Code == 200 &&
				textAt(our.Body, "kind") == "Status" && textAt(our.Body, "status") == "Success" && ofNothing(their.Body)
		},
		reason: "A dry deletion that takes the last finalizer away and lets the object go: Kubernetes answers with an empty object " +
			"of the kind, Coracle with the status that answers the same deletion if it is not dry.",
	},
	{
		what: `details\.causes\[\*\]\.message|message`,
		when: func(st step, their, our reply, theirs, ours any) bool {
			return strings.Contains(fmt.Sprint(theirs), "json: cannot unmarshal ") && unreadable.ReplaceAllString(fmt.Sprint(theirs), "$1$2") == unreadable.ReplaceAllString(fmt.Sprint(ours), "$1$2")
		},
		reason: "Of the metadata of an embedded resource that cannot be read, Coracle shows what is left of it without unknown fields.",
	},
	{
		what: `details\.causes\[\*\]\.message|message`,
		when: func(st step, their, our reply, theirs, ours any) bool {
			return strings.ReplaceAll(fmt.Sprint(theirs), "99999999999999999999", "100000000000000000000") == ours
		},
		reason: "An integer beyond 64 bits in an object that a message shows.",
	},
	{
		what: `details\.causes.*|message`,
		when: func(st step, their, our reply, theirs, ours any) bool {
			a, b := their.causes(), our.causes()
			return their.Code == 422 && slices.ContainsFunc(a, embeddedType.MatchString) && slices.Equal(slices.Sorted(slices.Values(a)), slices.Sorted(slices.Values(b)))
		},
		reason: "What is wrong with apiVersion and kind of an embedded resource Kubernetes says in the order of a map.",
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
