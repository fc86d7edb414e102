package differential

import (
	"fmt"
	"net/http"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"sync/atomic"
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/coracle-project/coracle/scheme/field"
)

// decision is an intended difference, or one that is left for later.
type decision struct {
	// kinds and what are regular expressions that match the whole kind and the whole line that
	// reports the difference. The line begins with a verb ("create: "), which what does not match.
	kinds, what string
	// when, if set, must also hold for the trial.
	when   func(tr trial) bool
	reason string

	seen atomic.Int64
}

// decisions are all listed differences. Each run logs the decisions that it did not need; a
// decision that no run needs is to be deleted.
var decisions = []*decision{
	{
		kinds: ".*", what: `object differs at metadata\.managedFields.*`, when: ownersOfEmpty,
		reason: "A list that is empty, in what has one owner as a whole, is none when it is encoded; Kubernetes compares Go values there.",
	},
	{
		kinds: ".*", what: `[\s\S]*`, when: func(tr trial) bool { return tr.theirs.Code == panicked && tr.ours.Code < 500 },
		reason: "Kubernetes' code fails: it does not look whether a field is set. Coracle answers.",
	},
	{
		kinds: ".*", what: `(code 4.., not 500|status differs at (code|reason|status|details).*)`, when: func(tr trial) bool {
			return tr.method == http.MethodPatch && tr.theirs.Code == http.StatusInternalServerError && tr.ours.Body["message"] == tr.theirs.Body["message"]
		},
		reason: "A strategic merge patch that does not fit and a resourceVersion that is none are the client's mistakes, not the server's.",
	},
	{
		kinds: ".*", what: `(code 4.., not 500|status differs at (code|reason|status|details|message)[\s\S]*)`, when: func(tr trial) bool {
			return tr.form() == applyForm && tr.theirs.Code == http.StatusInternalServerError && tr.ours.Code == http.StatusBadRequest &&
				sameFault(fmt.Sprint(tr.theirs.Body["message"]), fmt.Sprint(tr.ours.Body["message"]))
		},
		reason: "What is applied and does not fit is the client's mistake. Of several, Kubernetes finds any first, and of a value that does not fit " +
			"its field it says less.",
	},
	{
		kinds: ".*", what: `(code 4.., not 500|status differs at (code|reason|status|details|message)[\s\S]*)`, when: func(tr trial) bool {
			return tr.form() == applyForm && tr.theirs.Code == http.StatusInternalServerError && tr.ours.Body["message"] == "metadata.managedFields must be nil"
		},
		reason: "Kubernetes does not see managedFields that it cannot read when it looks whether there are any.",
	},
	{
		kinds: ".*", what: `(missing|extra): [\s\S]*|code 4.., not (4..|500)|status differs at (code|reason|status|details|message)[\s\S]*`, when: func(tr trial) bool {
			unfit := matches(`failed to (create typed patch|convert new) object \([\s\S]*`, fmt.Sprint(tr.theirs.Body["message"]))
			return tr.form() == applyForm && strings.Contains(tr.url, "/absent/") && !tr.theirs.accepted() && !tr.ours.accepted() &&
				(tr.ours.Code == http.StatusNotFound) != (tr.theirs.Code == http.StatusNotFound) && (tr.theirs.Code < 500 || unfit)
		},
		reason: "What is applied to a part of an object that there is not: Coracle reads it, and then finds out; Kubernetes finds out first, or after " +
			"it has merged it, as the kind may be. What then does not fit its field is a 500 there.",
	},
	{
		kinds: ".*", what: `[\s\S]*`, when: func(tr trial) bool {
			return (tr.form() == strategicForm || tr.form() == applyForm) && !tr.ours.accepted() &&
				(outOfRange.MatchString(fmt.Sprint(tr.ours.Body["message"])) ||
					slices.ContainsFunc(tr.ours.causes(), func(c string) bool { return outOfRange.MatchString(c) }))
		},
		reason: "While it fills an object from a strategic merge patch or from what was merged, Kubernetes lets numbers overflow; those beyond 64 bits are no integers for it.",
	},
	{
		kinds: ".*", what: `[\s\S]*`, when: func(tr trial) bool {
			return tr.form() == strategicForm && strings.Contains(string(encode(tr.body)), `:[]`) &&
				slices.ContainsFunc(tr.ours.causes(), func(c string) bool { return strings.HasSuffix(c, ": unrecognized type: uint8") })
		},
		reason: "An empty list where bytes belong is none for Kubernetes, in a strategic merge patch alone. Coracle refuses it as any other list.",
	},
	{
		kinds: ".*", what: `object differs at .*`, when: func(tr trial) bool {
			return (tr.form() == strategicForm || tr.form() == applyForm) && strings.Contains(string(encode(tr.body)), "99999999999999999999")
		},
		reason: "A quantity beyond 64 bits that is no text goes through a floating point number there.",
	},
	{
		kinds: ".*", what: `(missing|extra): [\s\S]*`, when: func(tr trial) bool {
			const ours = "99999999999999999999"
			said := strings.NewReplacer(`"100E"`, `"`+ours+`"`, "100000000000000000000", ours).Replace(fmt.Sprint(tr.theirs.Body["message"]))
			return tr.form() == strategicForm && strings.Contains(said, ours) && said == tr.ours.Body["message"]
		},
		reason: "The same quantity, or an integer beyond 64 bits in a part of any shape, in a message that shows the object.",
	},
	{
		kinds: "Secret|ConfigMap", what: `object differs at (data|binaryData)\..*`, when: func(tr trial) bool {
			return strings.Contains(string(encode(tr.body)), ":null")
		},
		reason: "Kubernetes makes null bytes empty when it stores the object, which a dry run does not. Coracle does so when it reads the request.",
	},
	{
		kinds: "Endpoints", what: "warning extra: .*", when: func(tr trial) bool { return tr.theirs.Code == http.StatusUnsupportedMediaType },
		reason: "Coracle says that a resource is deprecated before it looks at the media type of a patch, which Kubernetes' router has done.",
	},
	{
		kinds: ".*", what: `object differs at metadata\.selfLink`, when: func(tr trial) bool { return tr.method == http.MethodPatch },
		reason: "Kubernetes drops a selfLink when it stores an object, which a dry run does not.",
	},
	{
		kinds: ".*", what: `(missing|extra): patch: [\s\S]*`, when: func(tr trial) bool { return slices.EqualFunc(tr.theirs.causes(), tr.ours.causes(), cutInQuotes) },
		reason: "Of the object or patch that is wrong, Coracle shows 4 KiB.",
	},
	{
		kinds: ".*", what: "metadata causes in another place",
		reason: "Coracle checks metadata first, in one order for all kinds, and then the rest; in kube-apiserver each kind has its own order.",
	},
	{
		kinds: "CustomResourceDefinition", what: `missing: [\s\S]*|extra: [\s\S]*<value omitted>[\s\S]*`, when: func(tr trial) bool {
			text := fmt.Sprint(tr.ours.Body["message"])
			return strings.Contains(text, "and at least ") || strings.Contains(text, "<value omitted>")
		},
		reason: "Versions and schemas are shown as a whole, several times. Coracle shows 64 KiB of all that is wrong, and no value of 256 KiB.",
	},
	{
		kinds: "CustomResourceDefinition", what: "refused: 0 <nil>", when: func(tr trial) bool {
			deleted, _, _ := unstructured.NestedFieldNoCopy(tr.body, "metadata", "deletionTimestamp")
			return tr.method == http.MethodGet && tr.ours.Code == http.StatusNotFound && deleted != nil
		},
		reason: "A definition that is being deleted goes, once it is emptied or, with no finalizer, at the next write of its conditions. Kubernetes has nobody here who does that.",
	},
	{
		kinds: "Event|ReplicationController|DeviceClass|PodDisruptionBudget|CertificateSigningRequest", what: `extra: metadata\..*`, when: func(tr trial) bool { return len(tr.theirs.causes()) > 0 },
		reason: "Kubernetes looks at the metadata of some kinds only if it finds nothing else; Coracle names all at once.",
	},
	{
		kinds: ".*", what: "warning extra: 0 - .*", when: func(tr trial) bool {
			return tr.theirs.Code == http.StatusBadRequest && strings.Contains(fmt.Sprint(tr.ours.Warnings), "ownerReferences contains duplicate entries")
		},
		reason: "Coracle drops repeated owners while it reads an object, also if it refuses the object's name then.",
	},
	{
		kinds: ".*", what: `(missing|extra): .*: must be an integer`, when: func(tr trial) bool {
			return slices.ContainsFunc(slices.Concat(tr.theirs.causes(), tr.ours.causes()), func(c string) bool {
				return strings.HasSuffix(c, ": must be an integer") && hugeAmount.MatchString(c)
			})
		},
		reason: "Thousandths of such an amount overflow in Kubernetes, which takes what is left of them.",
	},
	{
		kinds: ".*", what: `status differs at message: the name of the object \(.*`, when: func(tr trial) bool { return len(fmt.Sprint(tr.theirs.Body["message"])) > 512 },
		reason: "Of a client's own text Coracle repeats the beginning.",
	},
	{
		kinds: ".*", what: `(missing|extra): [\s\S]*`, when: func(tr trial) bool {
			theirs, ours := tr.theirs.causes(), tr.ours.causes()
			whole := !slices.ContainsFunc(ours, func(c string) bool { return strings.HasSuffix(c, "...") })
			return slices.Equal(withNetHunks(theirs, whole), withNetHunks(ours, whole))
		},
		reason: "Of the ways to show how two long texts differ, Coracle takes a shortest one, and Kubernetes one with long blocks. " +
			"And Coracle shows 4 KiB of it, and an empty list or map like none, as it is encoded.",
	},
	{
		kinds: "Pod", what: `extra: metadata\..*`, when: func(tr trial) bool {
			return slices.ContainsFunc(tr.theirs.causes(), func(c string) bool { return strings.HasPrefix(c, "[]: FieldValueForbidden: ") })
		},
		reason: "That a mirror of a static pod cannot be resized or debugged is all that Kubernetes says then.",
	},
	{
		kinds: "Pod", what: `object differs at status\.conditions\[\*\]\.lastTransitionTime`,
		when:   func(tr trial) bool { return tr.method == http.MethodPost },
		reason: "It was the turn of a second.",
	},
	{
		kinds: "CertificateSigningRequest", what: `(missing|extra): status\.conditions: FieldValueForbidden: [\s\S]*condition of type[\s\S]*`,
		when: func(tr trial) bool {
			now := regexp.MustCompile(`\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ`)
			return now.ReplaceAllString(fmt.Sprint(tr.theirs.causes()), "now") == now.ReplaceAllString(fmt.Sprint(tr.ours.causes()), "now")
		},
		reason: "It was the turn of a second.",
	},
	{
		kinds: "Pod", what: `(missing|extra): spec: FieldValueInvalid: Invalid value: "…": Pod QOS Class may not change .*`,
		reason: "Coracle shows the class that the pod has. Kubernetes does so, too, unless containers were added or removed.",
	},
	{
		kinds: "StatefulSet", what: `(missing|extra): spec\.template\.spec\.volumes\[\*\]\..*`, when: func(tr trial) bool {
			return slices.Equal(inAnyOrder(tr.theirs.causes()), inAnyOrder(tr.ours.causes()))
		},
		reason: "Kubernetes checks a template with the volumes of the claims to be made in the order of a map; here they keep their own.",
	},
	{
		kinds: "Deployment|DaemonSet", what: `not refused: [\s\S]*|(missing|extra): [\s\S]*|code 4.., not ...|status differs at [\s\S]*|warning extra: .*`, when: func(tr trial) bool {
			body := string(encode(tr.body))
			return !tr.theirs.accepted() && strings.Contains(string(encode(tr.theirs.Body)), "strconv.ParseInt: parsing") &&
				(strings.Contains(body, "deprecated.daemonset.template.generation") || strings.Contains(body, "deprecated.deployment.rollback.to"))
		},
		reason: "Kubernetes reads an annotation that was a field once while it decodes. Coracle names what is wrong with a rollback together " +
			"with all else, and counts the templates of a daemon set by itself, whatever a client writes there.",
	},
	{
		kinds: "LimitRange", what: `(object|status) differs at (metadata\.name|details\.name|message).*`,
		when:   func(tr trial) bool { return nameOf(tr.body) == "" },
		reason: "Each server makes up the name of a limit range that has none.",
	},
	{
		kinds: "EndpointSlice", what: `object differs at metadata\.generation`,
		when: func(tr trial) bool {
			return strings.Contains(string(encode(tr.body)), "deprecatedTopology")
		},
		reason: "Kubernetes counts a change before it drops what clients write about topology, which may be all of it.",
	},
	{
		kinds: "(Valid|Mut)ating(WebhookConfiguration|AdmissionPolicy)", what: `(missing|extra): .*[eE]xpression: FieldValueInvalid: [\s\S]*`,
		when:   func(tr trial) bool { return sameBeginnings(tr.theirs.causes(), tr.ours.causes()) },
		reason: "Of what is wrong with an expression, Coracle shows 4 KiB.",
	},
	{
		kinds:  "DeviceClass|ResourceClaim(Template)?",
		what:   `missing: .*[eE]xpression: FieldValueInvalid: Invalid value: "…": (compilation failed: |must evaluate to )[\s\S]*`,
		reason: "Coracle does not compile expressions about devices yet.",
	},
	{
		kinds: "(Valid|Mut)atingWebhookConfiguration", what: `object differs at metadata\.generation`, when: func(tr trial) bool {
			body := string(encode(tr.body))
			return strings.Contains(body, "[]") || strings.Contains(body, "{}")
		},
		reason: "Kubernetes counts it as a change that a list or map is empty which is unset in the store, where it will be unset again.",
	},
	{
		kinds: "ResourceSlice", what: `object differs at metadata\.generation`, when: func(tr trial) bool {
			return notServed.Match(encode(tr.body)) || tr.form() == jsonForm && notServedPath.Match(encode(tr.body))
		},
		reason: "Kubernetes counts a change before it drops fields that are not served, which may be all of it.",
	},
	{
		kinds: "Service", what: `(not )?refused: [\s\S]*|(missing|extra): [\s\S]*|code ..., not ...|status differs at [\s\S]*|warning (missing|extra): .*`, when: func(tr trial) bool {
			return portTaken(tr.theirs) || portTaken(tr.ours)
		},
		reason: "Node ports are allocated before validation, and a refusal there is the only one. Here Kubernetes does not know what stored services have.",
	},
	{
		kinds: "Service", what: `missing: spec\.ports\[\*\]\.nodePort: FieldValueDuplicate: .*`,
		reason: "One of the two node ports is what Kubernetes has allocated.",
	},
	{
		kinds: "Service", what: `object differs at cell Cluster-IP`,
		reason: "Kubernetes completes clusterIPs when it reads a service that was stored before there were several.",
	},
	{
		kinds: ".*", what: `causes in another order: [\s\S]*`, when: func(tr trial) bool {
			return strings.Contains(string(encode(tr.ours.causes())), "Total length of <volume name>")
		},
		reason: "That an initiator makes a volume's name too long is said behind what is wrong with its source, not in the middle.",
	},
	{
		kinds: "CertificateSigningRequest", what: `extra: metadata\.generateName: .*: may not contain '[/%]'`,
		reason: "Kubernetes has no rule for the names of these requests but that of all names; Coracle repeats it with all else on an update.",
	},
	{
		kinds: "Node", what: `object differs at status\.allocatable`, when: func(tr trial) bool {
			theirs, _ := tr.theirs.Body["status"].(map[string]any)
			ours, _ := tr.ours.Body["status"].(map[string]any)
			return ours["allocatable"] == nil && reflect.DeepEqual(theirs["allocatable"], theirs["capacity"])
		},
		reason: "An empty allocatable is not encoded. Kubernetes answers with what it has encoded and reads again, filled from capacity; " +
			"Coracle fills it when it loads the node next.",
	},
	{
		kinds: "NetworkPolicy", what: `object differs at metadata\.generation`, when: func(tr trial) bool {
			return emptyValue.Match(encode(tr.body)) || tr.form() == jsonForm && emptyAdded.Match(encode(tr.body)) ||
				(tr.form() == mergeForm || tr.form() == strategicForm) && leavesEmpty.Match(encode(tr.body))
		},
		reason: "An empty list or map is a change of a policy without one for Kubernetes, which does not store it, so that each update is one. " +
			"A merge patch of nulls alone, or of a directive alone, leaves one.",
	},
	{
		kinds: ".*", what: `null for what is empty at .*`, when: func(tr trial) bool { // not for kinds that are stored as JSON
			return !strings.Contains(tr.url, "/customresourcedefinitions") && !strings.Contains(tr.url, "/apiservices")
		},
		reason: "An empty list or map is null when it is read back from the store, and so it is in the answers of a whole kube-apiserver. " +
			"The one here answers with what it has not read back.",
	},
	{
		kinds: "IPAddress", what: `(extra|missing): metadata\.name: .*must be a valid IP address.*`, when: func(tr trial) bool {
			return strings.Contains(string(encode(tr.body)), `"generateName"`)
		},
		reason: "Kubernetes takes generateName for the name of an address; Coracle adds letters to it as for all kinds, and refuses that.",
	},
}

// hugeAmount finds an amount whose thousandths an int64 cannot hold.
var hugeAmount = regexp.MustCompile(`Ei"|[0-9]{17}`)

// outOfRange is Coracle's message about a number that a field cannot hold.
var outOfRange = regexp.MustCompile(`json: cannot unmarshal number -?[0-9]+ into |: cannot convert float64 to int(32|64)$`)

// sameFault reports whether two messages about an applied object name the same step and object.
func sameFault(theirs, ours string) bool {
	for _, before := range []string{"): ", ") to proper version: "} {
		step, _, ok := strings.Cut(theirs, before)
		our, _, both := strings.Cut(ours, before)
		if ok && both && (step == our || sameButCut(step, our, "...")) {
			return true
		}
	}
	return theirs == ours
}

// cutInQuotes is sameButCut for texts in quotes. It removes the beginning of a cut uid, because
// whole uids are replaced by UID before.
func cutInQuotes(theirs, ours string) bool {
	return sameButCut(theirs, cutUID.ReplaceAllString(ours, `..."`), `..."`)
}

var cutUID = regexp.MustCompile(`[0-9a-f-]{0,35}\.\.\."`)

// sameButCut reports whether two texts are equal, except that ours has the mark in place of the end
// of some parts.
func sameButCut(theirs, ours, mark string) bool {
	parts := strings.Split(ours, mark)
	rest, same := strings.CutPrefix(theirs, parts[0])
	for i, part := range parts[1:] {
		if i == len(parts)-2 {
			return same && strings.HasSuffix(rest, part)
		}
		if _, rest, same = strings.Cut(rest, part); !same {
			return false
		}
	}
	return false
}

// emptyValue finds an empty list or map in a network policy.
var emptyValue = regexp.MustCompile(`"(ingress|egress|from|to|ports|except|matchLabels|matchExpressions|values)\\?": ?(\[\]|\{\})`)

// emptyAdded finds an operation of a JSON patch that adds an empty list or map in an optional
// field.
var emptyAdded = regexp.MustCompile(`"path":"[^"]*/(ingress|egress|from|to|ports|except|matchLabels|matchExpressions|values)","value":(\[\]|\{\})`)

// leavesEmpty finds a map of nulls, a map of one directive, or a list of one element with a
// directive in a merge patch of a network policy.
var leavesEmpty = regexp.MustCompile(`"(ingress|egress|from|to|ports|except|matchLabels|matchExpressions|values)":` +
	`(\{("[^"]*":null,?)+\}|\{"\$[^"]*":[^{}\[\],]*\}|\[\{"\$[^{}\[\]]*\}\])`)

// ownersOfEmpty reports whether each field that is owned on one side only has an empty list or map
// in the request.
func ownersOfEmpty(tr trial) bool {
	theirs, ours := ownedPaths(tr.theirs.Body), ownedPaths(tr.ours.Body)
	var differ []string
	for path := range theirs {
		if !ours[path] {
			differ = append(differ, path)
		}
	}
	for path := range ours {
		if !theirs[path] {
			differ = append(differ, path)
		}
	}
	sent, text := tr.body, ""
	if patch, ok := tr.body["patch"]; ok {
		text = string(encode(patch))
		sent, _ = tree(patch).(map[string]any)
	}
	return len(differ) > 0 && !slices.ContainsFunc(differ, func(path string) bool {
		_, fields, _ := strings.Cut(path, "|")
		var at any = sent
		for name := range strings.SplitSeq(fields, ".") {
			inner, ok := at.(map[string]any)
			if !ok {
				break
			}
			at = inner[name]
		}
		if sent != nil { // otherwise the body is a list of operations, or no JSON
			text = string(encode(at))
		}
		return !strings.Contains(text, "[]") && !strings.Contains(text, "{}")
	})
}

// ownedPaths are the fields in an object's managedFields with their owners. A path ends at the
// first list, because it has only names of fields.
func ownedPaths(obj map[string]any) map[string]bool {
	paths := map[string]bool{}
	meta, _ := obj["metadata"].(map[string]any)
	entries, _ := meta["managedFields"].([]any)
	for _, e := range entries {
		e := e.(map[string]any)
		var walk func(fields map[string]any, path string)
		walk = func(fields map[string]any, path string) {
			leaf := true
			for name, inner := range fields {
				if field, ok := strings.CutPrefix(name, "f:"); ok {
					leaf = false
					walk(inner.(map[string]any), strings.TrimPrefix(path+"."+field, "."))
				}
			}
			if leaf {
				paths[fmt.Sprint(e["manager"], e["operation"], e["apiVersion"], e["subresource"], string(encode(fields)), "|", path)] = true
			}
		}
		fields, _ := e["fieldsV1"].(map[string]any)
		walk(fields, "")
	}
	return paths
}

// notServed are the fields of devices that are not served.
var notServed = regexp.MustCompile(`"(nodeAllocatableResourceMappings|bools|ints|strings|versions)":`)

var notServedPath = regexp.MustCompile(`/(nodeAllocatableResourceMappings|bools|ints|strings|versions)\b`)

// inAnyOrder returns causes without the indexes of volumes, sorted, so that the order of volumes
// does not matter.
func inAnyOrder(causes []string) []string {
	list := make([]string, len(causes))
	for i, c := range causes {
		list[i] = volumeIndex.ReplaceAllString(c, ".volumes[*]")
	}
	slices.Sort(list)
	return list
}

var volumeIndex = regexp.MustCompile(`\.volumes\[[0-9]+\]`)

// portTaken reports whether the allocation of node ports refused a service.
func portTaken(a answer) bool {
	return strings.HasSuffix(fmt.Sprint(a.Body["message"]), "provided port is already allocated") ||
		slices.ContainsFunc(a.causes(), func(c string) bool { return strings.HasSuffix(c, ": provided port is already allocated") })
}

// decided reports whether a difference is listed.
func decided(kind, what string, tr trial) bool {
	for _, d := range decisions {
		if matches(d.kinds, kind) && matches(d.what, what) && (d.when == nil || d.when(tr)) {
			d.seen.Add(1)
			return true
		}
	}
	return false
}

func matches(pattern, s string) bool {
	return regexp.MustCompile("^(?:" + pattern + ")$").MatchString(s)
}

// logUnseen logs the decisions that a whole run did not need. This can be chance: run with other
// seeds before you delete one.
func logUnseen(t *testing.T) {
	for _, d := range decisions {
		if d.seen.Load() == 0 {
			t.Logf("listed, but not met: %s: %s", d.kinds, d.what)
		}
	}
}

// withNetHunks replaces the diff in a cause by how often each line is added, less how often it is
// removed. That is equal for every diff of the same two objects. If whole is false, some lines are
// cut, and it drops the diff.
func withNetHunks(causes []string, whole bool) []string {
	var list []string
	for _, c := range causes {
		text, hunks, ok := strings.Cut(c, "\n@@ ")
		if !ok {
			list = append(list, c)
			continue
		}
		if !whole {
			list = append(list, text)
			continue
		}
		net := map[string]int{}
		for _, line := range strings.Split(hunks, "\n")[1:] { // after the head of the first hunk
			if rest, ok := strings.CutPrefix(line, "+"); ok {
				net[emptyAsNone.Replace(rest)]++
			} else if rest, ok := strings.CutPrefix(line, "-"); ok {
				net[emptyAsNone.Replace(rest)]--
			}
		}
		for line, n := range net {
			if n == 0 {
				delete(net, line)
			}
		}
		list = append(list, text+fmt.Sprint(net))
	}
	slices.Sort(list)
	return list
}

// emptyAsNone replaces an empty list or map in such a line by null.
var emptyAsNone = strings.NewReplacer(`": {}`, `": null`, `": []`, `": null`)

// sameBeginnings reports whether causes are equal, except that some of ours are cut.
func sameBeginnings(theirs, ours []string) bool {
	return slices.EqualFunc(theirs, ours, func(all, shown string) bool {
		beginning, cut := strings.CutSuffix(shown, "...")
		return all == shown || cut && len(shown) >= field.MaxText && strings.HasPrefix(all, beginning)
	})
}
