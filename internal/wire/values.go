package wire

import "database/sql/driver"

// CheckValue makes an argument fit to be sent.
func CheckValue(v any) (driver.Value, error) { return driver.DefaultParameterConverter.ConvertValue(v) }
