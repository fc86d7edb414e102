package envtest

// What is not served yet.
const webhooks = "admission webhooks, which are stored and not asked"

// waiting are the tests that cannot pass yet, with what they wait for. The list can only shrink:
// one that passes must be taken off.
var waiting = map[string]string{
	"pkg/envtest: Test Webhook should reject create request for webhook that rejects all requests":                                               webhooks,
	"pkg/webhook: Webhook when running a webhook server with a manager should reject create request for webhook that rejects all requests":       webhooks,
	"pkg/webhook: Webhook when running a webhook server with a manager should reject create request for multi-webhook that rejects all requests": webhooks,
	"pkg/webhook: Webhook when running a webhook server without a manager should reject create request for webhook that rejects all requests":    webhooks,
}

// races are the tests that fail at times, whatever serves them, by patterns of their names, with
// the reason.
var races = map[string]string{
	`^pkg/cache: .*\b(be cancelled|context is cancelled)$`: "they want a cache to notice that it is not to wait before it has synced, which it may have until it looks",
}

// apart are the tests that are not run, by patterns of the go command, with the reason.
var apart = map[string]string{
	"^TestLazyRestMapperProvider$/^aggregatedDiscovery=false$": "it fetches the programs of Kubernetes 1.28 from the Internet, and tests these",
	"^TestApiMachinery$/^aggregatedDiscovery=false$":           "the same",
}
