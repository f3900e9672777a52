package main

import (
	"database/sql"
	"encoding/csv"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"time"

	"github.com/jedib0t/go-pretty/v6/table"
	"github.com/jedib0t/go-pretty/v6/text"
)

// formats are the ways to print a result.
var formats = map[string]func(w io.Writer, columns []string, rows func(func([]any) error) error) error{
	"table": printTable,
	"csv":   printCSV,
	"json":  printJSON,
}

// show prints rows in the shell's format and closes them.
func (s *shell) show(rows *sql.Rows) (err error) {
	defer func() { err = errors.Join(err, rows.Close()) }()
	columns, err := rows.Columns()
	if err != nil {
		return err
	}
	if len(columns) == 0 {
		for rows.Next() {
		}
		fmt.Fprintln(s.diag, "ok")
		return rows.Err()
	}
	n := 0
	err = formats[s.format](s.out, columns, func(each func([]any) error) error {
		values := make([]any, len(columns))
		into := make([]any, len(columns))
		for i := range values {
			into[i] = &values[i]
		}
		for rows.Next() {
			if err := rows.Scan(into...); err != nil {
				return err
			}
			n++
			if err := each(values); err != nil {
				return err
			}
		}
		return rows.Err()
	})
	if err == nil && s.format == "table" {
		fmt.Fprintf(s.diag, "(%s)\n", plural(n, "row", "rows"))
	}
	return err
}

// cellText is a value as text. Times are UTC to the microsecond, as the server keeps them.
func cellText(v any) string {
	switch v := v.(type) {
	case nil:
		return "NULL"
	case []byte:
		return string(v)
	case time.Time:
		return v.Format("2006-01-02 15:04:05.999999Z07:00")
	}
	return fmt.Sprint(v)
}

// printTable draws a table whose columns are as wide as what is in them, numbers to the right.
func printTable(w io.Writer, columns []string, rows func(func([]any) error) error) error {
	t := table.NewWriter()
	t.SetOutputMirror(w)
	style := table.StyleDefault
	style.Options = table.Options{SeparateColumns: true, SeparateHeader: true}
	style.Format.Header = text.FormatDefault // names as they are
	t.SetStyle(style)
	head := make(table.Row, len(columns))
	for i, c := range columns {
		head[i] = c
	}
	t.AppendHeader(head)
	err := rows(func(values []any) error {
		row := make(table.Row, len(values))
		for i, v := range values {
			switch v.(type) {
			case int64, float64:
				row[i] = v // aligned by its type
			default:
				row[i] = cellText(v)
			}
		}
		t.AppendRow(row)
		return nil
	})
	if err == nil {
		t.Render()
	}
	return err
}

// printCSV writes RFC 4180, NULL as nothing.
func printCSV(w io.Writer, columns []string, rows func(func([]any) error) error) error {
	out := csv.NewWriter(w)
	if err := out.Write(columns); err != nil {
		return err
	}
	record := make([]string, len(columns))
	err := rows(func(values []any) error {
		for i, v := range values {
			record[i] = ""
			if v != nil {
				record[i] = cellText(v)
			}
		}
		return out.Write(record)
	})
	out.Flush()
	return errors.Join(err, out.Error())
}

// printJSON writes an object a line, with the columns in their order. JSON columns are put in as they are.
func printJSON(w io.Writer, columns []string, rows func(func([]any) error) error) error {
	names := make([][]byte, len(columns))
	for i, c := range columns {
		names[i], _ = json.Marshal(c) // a string can be marshalled
	}
	return rows(func(values []any) error {
		line := []byte{'{'}
		for i, v := range values {
			if b, ok := v.([]byte); ok {
				if v = string(b); json.Valid(b) {
					v = json.RawMessage(b)
				}
			}
			text, err := json.Marshal(v)
			if err != nil {
				text, _ = json.Marshal(cellText(v)) // NaN and infinities
			}
			if i > 0 {
				line = append(line, ',')
			}
			line = append(append(append(line, names[i]...), ':'), text...)
		}
		_, err := w.Write(append(line, '}', '\n'))
		return err
	})
}
