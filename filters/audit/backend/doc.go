// Package backend stores audit events: in a log file, at a webhook, or in both.
//
// Words: a store is where events end, the log or the webhook; it takes a batch of events at a time.
// A mode says when a store gets an event: in the mode batch, later and together with other events;
// in the modes blocking and blocking-strict, before Process returns. An event is dropped if no
// store has been asked to take it, and fails if the store did not take it. Both count as errors in
// Metrics.
//
// Laws:
//
//   - In the mode batch Process never waits: if the buffer is full, the event is dropped. Process
//     encodes nothing; a worker does, behind the request.
//   - In the mode blocking Process returns when the store has taken the event or has failed. In
//     blocking-strict it also reports the failure at the stage RequestReceived. No other mode and
//     no other stage reports one.
//   - Every event is stored or counts as an error. After Close has begun, no event is accepted.
//     Close stores what was accepted before, until its context ends; the rest is dropped.
//   - An event is once in the log. The webhook may get an event more than once, because a call is
//     tried again if its answer does not arrive.
//   - Every event in the log is a whole line. If a disk was full in the middle of a line, the next
//     event begins on a line of its own.
//   - Events of one request may be stored in another order than they happened: several calls of the
//     webhook are under way at once, and in the blocking modes requests overtake each other.
//   - No file of the log is lost, however fast files are rotated; only MaxBackups and MaxAge remove
//     one. Close waits until old files are compressed, or until its context ends.
//   - Nothing changes an event. Truncation works on a copy.
//
// Memory: a store in the mode batch holds at most 2 x Batch.Buffer + Batch.Size events, each as
// large as its request and response objects. The buffer holds the first part; the second part is in
// batches that the webhook has not taken yet. The log has one batch under way, which it encodes and
// writes in pieces of about 1 MiB.
//
// The server makes Backends and closes them after the last request. Any goroutine may call Process.
// The filter filters.Audit makes the events and counts them by Metrics.
//
// Not here: which requests are recorded, what an event tells, and its encodings (filters/audit).
//
// Read config.go and backends.go; then blocking.go and batch.go; then log.go, rotate.go, webhook.go
// and truncate.go; at last metrics.go.
package backend
