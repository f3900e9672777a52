package metadata

import (
	"context"
	"errors"
	"fmt"
)

// Identity asks the server who it is: the uuid of the instance and what version() says.
// Neither needs a privilege. Servers before 25.3 call the first instance_uuid() and have no
// version(): then version is "", and the instance's row in the topology tells it.
func (s *Source) Identity(ctx context.Context, q Querier) (instanceUUID, version string, err error) {
	instanceUUID, err = scalar(ctx, q, "SELECT pico_instance_uuid()")
	if isUnknownFunction(err, "pico_instance_uuid") {
		instanceUUID, err = scalar(ctx, q, "SELECT instance_uuid()")
	}
	if err != nil {
		return "", "", fmt.Errorf("picodata: asking the server for its instance uuid: %w", err)
	}
	version, err = scalar(ctx, q, "SELECT version()")
	if isUnknownFunction(err, "version") {
		return instanceUUID, "", nil
	}
	if err != nil {
		return "", "", fmt.Errorf("picodata: asking the server for its version: %w", err)
	}
	return instanceUUID, version, nil
}

// errNoValue: a query for one value brought none.
var errNoValue = errors.New("the server answered without a value")

// scalar runs a query for one value.
func scalar(ctx context.Context, q Querier, sql string) (string, error) {
	res, err := q.Query(ctx, sql)
	if err != nil {
		return "", err
	}
	if res == nil || len(res.Rows) == 0 || len(res.Rows[0]) == 0 {
		return "", errNoValue
	}
	t := table{at: map[string]int{"": 0}, rows: res.Rows}
	v, ok := t.text(res.Rows[0], "")
	if !ok || v == "" {
		return "", errNoValue
	}
	return v, nil
}
