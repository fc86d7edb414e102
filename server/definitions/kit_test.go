package definitions_test

import (
	"testing"

	"go.uber.org/goleak"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// asTable is the media type that kubectl asks for to print a table.
const asTable = "application/json;as=Table;v=v1;g=meta.k8s.io"
