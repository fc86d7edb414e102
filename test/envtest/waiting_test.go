package envtest

// waiting are the tests that cannot pass yet, with the feature that they wait for. TestSuites fails
// if one of them passes, so that it is removed from the list.
var waiting = map[string]string{}

// races are the tests that fail at times with any server, by patterns of their names, with the
// reason.
var races = map[string]string{
	`^pkg/cache: .*\b(be cancelled|context is cancelled)$`: "they cancel the wait for the sync of a cache, and the cache may have synced before",
}

// apart are the tests that do not run, as patterns for go test -skip, with the reason.
var apart = map[string]string{
	"^TestLazyRestMapperProvider$/^aggregatedDiscovery=false$": "it downloads the programs of Kubernetes 1.28 and tests them",
	"^TestApiMachinery$/^aggregatedDiscovery=false$":           "the same",
}
