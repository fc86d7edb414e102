// Package differential judges Coracle by Kubernetes' own code: the same requests go to Coracle,
// in process, and to kube-apiserver's handlers over its own registries, and the answers are
// compared.
//
// It is a module of its own, because k8s.io/kubernetes is much to build. `make differential` runs
// it:
//
//	make differential SEED=7 COUNT=0.5            # all kinds, half as many tries
//	cd test/differential && SEED=7 go test -run TestWrites/Service
//
// What is compared:
//   - TestCodec: objects of Kubernetes' fuzzers, encoded by Kubernetes, decoded and encoded by
//     Coracle, and objects that scheme/sample makes the other way round; JSON and protobuf, byte
//     for byte.
//   - TestDefaults: sparse objects, made up or examples with much left out, completed by both.
//     Kubernetes' defaults are also those that it sets while it converts an object to the
//     internal version.
//   - TestStored: objects of every version that Kubernetes can still decode, served or not, made
//     up, or without some of the fields that defaults set, as JSON and protobuf. Both sides read
//     the bytes; what they show in each served version is compared.
//   - TestWrites: random mutations of valid examples, one to three at once, as dry runs of a
//     create and of an update through each door (the resource, status and others). Code, reason,
//     message, causes in order, warnings; and if the write is accepted, the object. Then tables
//     of mutated stored objects: columns but for their descriptions, and cells.
//     Admission plugins are those that both have.
//   - TestVerdicts: the same mutations as dry runs by users with several roles, in namespaces that
//     quotas, limit ranges, labels of pod security, dead webhooks and policies guard. Both have all
//     plugins by default. Whether a request is refused, and with which code; a plugin that nothing
//     has had act fails. TestPluginTable: the list of the plugins.
//   - TestPatches: JSON, merge and strategic merge patches and applications to stored objects
//     through each door: what makes a random mutation of an object, what does more or other than
//     that, such as nulls, and what is no patch, with all sorts of options and media types.
//     TestPatchLimits: patches as large as may be. TestMergers: the three merges by themselves,
//     over made-up documents with all directives.
//   - TestStoredObjects: the same bytes lie in the stores of a whole kube-apiserver, in a process
//     of its own, and of Coracle: objects of every kind in every version that Kubernetes decodes,
//     JSON and protobuf, with any subset of their defaults left out. Reads in each served
//     version, lists, selectors, watches, tables, and writes through each door.
//   - TestSessions: the same sessions of 50 to 200 requests go to a whole kube-apiserver and to
//     Coracle, on stores of their own: writes that are kept, through each door and in each form of
//     patch, deletions with all options, lists in pages and at revisions, watches, namespaces that
//     go, one custom resource in two versions. Answers, headers and events are compared after each
//     step, uids and resourceVersions as ordinals. A session that fails is made shorter and
//     printed. Before those, the resources of testdata/embeddedresources.json, most of them wrong
//     in their metadata, are embedded in custom resources at several places by each form of write.
//     TestTendedSessions: graphs of owners are cut beside Kubernetes' garbage collector and
//     namespace controller, and beside Coracle's, until both servers have the same.
//   - TestPoliciesRun: random policies of variables, match conditions, validations, messages, audit
//     annotations and mutations over fuzzed objects of built-in kinds and made-up custom resources,
//     run by the compilers of kube-apiserver's plugins and by scheme/cel/policies: results, error
//     texts, the budget that is left, the objects to apply and the JSON patches.
//   - TestEndpointControllers: what Coracle's controllers of endpoints and Kubernetes', each on a
//     server of its own, make of the same random services, pods and Endpoints. TestTopologyHints:
//     which zones the endpoints of random slices are meant for, on random nodes.
//   - TestSigners: which random requests for certificates both approvers approve, what both
//     refuse with which words, and the certificates that both issue.
//   - TestEvictions, TestBindings: pods and budgets in all sorts of states are acted upon. The
//     answers, and what pods and budgets are like afterwards.
//   - TestWebhooks: random configurations of webhooks, which run on the loopback and do all sorts
//     of things, and random writes. The calls in their order, the reviews, errors, objects,
//     warnings and audit annotations.
//   - TestReviews: random questions about rights, right and wrong ones, with one authorizer whose
//     reasons show what it is asked. TestImpersonation: who is served as whom, by which right,
//     for random users and headers, with one authorizer.
//   - TestDisruptionStatus: what both disruption controllers write into the status of budgets.
//   - TestAPIServiceAvailability: what kube-aggregator's controller and Coracle find out about
//     servers behind API services, whose services and endpoints are of all sorts, and which
//     answer, fail, or have the wrong certificate.
//   - TestShown: which fields of an object messages show, and in which order.
//   - TestApplySets, TestApplyWalk, TestApplyModels: sets of fields, and what ownership does with
//     objects by their schemas (check, compare, merge, remove, extract, reconcile), against
//     structured-merge-diff: sets that are made up, schemas of custom resources that are, and
//     every model of the built-in kinds.
//   - TestManagers: kube-apiserver's field manager and Coracle keep managedFields of the same
//     objects through the same made-up writes: creates, puts with any managedFields,
//     applications, subresources, versions and schemas that change. Object, entries and errors
//     after every step. TestScaleOwners: the same for entries taken to scales and back.
//     TestResetFields: the fields that nobody can own, by kind and door.
//   - TestTokens: made-up tokens of service accounts, signed by known and other keys, whole and
//     cut up, in a world that is made up as well, are shown to both: users, audiences, refusals
//     and their words.
//   - TestNodeAuthorizer, TestNodeRestriction: what kubelets may do with random pods, volumes,
//     attachments and slices, and what they may write. TestClaimStatusRights: which rights a
//     write of a claim's status takes. TestPolicyFiles: ABAC. TestAuthorizationConfigurations:
//     what is wrong with them. TestAuthorizationWebhooks: whom webhooks are asked about, by which
//     conditions, and what they are asked.
//   - TestQuota: random objects, quotas and limited resources: what an object uses, which quotas
//     track it, verdict, message and charges of writes one after another, and recounts.
//     TestIgnoredByQuota, TestQuotaConfiguration: what quotas never count, and configurations.
//   - TestOpenAPI: the documents of OpenAPI, all that they say but for descriptions.
//     TestCustomOpenAPI: likewise what they say of published definitions of custom resources.
//   - TestCEL: made-up expressions of every function, checked, estimated, planned and run by
//     scheme/cel and by Kubernetes' environment of version 1.36: messages, types, estimates,
//     costs and values.
//   - TestAdmissionPolicies: random policies with bindings and params go through the dispatchers of
//     Kubernetes' plugins and through ours: answers, warnings, annotations, objects after
//     mutations, and which mutations are made again after others.
//   - TestStoredDefinitions: definitions of custom resources as kube-apiserver stores them, in
//     v1beta1, whole and with less, are read. TestStoredDefinitionsServed: the same stored
//     definitions and objects are served by a whole kube-apiserver and by Coracle.
//   - TestCustomDoors: custom resources of made-up definitions, created, updated, and updated
//     through status and scale, judged by the strategies that both extensions servers have for
//     them.
//   - TestFlags, TestNames: every flag, feature gate and admission plugin of kube-apiserver.
//     TestCommandLines: what is wrong with made-up command lines, in the words of its own
//     options.
//   - TestRegistration: which APIServices both sides make, mend and delete, of versions that are
//     there, come and go.
//   - TestAggregatedDiscovery: made-up servers describe themselves to Coracle and to
//     kube-aggregator's discovery manager. TestMergeSwagger, TestFilterSwagger: their documents
//     of OpenAPI v2, right and spoilt, are merged. TestConvertSwagger: such documents, real ones
//     too, become version 3.
//   - TestFrontProxy, TestClientCertificates: who stands in random headers and certificates.
//     TestAuthenticationConfigurations: made-up AuthenticationConfigurations, right and wrong,
//     are read and judged. TestClaims: tokens of a provider become users by such.
//   - TestChains: requests with certificates, tokens and impersonation pass kube-apiserver's
//     filters and Coracle's, or do not, as 1,000 roles and 5,000 bindings say; BenchmarkChain
//     says what that costs (`make bench-chain`). FuzzParse: how both read a path.
//   - TestEncryptionConfigurations: made-up EncryptionConfigurations are judged, and for the
//     right ones values written and read. TestKMSValues, TestKMSOverSocket: what either side has
//     encrypted with a KMS plugin the other reads, garbled values as well.
//   - TestAggregatorProxy: made-up requests to a server behind both pass kube-aggregator's proxy,
//     inside of kube-apiserver's filters, and Coracle: what that server is asked, and what
//     clients are told of its made-up answers.
//   - TestExternalSigner: Kubernetes' example of an external signer of tokens, as it should be
//     and as it should not.
//
// TestEveryKindIsCompared fails for a resource that clients can update, or a door to one, without a
// row here.
//
// To add a kind: a Row in <group>_test.go (see core_test.go), made of Kubernetes' registry of the
// kind, and examples in testdata/<group>/<resource>.yaml: a few objects, each as rich in fields
// as it can be, which together use every field. What no example has is made up by type, and is
// less often valid. metadata and status are what the stored object has that updates start from.
// What a create does not let in stands under the key stored of a document: it is in the stored
// object only. Nothing else: codec and defaults are judged for every kind of the Scheme without a
// row.
//
// To read a failure: each difference is one block, the most frequent first. Its first line says the
// verb ("create", "update" or the door), then what differs with its values taken out: "missing" is
// what Kubernetes says and Coracle does not, "extra" the other way round. Below are two of the
// requests with what was mutated and what both sides say. BODIES=1 prints whole requests, as
// testdata/requests has them. The same SEED makes the same requests of a kind, whatever other kinds
// do.
//
// A difference that is meant is listed in differences_test.go, of sessions in
// session_excuses_test.go, with the reason.
//
// CI runs one seed, so that a change does not fail for what another seed would have found before
// it, and the stored cases: requests in testdata/requests (TestStoredRequests), sessions in
// testdata/sessions. `make soak` runs a new seed each time and prints it. What it finds becomes a
// stored case in the change that mends it.
//
// Not compared are the times of managed fields, nor what a server makes up (uid, times of
// creation, ends of generated names).
package differential
