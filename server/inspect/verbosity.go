package inspect

import (
	"fmt"
	"io"
	"net/http"
	"strconv"
)

// This file serves /debug/flags/v, by which an operator changes how much the running server logs.
// The answers have kube-apiserver's words.

// maxVerbosity is the longest body of a PUT, in bytes.
const maxVerbosity = 1 << 10

// verbosityHandlers returns the handlers of the paths below /debug/flags, or none if set is nil.
func verbosityHandlers(set func(v int32)) map[string]http.HandlerFunc {
	if set == nil {
		return nil
	}
	return map[string]http.HandlerFunc{
		"/debug/flags/":  serveFlagNames,
		"/debug/flags/v": func(w http.ResponseWriter, r *http.Request) { putVerbosity(set, w, r) },
	}
}

// serveFlagNames answers with the page of the flags that can be changed.
func serveFlagNames(w http.ResponseWriter, _ *http.Request) {
	w.Header().Set("Content-Type", "text/html; charset=utf-8")
	_, _ = io.WriteString(w, "<html>\n<head>\n<title>/debug/flags/</title>\n</head>\n<body>\n/debug/flags/<br>\n<br>\n"+
		"flags:<br>\n<table>\n<tr>v<br>\n</table>\n<br>\nfull flags configurable<br>\n</body>\n</html>\n")
}

// putVerbosity sets the verbosity to the number in the body.
func putVerbosity(set func(v int32), w http.ResponseWriter, r *http.Request) {
	code, text := http.StatusNotAcceptable, "unsupported http method"
	if r.Method == http.MethodPut {
		done, err := setVerbosity(set, http.MaxBytesReader(w, r.Body, maxVerbosity))
		if code, text = http.StatusOK, done; err != nil {
			code, text = http.StatusBadRequest, err.Error()
		}
	}
	w.Header().Set("Content-Type", "text/plain")
	w.Header().Set("X-Content-Type-Options", "nosniff")
	w.WriteHeader(code)
	_, _ = fmt.Fprintln(w, text)
}

// setVerbosity sets the verbosity to the number in body, and returns what has been done.
func setVerbosity(set func(v int32), body io.Reader) (string, error) {
	text, err := io.ReadAll(body)
	if err != nil {
		return "", fmt.Errorf("error reading request body: %w", err)
	}
	number := string(text)
	if _, err := strconv.ParseUint(number, 10, 32); err != nil {
		return "", err
	}
	v, err := strconv.ParseInt(number, 10, 32) // a verbosity has a sign, but must not be negative
	if err != nil {
		return "", fmt.Errorf("failed set klog.logging.verbosity %s: %w", number, err)
	}
	set(int32(v))
	return "successfully set klog.logging.verbosity to " + number, nil
}
