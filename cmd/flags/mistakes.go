package flags

import (
	"fmt"
	"slices"
	"strings"
)

// mistakes are what is wrong with a command line, in the order in which kube-apiserver finds it.
// They are one error, which says each thing once.
type mistakes []error

func (m *mistakes) add(format string, args ...any) { *m = append(*m, fmt.Errorf(format, args...)) }

// addErr adds an error that may be nil.
func (m *mistakes) addErr(err error) {
	if err != nil {
		*m = append(*m, err)
	}
}

// err returns the mistakes as an error, nil if there are none.
func (m mistakes) err() error {
	if len(m) == 0 {
		return nil
	}
	return m
}

// Error implements error, as kube-apiserver words several at once.
func (m mistakes) Error() string {
	texts := m.texts(nil)
	if len(texts) == 1 {
		return texts[0]
	}
	return "[" + strings.Join(texts, ", ") + "]"
}

// texts appends what is not in list yet. Mistakes among mistakes stand between those around them.
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

// Unwrap returns the mistakes one by one.
func (m mistakes) Unwrap() []error { return m }
