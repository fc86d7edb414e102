package conformance

// waiting are the scenarios that cannot pass yet, each with what it waits for. They are played all the same.
var waiting = map[string]string{}
