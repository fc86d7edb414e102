package noderestriction_test

import (
	"context"
	"crypto/rand"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/base64"
	"encoding/json"
	"encoding/pem"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/coracle-project/coracle/filters/authn/pkitest"
	"github.com/coracle-project/coracle/registry/admission"
	"github.com/coracle-project/coracle/registry/admission/noderestriction"
	"github.com/coracle-project/coracle/registry/check/checktest"
	"github.com/coracle-project/coracle/router/request"
	"github.com/coracle-project/coracle/scheme/api/authenticationv1"
	"github.com/coracle-project/coracle/scheme/api/certificatesv1"
	"github.com/coracle-project/coracle/scheme/api/coordinationv1"
	"github.com/coracle-project/coracle/scheme/api/corev1"
	"github.com/coracle-project/coracle/scheme/api/policyv1"
	"github.com/coracle-project/coracle/scheme/api/resourcev1"
	"github.com/coracle-project/coracle/scheme/api/storagev1"
	"github.com/coracle-project/coracle/scheme/meta"
)

// cluster has the objects that writes of kubelets refer to: the nodes n1 and n2, a pod on each, and
// the volumes of the pod mine.
type cluster struct{ t *testing.T }

const mine = `{"metadata":{"name":"mine","namespace":"ns","uid":"u"},"spec":{"nodeName":"n1","volumes":[
	{"name":"a","projected":{"sources":[{"serviceAccountToken":{"audience":"projected"}}]}},
	{"name":"b","csi":{"driver":"inline"}},
	{"name":"c","persistentVolumeClaim":{"claimName":"claimed"}},
	{"name":"d","ephemeral":{"volumeClaimTemplate":{"spec":{}}}}]}}`

func lookUp[T any, P interface {
	*T
	meta.Object
}](c cluster, resource, name string, all map[string]string) (P, error) {
	if text, ok := all[name]; ok {
		return checktest.Decode[T, P](c.t, text), nil
	}
	return nil, meta.NewNotFound(meta.GroupResource{Resource: resource}, name)
}

func (c cluster) Pod(_ context.Context, namespace, name string) (*corev1.Pod, error) {
	if namespace == "broken" {
		return nil, errors.New("the store is away")
	}
	return lookUp[corev1.Pod](c, "pods", name, map[string]string{
		"mine": mine, "theirs": `{"metadata":{"name":"theirs","namespace":"ns","uid":"u"},"spec":{"nodeName":"n2"}}`,
		"lost": `{"metadata":{"name":"lost","namespace":"ns","uid":"u"},"spec":{"nodeName":"n1","volumes":[
			{"name":"a","persistentVolumeClaim":{"claimName":"none"}},{"name":"b","persistentVolumeClaim":{"claimName":"gone"}},
			{"name":"c","persistentVolumeClaim":{"claimName":"none"}}]}}`,
		"odd": `{"metadata":{"name":"odd","namespace":"ns","uid":"u"},"spec":{"nodeName":"n1","volumes":[
			{"name":"a","azureDisk":{"diskName":"d","diskURI":"u","kind":"Shared"}},{"name":"b","awsElasticBlockStore":{"volumeID":"aws:///vol-1/2"}},
			{"name":"c","persistentVolumeClaim":{"claimName":"share"}},{"name":"d","persistentVolumeClaim":{"claimName":"zones"}}]}}`,
	})
}

func (c cluster) Node(_ context.Context, name string) (*corev1.Node, error) {
	if name == "broken" {
		return nil, errors.New("the store is away")
	}
	return lookUp[corev1.Node](c, "nodes", name, map[string]string{"n1": `{"metadata":{"name":"n1","uid":"u1"}}`, "n2": `{"metadata":{"name":"n2","uid":"u2"}}`})
}

func (c cluster) Claim(_ context.Context, _, name string) (*corev1.PersistentVolumeClaim, error) {
	return lookUp[corev1.PersistentVolumeClaim](c, "persistentvolumeclaims", name, map[string]string{
		"claimed": `{"spec":{"volumeName":"big"}}`, "mine-d": `{"spec":{"volumeName":"old"}}`,
		"share": `{"spec":{"volumeName":"share"}}`, "zones": `{"spec":{"volumeName":"zones"}}`,
	})
}

func (c cluster) Volume(_ context.Context, name string) (*corev1.PersistentVolume, error) {
	return lookUp[corev1.PersistentVolume](c, "persistentvolumes", name, map[string]string{
		"big": `{"spec":{"csi":{"driver":"claimed","volumeHandle":"h"}}}`, "old": `{"spec":{"awsElasticBlockStore":{"volumeID":"i"}}}`,
		"share": `{"spec":{"azureFile":{"secretName":"s","shareName":"h"}}}`,
		"zones": `{"metadata":{"labels":{"topology.kubernetes.io/zone":"us-east1-b__us-west1-b"}},"spec":{"gcePersistentDisk":{"pdName":"d"}}}`,
	})
}

func (c cluster) Driver(_ context.Context, name string) (*storagev1.CSIDriver, error) {
	asks := func(audience string) string {
		return fmt.Sprintf(`{"spec":{"tokenRequests":[{"audience":%q}]}}`, audience)
	}
	return lookUp[storagev1.CSIDriver](c, "csidrivers", name, map[string]string{
		"inline": asks("of-inline"), "claimed": asks("of-claimed"), "ebs.csi.aws.com": asks("of-migrated"),
	})
}

// Authorize answers whether n1 may request tokens for an audience: "granted" is allowed,
// "undecided" fails.
func (cluster) Authorize(_ context.Context, a *request.Attributes) (request.Decision, string, error) {
	switch {
	case a.Verb != "request-serviceaccounts-token-audience" || a.User.Name != "system:node:n1" || a.Namespace != "ns" || a.Name != "bot":
		return request.Deny, "asked about something else", nil
	case a.Resource == "granted":
		return request.Allow, "", nil
	case a.Resource == "undecided":
		return request.NoOpinion, "", errors.New("nobody knows")
	}
	return request.NoOpinion, "", nil
}

// restricted has the group and a decoder of each resource that the test writes, by resource.
var restricted = map[string]struct {
	group  string
	decode func(t *testing.T, text string) meta.Object
}{
	"pods":                       {"", decoder[corev1.Pod]()},
	"pods/status":                {"", decoder[corev1.Pod]()},
	"pods/eviction":              {"", decoder[policyv1.Eviction]()},
	"pods/binding":               {"", decoder[corev1.Pod]()},
	"nodes":                      {"", decoder[corev1.Node]()},
	"nodes/status":               {"", decoder[corev1.Node]()},
	"persistentvolumeclaims":     {"", decoder[corev1.PersistentVolumeClaim]()},
	"serviceaccounts":            {"", decoder[corev1.ServiceAccount]()},
	"serviceaccounts/token":      {"", decoder[authenticationv1.TokenRequest]()},
	"configmaps":                 {"", decoder[corev1.ConfigMap]()},
	"leases":                     {"coordination.k8s.io", decoder[coordinationv1.Lease]()},
	"csinodes":                   {"storage.k8s.io", decoder[storagev1.CSINode]()},
	"resourceslices":             {"resource.k8s.io", decoder[resourcev1.ResourceSlice]()},
	"certificatesigningrequests": {"certificates.k8s.io", decoder[certificatesv1.CertificateSigningRequest]()},

	"persistentvolumeclaims/status": {"", decoder[corev1.PersistentVolumeClaim]()},
}

func decoder[T any, P interface {
	*T
	meta.Object
}]() func(t *testing.T, text string) meta.Object {
	return func(t *testing.T, text string) meta.Object { return checktest.Decode[T, P](t, text) }
}

// TestNodeRestriction writes as the kubelet of n1. A line has the write ("verb resource
// namespace/name"), the old object, the new object, and the reason of the refusal, "" for none.
// test/differential compares random writes with Kubernetes' own plugin.
func TestNodeRestriction(t *testing.T) {
	const (
		owner  = `{"apiVersion":"v1","kind":"Node","name":"n1","uid":"u1","controller":true}`
		mirror = `{"metadata":{"annotations":{"kubernetes.io/config.mirror":"x"},"ownerReferences":[` + owner + `]},"spec":{"nodeName":"n1"}}`
		own    = `{"spec":{"nodeName":"n1"}}`
		others = `{"spec":{"nodeName":"n2"}}`
	)
	// owned returns the mirror pod with other owners, with the mirror pod with more fields in its
	// spec.
	owned := func(owners string) string { return strings.Replace(mirror, owner, owners, 1) }
	with := func(spec string) string {
		return strings.Replace(mirror, `{"nodeName":"n1"}`, `{"nodeName":"n1",`+spec+`}`, 1)
	}
	volume := func(source string) string { return with(`"volumes":[{"name":"v",` + source + `}]`) }
	container := func(part string) string { return with(`"containers":[{"name":"c",` + part + `}]`) }
	refers := func(what string) string { return `node "n1" can not create pods that reference ` + what }
	claims := func(name string) string {
		return fmt.Sprintf(`{"spec":{"nodeName":"n1"},"status":{"resourceClaimStatuses":[{"name":"a","resourceClaimName":%q}],`+
			`"extendedResourceClaimStatus":{"resourceClaimName":%[1]q}}}`, name)
	}
	labels := func(text string) string { return `{"metadata":{"name":"n1","labels":{` + text + `}}}` }
	token := func(ref, audiences string) string {
		return `{"spec":{"boundObjectRef":` + ref + `,"audiences":[` + audiences + `]}}`
	}
	bound := func(audiences string) string {
		return token(`{"apiVersion":"v1","kind":"Pod","name":"mine","uid":"u"}`, audiences)
	}
	ungranted := func(audience string) string {
		return fmt.Sprintf(`audience %q not found in pod spec volume, system:node:n1 is not authorized to request tokens for this audience`, audience)
	}
	signing := func(signer string, request []byte) string {
		return fmt.Sprintf(`{"spec":{"signerName":%q,"request":%q}}`, signer, base64.StdEncoding.EncodeToString(request))
	}
	const client, serving = "kubernetes.io/kube-apiserver-client-kubelet", "kubernetes.io/kubelet-serving"
	asksFor := signingRequests(t, pkix.Name{CommonName: "system:node:n1"}, pkix.Name{CommonName: "system:node:n2"})

	var refused []string // the reasons that were given
	check := func(a *admission.Attributes, want string, what ...string) {
		t.Helper()
		refused = append(refused, checkRestriction(t, a, want, what...))
	}
	for _, tt := range []struct{ does, old, sent, refused string }{
		// Mirror pods, which show what a kubelet runs without the server.
		{"create pods ns/x", "", mirror, ""},
		{"create pods ns/x", "", own, `pod does not have "kubernetes.io/config.mirror" annotation, node "n1" can only create mirror pods`},
		{"create pods ns/x", "", strings.Replace(mirror, `"nodeName":"n1"`, `"nodeName":"n2"`, 1), `node "n1" can only create pods with spec.nodeName set to itself`},
		{"create pods ns/x", "", owned(``), `node "n1" can only create pods with an owner reference set to itself`},
		{"create pods ns/x", "", owned(owner + "," + owner), `node "n1" can only create pods with a single owner reference set to itself`},
		{"create pods ns/x", "", owned(strings.Replace(owner, `"n1"`, `"n2"`, 1)), `node "n1" can only create pods with an owner reference set to itself`},
		{"create pods ns/x", "", owned(strings.Replace(owner, "Node", "Pod", 1)), `node "n1" can only create pods with an owner reference set to itself`},
		{"create pods ns/x", "", owned(strings.Replace(owner, `"v1"`, `"v2"`, 1)), `node "n1" can only create pods with an owner reference set to itself`},
		{"create pods ns/x", "", owned(strings.Replace(owner, "true", "false", 1)), `node "n1" can only create pods with a controller owner reference set to itself`},
		{"create pods ns/x", "", owned(strings.Replace(owner, `}`, `,"blockOwnerDeletion":true}`, 1)), `node "n1" must not set blockOwnerDeletion on an owner reference`},
		{"create pods ns/x", "", owned(strings.Replace(owner, `"u1"`, `"u2"`, 1)), `node n1 UID mismatch: expected u2 got u1`},
		{"update pods ns/x", own, own, `unexpected operation "UPDATE", node "n1" can only create and delete mirror pods`},
		{"delete pods ns/x", own, "", ""},
		{"delete pods ns/x", others, "", `node "n1" can only delete pods with spec.nodeName set to itself`},
		{"create pods/binding ns/x", "", own, `unexpected pod subresource "binding", only 'status' and 'eviction' are allowed`},

		// The objects that a mirror pod refers to.
		{"create pods ns/x", "", volume(`"hostPath":{"path":"/"}`), ""},
		{"create pods ns/x", "", volume(`"emptyDir":{}`), ""},
		{"create pods ns/x", "", container(`"env":[{"name":"a","value":"b"}]`), ""},
		{"create pods ns/x", "", with(`"serviceAccountName":"a"`), refers("serviceaccounts")},
		{"create pods ns/x", "", with(`"imagePullSecrets":[{"name":"a"}]`), refers("secrets")},
		{"create pods ns/x", "", container(`"envFrom":[{"secretRef":{"name":"a"}}]`), refers("secrets")},
		{"create pods ns/x", "", container(`"envFrom":[{"configMapRef":{"name":"a"}}]`), refers("configmaps")},
		{"create pods ns/x", "", container(`"env":[{"name":"a","valueFrom":{"secretKeyRef":{"name":"a","key":"k"}}}]`), refers("secrets")},
		{"create pods ns/x", "", container(`"env":[{"name":"a","valueFrom":{"configMapKeyRef":{"name":"a","key":"k"}}}]`), refers("configmaps")},
		{"create pods ns/x", "", with(`"initContainers":[{"name":"c","envFrom":[{"secretRef":{"name":"a"}}]}]`), refers("secrets")},
		{"create pods ns/x", "", with(`"ephemeralContainers":[{"name":"c","envFrom":[{"secretRef":{"name":"a"}}]}]`), refers("secrets")},
		{"create pods ns/x", "", with(`"resourceClaims":[{"name":"a"}]`), refers("resourceclaims")},
		{"create pods ns/x", "", volume(`"secret":{"secretName":"a"}`), refers("secrets")},
		{"create pods ns/x", "", volume(`"secret":{}`), refers("secrets (via secret volumes)")},
		{"create pods ns/x", "", volume(`"configMap":{"name":"a"}`), refers("configmaps")},
		{"create pods ns/x", "", volume(`"configMap":{}`), refers("configmaps (via configmap volumes)")},
		{"create pods ns/x", "", volume(`"cephfs":{"monitors":["m"],"secretRef":{"name":"a"}}`), refers("secrets")},
		{"create pods ns/x", "", volume(`"cinder":{"volumeID":"i","secretRef":{"name":"a"}}`), refers("secrets")},
		{"create pods ns/x", "", volume(`"flexVolume":{"driver":"d","secretRef":{"name":"a"}}`), refers("secrets")},
		{"create pods ns/x", "", volume(`"rbd":{"monitors":["m"],"image":"i","secretRef":{"name":"a"}}`), refers("secrets")},
		{"create pods ns/x", "", volume(`"scaleIO":{"gateway":"g","system":"s","secretRef":{"name":"a"}}`), refers("secrets")},
		{"create pods ns/x", "", volume(`"iscsi":{"targetPortal":"p","iqn":"q","lun":0,"secretRef":{"name":"a"}}`), refers("secrets")},
		{"create pods ns/x", "", volume(`"storageos":{"secretRef":{"name":"a"}}`), refers("secrets")},
		{"create pods ns/x", "", volume(`"projected":{"sources":[{"secret":{"name":"a"}}]}`), refers("secrets")},
		{"create pods ns/x", "", volume(`"projected":{"sources":[{"configMap":{"name":"a"}}]}`), refers("configmaps")},
		{"create pods ns/x", "", volume(`"projected":{"sources":[{"secret":{}}]}`), refers("secrets (via projected volumes)")},
		{"create pods ns/x", "", volume(`"projected":{"sources":[{"configMap":{}}]}`), refers("configmaps (via projected volumes)")},
		{"create pods ns/x", "", volume(`"csi":{"driver":"d"}`), refers("csidrivers (via CSI volumes)")},
		{"create pods ns/x", "", volume(`"csi":{"driver":"d","nodePublishSecretRef":{"name":"a"}}`), refers("secrets")},
		{"create pods ns/x", "", volume(`"glusterfs":{"endpoints":"a"}`), refers("endpoints (via glusterFS volumes)")},
		{"create pods ns/x", "", volume(`"persistentVolumeClaim":{"claimName":"a"}`), refers("persistentvolumeclaims")},
		{"create pods ns/x", "", volume(`"ephemeral":{}`), refers("persistentvolumeclaims (via ephemeral volumes)")},
		{"create pods ns/x", "", volume(`"azureFile":{"shareName":"a"}`), refers("secrets (via azureFile volumes)")},
		{"create pods ns/x", "", volume(`"projected":{"sources":[{"downwardAPI":{}}]}`), ""},
		{"create pods ns/x", "", volume(`"projected":{"sources":[{"downwardAPI":{}},{"serviceAccountToken":{"path":"t"}}]}`), refers("serviceaccounts (via projected volumes)")},
		{"create pods ns/x", "", volume(`"projected":{"sources":[{"clusterTrustBundle":{"path":"t"}}]}`), refers("clustertrustbundles")},
		{"create pods ns/x", "", volume(`"projected":{"sources":[{"podCertificate":{}}]}`), refers("podcertificates")},
		{"create pods ns/x", "", volume(`"projected":{"sources":[{}]}`), `error checking mirror pod for API references: unknown source for projected volume "v"`},

		// The status of pods, and evictions.
		{"update pods/status ns/x", own, `{"spec":{"nodeName":"n1"},"status":{"phase":"Running"}}`, ""},
		{"update pods/status ns/x", claims("r"), claims("r"), ""},
		{"update pods/status ns/x", claims("r"), claims("s"), `node "n1" cannot update resource claim statues`},
		{"update pods/status ns/x", others, own, `node "n1" can only update pod status for pods with spec.nodeName set to itself`},
		{"create pods/status ns/x", "", own, `unexpected operation "CREATE"`},
		{"update pods/status ns/x", own, `{"metadata":{"labels":{"a":"b"}},"spec":{"nodeName":"n1"}}`, `node "n1" cannot update labels through pod status`},
		{"update pods/status ns/x", own, `{"spec":{"nodeName":"n1"},"status":{"resourceClaimStatuses":[{"name":"a"}]}}`, `node "n1" cannot update resource claim statues`},
		{"update pods/status ns/x", own, `{"spec":{"nodeName":"n1"},"status":{"extendedResourceClaimStatus":{"resourceClaimName":"a"}}}`,
			`node "n1" cannot update extended resource claim status`},
		{"create pods/eviction ns/mine", "", `{}`, ""},
		{"create pods/eviction ns/", "", `{"metadata":{"name":"mine"}}`, ""},
		{"create pods/eviction ns/theirs", "", `{"metadata":{"name":"mine"}}`, `node n1 can only evict pods with spec.nodeName set to itself`},
		{"create pods/eviction ns/none", "", `{}`, `pods "none" not found`},
		{"create pods/eviction broken/x", "", `{}`, `the store is away`},
		{"update pods/eviction ns/mine", `{}`, `{}`, `unexpected operation UPDATE`},

		// The node itself.
		{"create nodes n1", "", labels(`"kubernetes.io/os":"linux","example.com/a":"b","plain":"x","node.kubernetes.io/any":"x"`), ""},
		{"create nodes n2", "", `{"metadata":{"name":"n2"}}`, `node "n1" is not allowed to modify node "n2"`},
		{"create nodes n1", "", labels(`"node-role.kubernetes.io/control-plane":"","a.node-restriction.kubernetes.io/b":""`),
			`node "n1" is not allowed to set the following labels: a.node-restriction.kubernetes.io/b, node-role.kubernetes.io/control-plane`},
		{"create nodes n1", "", `{"metadata":{"name":"n1"},"spec":{"configSource":{}}}`, `node "n1" is not allowed to create pods with a non-nil configSource`},
		{"create nodes n1", "", `{"metadata":{"name":"n1"},"spec":{"taints":[{"key":"a","effect":"NoSchedule"}]}}`, ""},
		{"update nodes n1", labels(``), labels(`"kubelet.kubernetes.io/a":"b"`), ""},
		{"update nodes n1", labels(``), labels(`"x.k8s.io/a":"b"`), `is not allowed to modify labels: x.k8s.io/a`},
		{"update nodes n1", labels(`"x.k8s.io/a":"b"`), labels(`"x.k8s.io/a":"c"`), `is not allowed to modify labels: x.k8s.io/a`},
		{"update nodes n1", labels(`"x.k8s.io/a":"b"`), labels(``), `is not allowed to modify labels: x.k8s.io/a`},
		{"update nodes n1", labels(`"x.k8s.io/a":"b"`), labels(`"x.k8s.io/a":"b"`), ""},
		{"update nodes/status n1", labels(``), labels(`"x.k8s.io/a":"b"`), `is not allowed to modify labels: x.k8s.io/a`},
		{"update nodes n1", labels(``), `{"metadata":{"name":"n1"},"spec":{"taints":[{"key":"a","effect":"NoSchedule"}]}}`, `node "n1" is not allowed to modify taints`},
		{"update nodes n1", labels(``), `{"metadata":{"name":"n1","ownerReferences":[` + owner + `]}}`, `node "n1" is not allowed to modify ownerReferences`},
		{"update nodes n1", labels(``), `{"metadata":{"name":"n1"},"spec":{"configSource":{}}}`, `node "n1" is not allowed to update configSource to a new non-nil configSource`},
		{"update nodes n1", `{"metadata":{"name":"n1"},"spec":{"configSource":{}}}`, labels(``), ""},
		{"update nodes n2", `{"metadata":{"name":"n2"}}`, `{"metadata":{"name":"n2"}}`, `node "n1" is not allowed to modify node "n2"`},
		{"delete nodes n1", labels(``), "", ""},
		{"delete nodes n2", labels(``), "", `node "n1" is not allowed to modify node "n2"`},

		// Claims: the kubelet reports how far their volumes have been resized.
		{"update persistentvolumeclaims/status ns/x", `{}`, `{"status":{"capacity":{"storage":"1Gi"},"conditions":[{"type":"Resizing","status":"True"}]}}`, ""},
		{"update persistentvolumeclaims/status ns/x", `{}`, `{"status":{"phase":"Lost"}}`,
			`node "n1" is not allowed to update fields other than status.quantity and status.conditions: `},
		{"update persistentvolumeclaims/status ns/x", `{}`, `{"metadata":{"labels":{"a":"b"}}}`,
			`node "n1" is not allowed to update fields other than status.quantity and status.conditions: `},
		{"create persistentvolumeclaims/status ns/x", "", `{}`, `unexpected operation "CREATE"`},
		{"update persistentvolumeclaims ns/x", `{}`, `{}`, `may only update PVC status`},

		// Tokens: only for pods of the node, and only for audiences that these pods need.
		{"create serviceaccounts/token ns/bot", "", bound(`"projected"`), ""},
		{"create serviceaccounts/token ns/bot", "", bound(`"of-inline"`), ""},
		{"create serviceaccounts/token ns/bot", "", bound(`"of-claimed"`), ""},
		{"create serviceaccounts/token ns/bot", "", bound(`"of-migrated"`), ""},
		{"create serviceaccounts/token ns/bot", "", bound(`"granted"`), ""},
		{"create serviceaccounts/token ns/bot", "", bound(`"other"`), ungranted("other")},
		{"create serviceaccounts/token ns/bot", "", bound(``), ungranted("")},
		{"create serviceaccounts/token ns/bot", "", bound(`"undecided"`),
			`audience "undecided" not found in pod spec volume, error authorizing system:node:n1 to request tokens for this audience: nobody knows`},
		{"create serviceaccounts/token ns/bot", "", bound(`"a","b"`), `node may only request 0 or 1 audiences`},
		{"create serviceaccounts/token ns/bot", "", `{"spec":{"audiences":["projected"]}}`, `node requested token not bound to a pod`},
		{"create serviceaccounts/token ns/bot", "", token(`{"apiVersion":"v1","kind":"Secret","name":"mine","uid":"u"}`, ``), `node requested token not bound to a pod`},
		{"create serviceaccounts/token ns/bot", "", token(`{"apiVersion":"v1","kind":"Pod","uid":"u"}`, ``), `node requested token not bound to a pod`},
		{"create serviceaccounts/token ns/bot", "", token(`{"apiVersion":"v1","kind":"Pod","name":"mine"}`, ``), `node requested token with a pod binding without a uid`},
		{"create serviceaccounts/token ns/bot", "", token(`{"apiVersion":"v1","kind":"Pod","name":"mine","uid":"v"}`, ``),
			`the UID in the bound object reference (v) does not match the UID in record. The object might have been deleted and then recreated`},
		{"create serviceaccounts/token ns/bot", "", token(`{"apiVersion":"v1","kind":"Pod","name":"theirs","uid":"u"}`, ``),
			`node requested token bound to a pod scheduled on a different node`},
		{"create serviceaccounts/token ns/bot", "", token(`{"apiVersion":"v1","kind":"Pod","name":"none","uid":"u"}`, ``), `pods "none" not found`},
		{"create serviceaccounts/token ns/bot", "", token(`{"apiVersion":"v1","kind":"Pod","name":"lost","uid":"u"}`, `"a"`),
			`error validating audience "a": [persistentvolumeclaims "none" not found, persistentvolumeclaims "gone" not found]`},
		{"create serviceaccounts/token ns/bot", "", token(`{"apiVersion":"v1","kind":"Pod","name":"odd","uid":"u"}`, `"granted"`),
			`error validating audience "granted": [kind(Shared) is not supported in csi migration, ` +
				`failed to translate Kubernetes ID to EBS Volume ID Invalid format for AWS volume (aws:///vol-1/2), ` +
				`could not find a secret namespace in PersistentVolumeSource or ClaimRef, ` +
				`failed to get region from zones: multiple or no regions gotten from zones, got: map[us-east1:{} us-west1:{}]]`},

		// Other objects that belong to the node.
		{"create leases kube-node-lease/n1", "", `{"metadata":{"name":"n1"}}`, ""},
		{"create leases kube-node-lease/", "", `{"metadata":{"name":"n2"}}`, `can only access node lease with the same name as the requesting node`},
		{"update leases kube-node-lease/n2", `{}`, `{}`, `can only access node lease with the same name as the requesting node`},
		{"update leases ns/n1", `{}`, `{}`, `can only access leases in the "kube-node-lease" system namespace`},
		{"create csinodes n1", "", `{"metadata":{"name":"n1"}}`, ""},
		{"update csinodes n2", `{}`, `{}`, `can only access CSINode with the same name as the requesting node`},
		{"create resourceslices x", "", `{"spec":{"nodeName":"n1"}}`, ""},
		{"create resourceslices x", "", `{"spec":{"nodeName":"n2"}}`, `can only create ResourceSlice with the same NodeName as the requesting node`},
		{"create resourceslices x", "", `{"spec":{"allNodes":true}}`, `can only create ResourceSlice with the same NodeName as the requesting node`},
		{"update resourceslices x", others, others, ""}, // the Node authorizer refuses it before admission
		{"delete resourceslices x", others, "", `can only delete ResourceSlice with the same NodeName as the requesting node`},
		{"create certificatesigningrequests x", "", signing(client, asksFor[0]), ""},
		{"create certificatesigningrequests x", "", signing(client, asksFor[1]), `can only create a node CSR with CN=system:node:n1`},
		{"create certificatesigningrequests x", "", signing(serving, asksFor[1]), `can only create a node CSR with CN=system:node:n1`},
		{"create certificatesigningrequests x", "", signing("example.com/a", asksFor[1]), ""},
		{"create certificatesigningrequests x", "", signing(client, []byte("x")), `unable to parse csr: PEM block type must be CERTIFICATE REQUEST`},
		{"update configmaps ns/x", `{}`, `{}`, ""},
		{"create serviceaccounts ns/x", "", `{}`, ""},
	} {
		a := nodeWrite(t, tt.does, tt.old, tt.sent)
		a.User = kubelet("n1")
		check(a, tt.refused, tt.does, tt.sent)
	}

	// Which users are kubelets.
	evicts := func(user *request.User, refused string) {
		a := nodeWrite(t, "create pods/eviction ns/theirs", "", `{}`)
		a.User = user
		check(a, refused, fmt.Sprint(user))
	}
	evicts(kubelet("n2"), "")
	evicts(kubelet(""), `could not determine node from user "system:node:"`)
	evicts(&request.User{Name: "system:node:n1"}, "")
	evicts(&request.User{Name: "n1", Groups: []string{request.GroupNodes}}, "")
	evicts(nil, "")
	a := nodeWrite(t, "create pods ns/x", "", strings.ReplaceAll(mirror, `"n1"`, `"n3"`))
	a.User = kubelet("n3")
	check(a, `nodes "n3" not found`, "a node that is not there")
	a = nodeWrite(t, "create pods ns/x", "", strings.ReplaceAll(mirror, `"n1"`, `"broken"`))
	a.User = kubelet("broken")
	check(a, "error looking up node broken to verify uid: the store is away", "a node that cannot be looked up")

	a = nodeWrite(t, "create pods/eviction ns/", "", `{}`)
	a.User, a.Meta().Name = kubelet("n1"), ""
	check(a, "could not determine pod from request data", "an eviction of no pod")

	eachRule(t, "*.go", refused)
}

func kubelet(node string) *request.User {
	return &request.User{Name: "system:node:" + node, Groups: []string{request.GroupNodes, request.GroupAuthenticated}}
}

// nodeWrite returns the write that a line of the table describes.
func nodeWrite(t *testing.T, does, old, sent string) *admission.Attributes {
	t.Helper()
	words := strings.Fields(does)
	kind, ok := restricted[words[1]]
	if !ok {
		t.Fatalf("%s: no such resource", does)
	}
	a := &admission.Attributes{Operation: admission.Operation(strings.ToUpper(words[0])), Name: words[2]}
	a.Resource.Group = kind.group
	a.Resource.Resource, a.Subresource, _ = strings.Cut(words[1], "/")
	if namespace, name, ok := strings.Cut(words[2], "/"); ok {
		a.Namespace, a.Name = namespace, name
	}
	if old != "" {
		a.Old = kind.decode(t, old)
	}
	if sent != "" {
		if !json.Valid([]byte(sent)) {
			t.Fatalf("%s: bad JSON: %s", does, sent)
		}
		a.Object = kind.decode(t, sent)
	}
	return a
}

// checkRestriction compares the reason of a refusal with want, and returns the reason.
func checkRestriction(t *testing.T, a *admission.Attributes, want string, what ...string) string {
	t.Helper()
	c := cluster{t}
	err := noderestriction.New(c, c).Mutate(t.Context(), a)
	got := ""
	if err != nil {
		got = err.Error()
		if _, reason, ok := strings.Cut(got, " is forbidden: "); ok {
			got = reason
		}
	}
	if got != want && (!strings.HasSuffix(want, ": ") || !strings.HasPrefix(got, want)) {
		t.Errorf("%s: got %q, want %q", strings.Join(what, " "), got, want)
	}
	return got
}

// signingRequests returns a PEM request for a certificate for each name.
func signingRequests(t *testing.T, names ...pkix.Name) [][]byte {
	t.Helper()
	key := pkitest.Key(t)
	var all [][]byte
	for _, name := range names {
		der, err := x509.CreateCertificateRequest(rand.Reader, &x509.CertificateRequest{Subject: name}, key)
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE REQUEST", Bytes: der}))
	}
	return all
}
