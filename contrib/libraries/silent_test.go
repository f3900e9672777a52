package libraries

import (
	"context"

	sqldblogger "github.com/simukti/sqldb-logger"
)

// silent is a logger that logs nothing.
type silent struct{}

func (silent) Log(context.Context, sqldblogger.Level, string, map[string]any) {}
