package main

import (
	"encoding/hex"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/google/uuid"
	"github.com/shopspring/decimal"
)

// argumentTypes says how arguments of statements are written, for the help texts.
const argumentTypes = `An argument is handed over as text, which the server reads as its parameter's type. \N is NULL.
TYPE:VALUE gives it a Go type: int:5, float:1.5, bool:true, text:int:5, decimal:1.50,
uuid:9035910e-8342-4460-8c25-25e5f10d9876, time:2026-03-01T12:00:00+03:00, bytes:00ff.`

// parseArg reads one argument of a statement.
func parseArg(text string) (any, error) {
	if text == `\N` {
		return nil, nil
	}
	kind, value, typed := strings.Cut(text, ":")
	if !typed {
		return text, nil
	}
	var (
		v   any
		err error
	)
	switch kind {
	case "text":
		v = value
	case "int":
		v, err = strconv.ParseInt(value, 10, 64)
	case "float":
		v, err = strconv.ParseFloat(value, 64)
	case "bool":
		v, err = strconv.ParseBool(value)
	case "decimal":
		v, err = decimal.NewFromString(value)
	case "uuid":
		v, err = uuid.Parse(value)
	case "time":
		v, err = time.Parse(time.RFC3339Nano, value)
	case "bytes":
		v, err = hex.DecodeString(value)
	default:
		return text, nil // a colon in a text
	}
	if err != nil {
		return nil, fmt.Errorf("%q is no %s; for a text that looks like this write text:%s", value, kind, text)
	}
	return v, nil
}

// parseArgs reads arguments. what names them in errors.
func parseArgs(what string, texts []string) ([]any, error) {
	args := make([]any, len(texts))
	for i, text := range texts {
		v, err := parseArg(text)
		if err != nil {
			return nil, &usageError{fmt.Errorf("%s %d: %w", what, i+1, err)}
		}
		args[i] = v
	}
	return args, nil
}
