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
		reason: "To Coracle an empty list inside an atomic part equals an absent one, as neither is encoded. Kubernetes compares Go values, which differ, and changes the owner of the part.",
	},
	{
		kinds: ".*", what: `[\s\S]*`, when: func(tr trial) bool { return tr.theirs.Code == panicked && tr.ours.Code < 500 },
		reason: "Kubernetes' code panics, because it does not check whether a field is set. Coracle answers.",
	},
	{
		kinds: ".*", what: `(code 4.., not 500|status differs at (code|reason|status|details).*)`, when: func(tr trial) bool {
			return tr.method == http.MethodPatch && tr.theirs.Code == http.StatusInternalServerError && tr.ours.Body["message"] == tr.theirs.Body["message"]
		},
		reason: "Kubernetes answers 500 to a strategic merge patch that does not fit and to an invalid resourceVersion. Both are mistakes of the client.",
	},
	{
		kinds: ".*", what: `(code 4.., not 500|status differs at (code|reason|status|details|message)[\s\S]*)`, when: func(tr trial) bool {
			return tr.form() == applyForm && tr.theirs.Code == http.StatusInternalServerError && tr.ours.Code == http.StatusBadRequest &&
				sameFault(fmt.Sprint(tr.theirs.Body["message"]), fmt.Sprint(tr.ours.Body["message"]))
		},
		reason: "Kubernetes answers 500 if an applied object does not fit. That is a mistake of the client. Chance decides which of several mistakes " +
			"Kubernetes finds first, and it says less about a value that does not fit its field.",
	},
	{
		kinds: ".*", what: `(code 4.., not 500|status differs at (code|reason|status|details|message)[\s\S]*)`, when: func(tr trial) bool {
			return tr.form() == applyForm && tr.theirs.Code == http.StatusInternalServerError && tr.ours.Body["message"] == "metadata.managedFields must be nil"
		},
		reason: "Kubernetes ignores managedFields that it cannot decode when it checks that there are none.",
	},
	{
		kinds: ".*", what: `(missing|extra): [\s\S]*|code 4.., not (4..|500)|status differs at (code|reason|status|details|message)[\s\S]*`, when: func(tr trial) bool {
			unfit := matches(`failed to (create typed patch|convert new) object \([\s\S]*`, fmt.Sprint(tr.theirs.Body["message"]))
			return tr.form() == applyForm && strings.Contains(tr.url, "/absent/") && !tr.theirs.accepted() && !tr.ours.accepted() &&
				(tr.ours.Code == http.StatusNotFound) != (tr.theirs.Code == http.StatusNotFound) && (tr.theirs.Code < 500 || unfit)
		},
		reason: "The client applies to a subresource of an object that does not exist. Coracle decodes the body first and then answers 404. Depending on the " +
			"kind, Kubernetes looks for the object first, or after the merge; it then answers 500 to a value that does not fit its field.",
	},
	{
		kinds: ".*", what: `[\s\S]*`, when: func(tr trial) bool {
			return (tr.form() == strategicForm || tr.form() == applyForm) && !tr.ours.accepted() &&
				(outOfRange.MatchString(fmt.Sprint(tr.ours.Body["message"])) ||
					slices.ContainsFunc(tr.ours.causes(), func(c string) bool { return outOfRange.MatchString(c) }))
		},
		reason: "When Kubernetes fills an object from a strategic merge patch or from a merged object, it lets numbers overflow, and does not take numbers " +
			"beyond 64 bits for integers.",
	},
	{
		kinds: ".*", what: `[\s\S]*`, when: func(tr trial) bool {
			return tr.form() == strategicForm && strings.Contains(string(encode(tr.body)), `:[]`) &&
				slices.ContainsFunc(tr.ours.causes(), func(c string) bool { return strings.HasSuffix(c, ": unrecognized type: uint8") })
		},
		reason: "In a strategic merge patch only, Kubernetes accepts an empty list in place of bytes. Coracle refuses it like any other list.",
	},
	{
		kinds: ".*", what: `object differs at .*`, when: func(tr trial) bool {
			return (tr.form() == strategicForm || tr.form() == applyForm) && strings.Contains(string(encode(tr.body)), "99999999999999999999")
		},
		reason: "Kubernetes reads a quantity beyond 64 bits that is a JSON number as a floating point number.",
	},
	{
		kinds: ".*", what: `(missing|extra): [\s\S]*`, when: func(tr trial) bool {
			const ours = "99999999999999999999"
			said := strings.NewReplacer(`"100E"`, `"`+ours+`"`, "100000000000000000000", ours).Replace(fmt.Sprint(tr.theirs.Body["message"]))
			return tr.form() == strategicForm && strings.Contains(said, ours) && said == tr.ours.Body["message"]
		},
		reason: "A message shows an object with such a quantity, or with an integer beyond 64 bits in a field of any type.",
	},
	{
		kinds: "Secret|ConfigMap", what: `object differs at (data|binaryData)\..*`, when: func(tr trial) bool {
			return strings.Contains(string(encode(tr.body)), ":null")
		},
		reason: "Kubernetes replaces null bytes by empty ones when it stores an object, which a dry run does not do. Coracle replaces them when it decodes the request.",
	},
	{
		kinds: "Endpoints", what: "warning extra: .*", when: func(tr trial) bool { return tr.theirs.Code == http.StatusUnsupportedMediaType },
		reason: "Coracle warns of a deprecated resource before it checks the media type of a patch. Kubernetes' router checks the media type first.",
	},
	{
		kinds: ".*", what: `object differs at metadata\.selfLink`, when: func(tr trial) bool { return tr.method == http.MethodPatch },
		reason: "Kubernetes drops a selfLink when it stores an object, which a dry run does not do.",
	},
	{
		kinds: ".*", what: `(missing|extra): patch: [\s\S]*`, when: func(tr trial) bool { return slices.EqualFunc(tr.theirs.causes(), tr.ours.causes(), cutInQuotes) },
		reason: "Coracle shows only the first 4 KiB of a wrong object or patch.",
	},
	{
		kinds: ".*", what: "metadata causes in another place",
		reason: "Coracle validates metadata first, in one order for all kinds. In kube-apiserver each kind has its own order.",
	},
	{
		kinds: "CustomResourceDefinition", what: `missing: [\s\S]*|extra: [\s\S]*<value omitted>[\s\S]*`, when: func(tr trial) bool {
			text := fmt.Sprint(tr.ours.Body["message"])
			return strings.Contains(text, "and at least ") || strings.Contains(text, "<value omitted>")
		},
		reason: "A message shows whole versions and schemas, several times. Coracle shows at most 64 KiB of all errors, and no value of 256 KiB.",
	},
	{
		kinds: "CustomResourceDefinition", what: "refused: 0 <nil>", when: func(tr trial) bool {
			deleted, _, _ := unstructured.NestedFieldNoCopy(tr.body, "metadata", "deletionTimestamp")
			return tr.method == http.MethodGet && tr.ours.Code == http.StatusNotFound && deleted != nil
		},
		reason: "A definition that is being deleted disappears when its objects are gone or, without finalizers, at the next write of its conditions. On " +
			"Kubernetes' side no controller does that here.",
	},
	{
		kinds: "Event|ReplicationController|DeviceClass|PodDisruptionBudget|CertificateSigningRequest", what: `extra: metadata\..*`, when: func(tr trial) bool { return len(tr.theirs.causes()) > 0 },
		reason: "For some kinds, Kubernetes validates metadata only if it finds no other error. Coracle reports all errors at once.",
	},
	{
		kinds: ".*", what: "warning extra: 0 - .*", when: func(tr trial) bool {
			return tr.theirs.Code == http.StatusBadRequest && strings.Contains(fmt.Sprint(tr.ours.Warnings), "ownerReferences contains duplicate entries")
		},
		reason: "Coracle drops repeated owners, with a warning, when it decodes an object, even if it then refuses the object's name.",
	},
	{
		kinds: ".*", what: `(missing|extra): .*: must be an integer`, when: func(tr trial) bool {
			return slices.ContainsFunc(slices.Concat(tr.theirs.causes(), tr.ours.causes()), func(c string) bool {
				return strings.HasSuffix(c, ": must be an integer") && hugeAmount.MatchString(c)
			})
		},
		reason: "In Kubernetes the thousandths of such an amount overflow, and it checks the overflowed number.",
	},
	{
		kinds: ".*", what: `status differs at message: the name of the object \(.*`, when: func(tr trial) bool { return len(fmt.Sprint(tr.theirs.Body["message"])) > 512 },
		reason: "Coracle repeats only the beginning of a client's own text.",
	},
	{
		kinds: ".*", what: `(missing|extra): [\s\S]*`, when: func(tr trial) bool {
			theirs, ours := tr.theirs.causes(), tr.ours.causes()
			whole := !slices.ContainsFunc(ours, func(c string) bool { return strings.HasSuffix(c, "...") })
			return slices.Equal(withNetHunks(theirs, whole), withNetHunks(ours, whole))
		},
		reason: "Coracle's diff of two long texts is a shortest one, Kubernetes' has long blocks. Coracle shows 4 KiB of the diff, and shows an empty list " +
			"or map as null, as it is encoded.",
	},
	{
		kinds: "Pod", what: `extra: metadata\..*`, when: func(tr trial) bool {
			return slices.ContainsFunc(tr.theirs.causes(), func(c string) bool { return strings.HasPrefix(c, "[]: FieldValueForbidden: ") })
		},
		reason: "If a mirror pod is to be resized or debugged, Kubernetes reports only that error.",
	},
	{
		kinds: "Pod", what: `object differs at status\.conditions\[\*\]\.lastTransitionTime`,
		when:   func(tr trial) bool { return tr.method == http.MethodPost },
		reason: "The two servers answered in different seconds.",
	},
	{
		kinds: "CertificateSigningRequest", what: `(missing|extra): status\.conditions: FieldValueForbidden: [\s\S]*condition of type[\s\S]*`,
		when: func(tr trial) bool {
			now := regexp.MustCompile(`\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ`)
			return now.ReplaceAllString(fmt.Sprint(tr.theirs.causes()), "now") == now.ReplaceAllString(fmt.Sprint(tr.ours.causes()), "now")
		},
		reason: "The two servers answered in different seconds.",
	},
	{
		kinds: "Pod", what: `(missing|extra): spec: FieldValueInvalid: Invalid value: "…": Pod QOS Class may not change .*`,
		reason: "Coracle shows the QoS class of the stored pod. Kubernetes does so, too, unless containers were added or removed.",
	},
	{
		kinds: "StatefulSet", what: `(missing|extra): spec\.template\.spec\.volumes\[\*\]\..*`, when: func(tr trial) bool {
			return slices.Equal(inAnyOrder(tr.theirs.causes()), inAnyOrder(tr.ours.causes()))
		},
		reason: "Kubernetes validates the template with the volumes of the claims in the order of a map. Coracle keeps the order of the claims.",
	},
	{
		kinds: "Deployment|DaemonSet", what: `not refused: [\s\S]*|(missing|extra): [\s\S]*|code 4.., not ...|status differs at [\s\S]*|warning extra: .*`, when: func(tr trial) bool {
			body := string(encode(tr.body))
			return !tr.theirs.accepted() && strings.Contains(string(encode(tr.theirs.Body)), "strconv.ParseInt: parsing") &&
				(strings.Contains(body, "deprecated.daemonset.template.generation") || strings.Contains(body, "deprecated.deployment.rollback.to"))
		},
		reason: "Kubernetes decodes an annotation that was a field in an older version, and stops at a mistake in it. Coracle reports a mistake in a " +
			"rollback together with all other errors, and counts the templates of a daemon set itself, whatever the annotation says.",
	},
	{
		kinds: "LimitRange", what: `(object|status) differs at (metadata\.name|details\.name|message).*`,
		when:   func(tr trial) bool { return nameOf(tr.body) == "" },
		reason: "Each server generates a name for a limit range without one.",
	},
	{
		kinds: "EndpointSlice", what: `object differs at metadata\.generation`,
		when: func(tr trial) bool {
			return strings.Contains(string(encode(tr.body)), "deprecatedTopology")
		},
		reason: "Kubernetes increases the generation before it drops deprecatedTopology, which may be the only change.",
	},
	{
		kinds: "(Valid|Mut)ating(WebhookConfiguration|AdmissionPolicy)", what: `(missing|extra): .*[eE]xpression: FieldValueInvalid: [\s\S]*`,
		when:   func(tr trial) bool { return sameBeginnings(tr.theirs.causes(), tr.ours.causes()) },
		reason: "Coracle shows 4 KiB of the errors of an expression.",
	},
	{
		kinds:  "DeviceClass|ResourceClaim(Template)?",
		what:   `missing: .*[eE]xpression: FieldValueInvalid: Invalid value: "…": (compilation failed: |must evaluate to )[\s\S]*`,
		reason: "Coracle does not compile expressions about devices.",
	},
	{
		kinds: "(Valid|Mut)atingWebhookConfiguration", what: `object differs at metadata\.generation`, when: func(tr trial) bool {
			body := string(encode(tr.body))
			return strings.Contains(body, "[]") || strings.Contains(body, "{}")
		},
		reason: "Kubernetes increases the generation if a list or map is empty in the request and unset in the store, although it is stored as unset again.",
	},
	{
		kinds: "ResourceSlice", what: `object differs at metadata\.generation`, when: func(tr trial) bool {
			return notServed.Match(encode(tr.body)) || tr.form() == jsonForm && notServedPath.Match(encode(tr.body))
		},
		reason: "Kubernetes increases the generation before it drops fields that are not served, which may be the only change.",
	},
	{
		kinds: "Service", what: `(not )?refused: [\s\S]*|(missing|extra): [\s\S]*|code ..., not ...|status differs at [\s\S]*|warning (missing|extra): .*`, when: func(tr trial) bool {
			return portTaken(tr.theirs) || portTaken(tr.ours)
		},
		reason: "Node ports are allocated before validation, and a refusal there is the only error. Here Kubernetes' allocator does not know the node ports of stored services.",
	},
	{
		kinds: "Service", what: `missing: spec\.ports\[\*\]\.nodePort: FieldValueDuplicate: .*`,
		reason: "Kubernetes allocated one of the two equal node ports.",
	},
	{
		kinds: "Service", what: `object differs at cell Cluster-IP`,
		reason: "Kubernetes fills in clusterIPs when it reads a service that was stored before the field existed.",
	},
	{
		kinds: ".*", what: `causes in another order: [\s\S]*`, when: func(tr trial) bool {
			return strings.Contains(string(encode(tr.ours.causes())), "Total length of <volume name>")
		},
		reason: "Kubernetes reports that an initiator makes the volume's name too long between the errors of the source. Coracle reports it after them.",
	},
	{
		kinds: "CertificateSigningRequest", what: `extra: metadata\.generateName: .*: may not contain '[/%]'`,
		reason: "Kubernetes has no rule of its own for the names of these requests. On an update Coracle repeats the rule for all names together with the other errors.",
	},
	{
		kinds: "Node", what: `object differs at status\.allocatable`, when: func(tr trial) bool {
			theirs, _ := tr.theirs.Body["status"].(map[string]any)
			ours, _ := tr.ours.Body["status"].(map[string]any)
			return ours["allocatable"] == nil && reflect.DeepEqual(theirs["allocatable"], theirs["capacity"])
		},
		reason: "An empty allocatable is not encoded. Kubernetes decodes the stored object again for its answer, which fills allocatable from capacity. " +
			"Coracle fills it when it next loads the node.",
	},
	{
		kinds: "NetworkPolicy", what: `object differs at metadata\.generation`, when: func(tr trial) bool {
			return emptyValue.Match(encode(tr.body)) || tr.form() == jsonForm && emptyAdded.Match(encode(tr.body)) ||
				(tr.form() == mergeForm || tr.form() == strategicForm) && leavesEmpty.Match(encode(tr.body))
		},
		reason: "To Kubernetes an empty list or map in place of none is a change, and it does not store the empty value, so every such update is a change. A " +
			"merge patch of nulls only, or of a directive only, leaves an empty value.",
	},
	{
		kinds: ".*", what: `null for what is empty at .*`, when: func(tr trial) bool { // not for kinds that are stored as JSON
			return !strings.Contains(tr.url, "/customresourcedefinitions") && !strings.Contains(tr.url, "/apiservices")
		},
		reason: "An empty list or map is null when it is read back from the store, and in the answers of a whole kube-apiserver. The handlers here answer " +
			"with the object before it is read back.",
	},
	{
		kinds: "IPAddress", what: `(extra|missing): metadata\.name: .*must be a valid IP address.*`, when: func(tr trial) bool {
			return strings.Contains(string(encode(tr.body)), `"generateName"`)
		},
		reason: "Kubernetes validates generateName itself as an address. Coracle appends a suffix, as for all kinds, and refuses the result.",
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
