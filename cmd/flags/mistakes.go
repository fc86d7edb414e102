package flags

import (
	"fmt"
	"slices"
	"strings"
)

// mistakes are all that is wrong with a command line, in the order in which kube-apiserver finds
// it. As one error it prints like utilerrors.Aggregate of Kubernetes: "a" if there is one text,
// "[a, b]" if there are several, and each text once.
type mistakes []error

// add adds a mistake that fmt.Errorf words.
func (m *mistakes) add(format string, args ...any) { *m = append(*m, fmt.Errorf(format, args...)) }

// addErr adds an error that may be nil.
func (m *mistakes) addErr(err error) {
	if err != nil {
		*m = append(*m, err)
	}
}

// err returns m as an error. It is nil, not an empty list in an interface, if there are no
// mistakes.
func (m mistakes) err() error {
	if len(m) == 0 {
		return nil
	}
	return m
}

// Error implements error.
func (m mistakes) Error() string {
	texts := m.texts(nil)
	if len(texts) == 1 {
		return texts[0]
	}
	return "[" + strings.Join(texts, ", ") + "]"
}

// texts appends to list the texts that it does not contain yet. Mistakes within mistakes are
// flattened in place, so the order is kept.
func (m mistakes) texts(list []string) []string {
	for _, err := range m {
		if more, are := err.(mistakes); are {
			list = more.texts(list)
		} else if text := err.Error(); !slices.Contains(list, text) {
			list = append(list, text)
		}
	}
	return list
}

// Unwrap returns the mistakes for errors.Is and errors.As.
func (m mistakes) Unwrap() []error { return m }
