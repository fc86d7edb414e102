// Package differential judges Coracle by Kubernetes' own code: the same requests go to Coracle,
// in process, and to kube-apiserver's handlers over its own registries, and the answers are
// compared.
//
// It is a module of its own, because building k8s.io/kubernetes takes long. `make differential`
// runs it:
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
//   - TestWrites: random mutations of valid examples, one to three at once, as dry runs of a create
//     and of an update through each door (the resource, status and others). It compares code,
//     reason, message, causes in order, warnings, and the object of an accepted write. Then tables
//     of mutated stored objects: columns without descriptions, and cells. Both sides have the
//     default admission plugins without those that need objects of their own.
//   - TestVerdicts: the same mutations as dry runs by users with several roles, in namespaces that
//     quotas, limit ranges, labels of pod security, dead webhooks and policies guard. Both sides
//     have all default plugins. It compares whether a request is refused, and with which code. The
//     test fails if a plugin never acts. TestPluginTable: the list of the plugins.
//   - TestPatches: JSON, merge and strategic merge patches and applications to stored objects
//     through each door: patches that turn an object into a random mutation of it, spoiled patches,
//     for example with nulls, and bodies that are no patch, with all sorts of options and media
//     types. TestPatchLimits: patches of the largest allowed size. TestMergers: the three merges by
//     themselves, over made-up documents with all directives.
//   - TestStoredObjects: the same bytes lie in the stores of a whole kube-apiserver, in a process
//     of its own, and of Coracle: objects of every kind in every version that Kubernetes decodes,
//     JSON and protobuf, with any subset of their defaults left out. It compares reads in each
//     served version, lists, selectors, watches, tables, and writes through each door.
//   - TestSessions: the same sessions of 50 to 200 requests go to a whole kube-apiserver and to
//     Coracle, on stores of their own: writes that are kept, through each door and in each form of
//     patch, deletions with all options, lists in pages and at revisions, watches, deletions of
//     namespaces, one custom resource in two versions. Answers, headers and events are compared
//     after each step, uids and resourceVersions as ordinals. A session that fails is made shorter
//     and printed. Before those, the resources of testdata/embeddedresources.json, most of them
//     wrong in their metadata, are embedded in custom resources at several places by each form of
//     write. TestTendedSessions: graphs of owners are cut while the garbage collectors and
//     namespace controllers of both sides run, until both servers have the same objects.
//   - TestPoliciesRun: random policies of variables, match conditions, validations, messages, audit
//     annotations and mutations over fuzzed objects of built-in kinds and made-up custom resources,
//     run by the compilers of kube-apiserver's plugins and by scheme/cel/policies: results, error
//     texts, the budget that is left, the objects to apply and the JSON patches.
//   - TestEndpointControllers: the Endpoints and slices that Coracle's endpoint controllers and
//     Kubernetes', each on a server of its own, write for the same random services, pods and
//     Endpoints. TestTopologyHints: the zones in the hints of random slices, on random nodes.
//   - TestSigners: which random certificate requests both approvers approve, the messages with
//     which both refuse requests, and the certificates that both issue.
//   - TestEvictions, TestBindings: actions on pods with budgets in all sorts of states. They
//     compare the answers, and the pods and budgets afterwards.
//   - TestWebhooks: random configurations of webhooks, which run on the loopback and do all sorts
//     of things, and random writes. It compares the calls in their order, the reviews, errors,
//     objects, warnings and audit annotations.
//   - TestReviews: random reviews, right and wrong ones, with one authorizer that repeats each
//     question in its reason. TestImpersonation: as whom random users with random headers are
//     served, and by which right, with one authorizer.
//   - TestDisruptionStatus: what both disruption controllers write into the status of budgets.
//   - TestAPIServiceAvailability: the conditions that kube-aggregator's controller and Coracle
//     report about servers behind API services. Their services and endpoints are of all sorts, and
//     the servers answer, fail, or have the wrong certificate.
//   - TestShown: which fields of an object messages show, and in which order.
//   - TestApplySets, TestApplyWalk, TestApplyModels: sets of fields, and what ownership does with
//     objects by their schemas (check, compare, merge, remove, extract, reconcile), against
//     structured-merge-diff: made-up sets, made-up schemas of custom resources, and every model of
//     the built-in kinds.
//   - TestManagers: kube-apiserver's field manager and Coracle keep managedFields of the same
//     objects through the same made-up writes: creates, puts with any managedFields, applications,
//     subresources, versions and schemas that change. It compares object, entries and errors after
//     every step. TestScaleOwners: entries taken to scales and back. TestResetFields: the fields
//     that nobody can own, by kind and door.
//   - TestTokens: made-up tokens of service accounts, signed by known and unknown keys, whole and
//     cut up, and bound to made-up objects. It compares users, audiences and the messages of
//     refusals.
//   - TestNodeAuthorizer, TestNodeRestriction: what kubelets may do with random pods, volumes,
//     attachments and slices, and what they may write. TestClaimStatusRights: which rights a write
//     of a claim's status takes. TestPolicyFiles: ABAC. TestAuthorizationConfigurations: the errors
//     of random configurations. TestAuthorizationWebhooks: for which requests conditions have a
//     webhook asked, and its reviews.
//   - TestAuditPolicies: which random audit policies both sides load, with which errors, and what
//     they decide about random requests. TestAuditEvents: random events, encoded as JSON, as lines
//     of the format legacy and as lists, byte for byte.
//   - TestQuota: random objects, quotas and limited resources: what an object uses, which quotas
//     track it, verdict, message and charges of writes one after another, and recounts.
//     TestIgnoredByQuota, TestQuotaConfiguration: what quotas never count, and configurations.
//   - TestOpenAPI: the OpenAPI documents, everything except descriptions. TestCustomOpenAPI: the
//     same for published definitions of custom resources.
//   - TestCEL: made-up expressions of every function, checked, estimated, planned and run by
//     scheme/cel and by Kubernetes' environment of version 1.36: messages, types, estimates,
//     costs and values.
//   - TestAdmissionPolicies: random policies with bindings and params go through the dispatchers of
//     Kubernetes' plugins and through ours: answers, warnings, annotations, objects after
//     mutations, and which mutations are made again after others.
//   - TestHookFiles: the loaders of kube-apiserver's plugins and ours read made-up directories of
//     webhooks, policies and bindings, many of them with a mistake: objects with their defaults,
//     hashes, and texts of errors.
//   - TestStoredDefinitions: both sides read definitions of custom resources as kube-apiserver
//     stores them, in v1beta1, whole and without some fields. TestStoredDefinitionsServed: the same
//     stored definitions and objects are served by a whole kube-apiserver and by Coracle.
//   - TestCustomDoors: custom resources of made-up definitions, created, updated, and updated
//     through status and scale, judged by the strategies that both extensions servers have for
//     them.
//   - TestFlags, TestNames: every flag, feature gate and admission plugin of kube-apiserver.
//     TestCommandLines: the errors of made-up command lines, in the words of kube-apiserver's own
//     options.
//   - TestRegistration: which APIServices both sides create, repair and delete for versions that
//     exist, appear and disappear.
//   - TestAggregatedDiscovery: made-up servers describe themselves to Coracle and to
//     kube-aggregator's discovery manager. TestMergeSwagger, TestFilterSwagger: OpenAPI v2
//     documents of servers, right and spoilt, are merged. TestConvertSwagger: such documents, and
//     real ones, are converted to version 3.
//   - TestFrontProxy, TestClientCertificates: the users in random headers and certificates.
//     TestAuthenticationConfigurations: made-up AuthenticationConfigurations, right and wrong, are
//     read and judged. TestClaims: by such configurations, tokens of a provider become users.
//   - TestChains: which requests with certificates, tokens and impersonation pass kube-apiserver's
//     filters and Coracle's, by 1,000 roles and 5,000 bindings. BenchmarkChain measures both chains
//     (`make bench-chain`). FuzzParse: how both read a path.
//   - TestEncryptionConfigurations: made-up EncryptionConfigurations are judged; with right ones,
//     both sides write and read values. TestKMSValues, TestKMSOverSocket: each side reads values
//     that the other has encrypted with a KMS plugin, and judges garbled values.
//   - TestAggregatorProxy: made-up requests to a server behind both pass kube-aggregator's proxy,
//     inside of kube-apiserver's filters, and Coracle. It compares the requests that the server
//     gets, and its made-up answers as clients get them.
//   - TestExternalSigner: Kubernetes' mock of an external signer of tokens, with right and wrong
//     answers.
//
// TestEveryKindIsCompared fails if a resource that clients can update, or a door to it, has no row
// here.
//
// To add a kind: a Row in <group>_test.go (see core_test.go), made of Kubernetes' registry of the
// kind, and examples in testdata/<group>/<resource>.yaml: a few objects, each as rich in fields as
// it can be, which together use every field. Mutations make up the values of fields that no example
// has; these are less often valid. metadata and status become those of the stored object from which
// updates start. Fields that a create cannot set stand under the key stored of a document: only the
// stored object has them. Nothing else is needed: TestCodec and TestDefaults judge every kind of
// the Scheme without a row.
//
// To read a failure: each difference is one block, the most frequent first. Its first line has the
// verb ("create", "update" or the door), then the difference without values: "missing" is in
// Kubernetes' answer only, "extra" in Coracle's only. Below are two of the requests with their
// mutations and both answers. BODIES=1 prints whole requests, as testdata/requests has them. The
// same SEED makes the same requests of a kind, whatever other kinds do.
//
// Intended differences are listed with their reasons in differences_test.go, and those of sessions
// in session_excuses_test.go.
//
// CI runs one fixed seed, so that a change does not fail for an older difference that only another
// seed finds. CI also runs the stored cases: requests in testdata/requests (TestStoredRequests) and
// sessions in testdata/sessions. `make soak` runs a new seed each time and prints it. A difference
// that it finds becomes a stored case in the change that fixes it.
//
// The tests do not compare the times of managed fields and the values that a server generates (uid,
// time of creation, end of a generated name).
package differential
