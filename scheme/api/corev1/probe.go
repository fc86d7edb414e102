package corev1

import "github.com/coracle-project/coracle/scheme/meta"

// Probe tells how to check a container.
type Probe struct {
	// What to do to find out.
	ProbeHandler `json:",inline" pb:"1"`
	// Seconds after the start of the container before the first check; 0 by default.
	InitialDelaySeconds int32 `json:"initialDelaySeconds,omitempty" pb:"2"`
	// Seconds after which a check has failed; 1 by default, at least 1.
	TimeoutSeconds int32 `json:"timeoutSeconds,omitempty" pb:"3"`
	// Seconds between checks; 10 by default, at least 1.
	PeriodSeconds int32 `json:"periodSeconds,omitempty" pb:"4"`
	// Successes in a row that are needed after a failure; 1 by default, and always 1 for liveness
	// and startup.
	SuccessThreshold int32 `json:"successThreshold,omitempty" pb:"5"`
	// Failures in a row that are needed after a success; 3 by default, at least 1.
	FailureThreshold int32 `json:"failureThreshold,omitempty" pb:"6"`
	// Replaces the pod's grace period when this probe ends the container.
	TerminationGracePeriodSeconds *int64 `json:"terminationGracePeriodSeconds,omitempty" pb:"7"`
}

// ProbeHandler is what a probe does: one member must be set.
type ProbeHandler struct {
	// Runs a command in the container.
	Exec *ExecAction `json:"exec,omitempty" pb:"1"`
	// Sends an HTTP request.
	HTTPGet *HTTPGetAction `json:"httpGet,omitempty" pb:"2"`
	// Opens a TCP connection.
	TCPSocket *TCPSocketAction `json:"tcpSocket,omitempty" pb:"3"`
	// Asks a gRPC health service.
	GRPC *GRPCAction `json:"grpc,omitempty" pb:"4"`
}

// ExecAction runs a command in a container.
type ExecAction struct {
	// Command and arguments, not run in a shell. Exit status 0 is success.
	Command []string `json:"command,omitempty" pb:"1" list:"atomic"`
}

// HTTPGetAction sends an HTTP GET request.
type HTTPGetAction struct {
	// Path to get; / by default.
	Path string `json:"path,omitempty" pb:"1"`
	// Port to connect to: 1 to 65535, or the name of one of the container's ports.
	Port meta.IntOrString `json:"port" pb:"2"`
	// Host to connect to; the pod's address by default.
	Host string `json:"host,omitempty" pb:"3"`
	// HTTP (the default) or HTTPS.
	Scheme URIScheme `json:"scheme,omitempty" pb:"4" enum:"HTTP,HTTPS"`
	// Headers to send.
	HTTPHeaders []HTTPHeader `json:"httpHeaders,omitempty" pb:"5" list:"atomic"`
}

// URIScheme is the scheme of an HTTP request.
type URIScheme string

// HTTPHeader is a header of an HTTP request.
type HTTPHeader struct {
	// Name of the header.
	Name string `json:"name" pb:"1"`
	// Value of the header.
	Value string `json:"value" pb:"2"`
}

// TCPSocketAction opens a TCP connection.
type TCPSocketAction struct {
	// Port to connect to: 1 to 65535, or the name of one of the container's ports.
	Port meta.IntOrString `json:"port" pb:"1"`
	// Host to connect to; the pod's address by default.
	Host string `json:"host,omitempty" pb:"2"`
}

// GRPCAction asks a gRPC health service.
type GRPCAction struct {
	// Port of the gRPC service: 1 to 65535.
	Port int32 `json:"port" pb:"1"`
	// Name of the service to ask about; empty by default.
	Service *string `json:"service" pb:"2" default:"" check:"optional"`
}

// Lifecycle holds what is done around the start and end of a container.
type Lifecycle struct {
	// Done right after the container was created; it is ended if this fails.
	PostStart *LifecycleHandler `json:"postStart,omitempty" pb:"1"`
	// Done before the container is ended, within its grace period.
	PreStop *LifecycleHandler `json:"preStop,omitempty" pb:"2"`
	// Signal that ends the container; that of the image or runtime by default. Needs spec.os.name.
	StopSignal *Signal `json:"stopSignal,omitempty" pb:"3" enum:"SIGABRT,SIGALRM,SIGBUS,SIGCHLD,SIGCLD,SIGCONT,SIGFPE,SIGHUP,SIGILL,SIGINT,SIGIO,SIGIOT,SIGKILL,SIGPIPE,SIGPOLL,SIGPROF,SIGPWR,SIGQUIT,SIGRTMAX,SIGRTMAX-1,SIGRTMAX-10,SIGRTMAX-11,SIGRTMAX-12,SIGRTMAX-13,SIGRTMAX-14,SIGRTMAX-2,SIGRTMAX-3,SIGRTMAX-4,SIGRTMAX-5,SIGRTMAX-6,SIGRTMAX-7,SIGRTMAX-8,SIGRTMAX-9,SIGRTMIN,SIGRTMIN+1,SIGRTMIN+10,SIGRTMIN+11,SIGRTMIN+12,SIGRTMIN+13,SIGRTMIN+14,SIGRTMIN+15,SIGRTMIN+2,SIGRTMIN+3,SIGRTMIN+4,SIGRTMIN+5,SIGRTMIN+6,SIGRTMIN+7,SIGRTMIN+8,SIGRTMIN+9,SIGSEGV,SIGSTKFLT,SIGSTOP,SIGSYS,SIGTERM,SIGTRAP,SIGTSTP,SIGTTIN,SIGTTOU,SIGURG,SIGUSR1,SIGUSR2,SIGVTALRM,SIGWINCH,SIGXCPU,SIGXFSZ"`
}

// LifecycleHandler is what is done: one member must be set.
type LifecycleHandler struct {
	// Runs a command in the container.
	Exec *ExecAction `json:"exec,omitempty" pb:"1"`
	// Sends an HTTP request.
	HTTPGet *HTTPGetAction `json:"httpGet,omitempty" pb:"2"`
	// Kept for old clients; fails when it is run. Deprecated.
	TCPSocket *TCPSocketAction `json:"tcpSocket,omitempty" pb:"3"`
	// Waits.
	Sleep *SleepAction `json:"sleep,omitempty" pb:"4"`
}

// SleepAction waits.
type SleepAction struct {
	// How long to wait, in seconds; not longer than the pod's grace period.
	Seconds int64 `json:"seconds" pb:"1"`
}

// Signal is the name of a signal.
type Signal string
