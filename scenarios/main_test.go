package scenarios_test

import (
	"testing"

	"go.uber.org/goleak"
)

// Whatever a test starts ends with it: databases, connectors, clusters.
func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }
