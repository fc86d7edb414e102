package callout

import (
	"fmt"
	"net/http"
)

// Wording returns the error in the words of kube-apiserver, for responses whose text clients know.
func (e *Error) Wording() string {
	switch {
	case e.Kind == Refused:
		return statusText(e.Status)
	case e.Kind == Malformed:
		return e.Err.Error()
	case e.Cut:
		return "unexpected error when reading response body. Please retry. Original error: " + e.Err.Error()
	}
	return fmt.Sprintf("Post %q: %v", e.Address, e.Err)
}

// statusText returns client-go's message for a response with a status other than 2xx.
func statusText(status int) string {
	switch status {
	case http.StatusBadRequest:
		return "the server rejected our request for an unknown reason"
	case http.StatusUnauthorized:
		return "the server has asked for the client to provide credentials"
	case http.StatusForbidden:
		return "unknown"
	case http.StatusNotFound:
		return "the server could not find the requested resource"
	case http.StatusMethodNotAllowed:
		return "the server does not allow this method on the requested resource"
	case http.StatusNotAcceptable:
		return "the server was unable to respond with a content type that the client supports"
	case http.StatusConflict:
		return "the server reported a conflict"
	case http.StatusUnsupportedMediaType:
		return "unknown"
	case http.StatusUnprocessableEntity:
		return "the server rejected our request due to an error in our request"
	case http.StatusTooManyRequests:
		return "the server has received too many requests and has asked us to try again later"
	case http.StatusServiceUnavailable:
		return "the server is currently unable to handle the request"
	case http.StatusGatewayTimeout:
		return "the server was unable to return a response in the time allotted, " +
			"but may still be processing the request"
	}
	if status >= http.StatusInternalServerError {
		return `an error on the server ("unknown") has prevented the request from succeeding`
	}
	return "the server responded with the status code " + fmt.Sprint(status) + " but did not return more information"
}
