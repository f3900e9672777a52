package main

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"strings"
	"unicode/utf8"

	"github.com/spf13/cobra"
)

// csvFormat is what a command's flags say of its CSV file.
type csvFormat struct {
	delimiter, null string
	comma           rune // the delimiter, once check has read it
}

func (f *csvFormat) flags(cmd *cobra.Command) {
	cmd.Flags().StringVar(&f.delimiter, "delimiter", ",", "what stands between values, one character; \\t is a tab")
	cmd.Flags().StringVar(&f.null, "null", "", "the text that is NULL; the default is the empty one")
}

func (f *csvFormat) check() error {
	if f.delimiter == `\t` {
		f.delimiter = "\t"
	}
	if utf8.RuneCountInString(f.delimiter) != 1 || strings.ContainsAny(f.delimiter, "\"\r\n") {
		return fmt.Errorf("--delimiter %q: want one character, no quote and no line break", f.delimiter)
	}
	f.comma, _ = utf8.DecodeRuneInString(f.delimiter)
	return nil
}

// csvReader reads what encoding/csv does, and tells more: whether a value stood in quotes, which makes an empty text another thing than NULL.
// What stands in quotes is kept as it is, line breaks included. Blank lines are skipped.
type csvReader struct {
	r      *bufio.Reader
	comma  []byte
	fields int // of every record; 0: not known yet
	line   int // the last that was read, counted from 1

	long   []byte // a line that the buffer of r doesn't hold
	text   []byte // of a record's values
	ends   []int  // of each value in text
	quoted []bool
}

func newCSVReader(r io.Reader, comma rune) *csvReader {
	return &csvReader{r: bufio.NewReaderSize(r, 64<<10), comma: []byte(string(comma))}
}

// read reads a record. quoted is good until the next call.
func (c *csvReader) read() (values []string, quoted []bool, err error) {
	line, err := c.nextLine()
	for err == nil && len(trimBreak(line)) == 0 {
		line, err = c.nextLine()
	}
	if err != nil {
		return nil, nil, err
	}
	first := c.line
	c.text, c.ends, c.quoted = c.text[:0], c.ends[:0], c.quoted[:0]
	for more := true; more; {
		inQuotes := len(line) > 0 && line[0] == '"'
		if inQuotes {
			if line, err = c.unquote(line[1:]); err != nil {
				return nil, nil, err
			}
			if after := trimBreak(line); len(after) > 0 && !bytes.HasPrefix(after, c.comma) {
				return nil, nil, c.fault("text behind a closing quote")
			}
		}
		value, rest, found := bytes.Cut(line, c.comma)
		if !found {
			value = trimBreak(value)
		}
		if bytes.IndexByte(value, '"') >= 0 {
			return nil, nil, c.fault("a quote in a value that doesn't begin with one")
		}
		c.text = append(c.text, value...)
		c.ends, c.quoted = append(c.ends, len(c.text)), append(c.quoted, inQuotes)
		line, more = rest, found
	}
	if c.fields > 0 && len(c.ends) != c.fields {
		return nil, nil, fmt.Errorf("line %d: %s, want %d", first, plural(len(c.ends), "value", "values"), c.fields)
	}
	text, begin := string(c.text), 0
	values = make([]string, len(c.ends))
	for i, end := range c.ends {
		values[i], begin = text[begin:end], end
	}
	return values, c.quoted, nil
}

// unquote takes a value up to its closing quote, over as many lines as it has, and returns what stands behind it.
func (c *csvReader) unquote(line []byte) (rest []byte, err error) {
	first := c.line
	for {
		at := bytes.IndexByte(line, '"')
		switch {
		case at < 0:
			c.text = append(c.text, line...)
			if line, err = c.nextLine(); err != nil {
				if errors.Is(err, io.EOF) {
					err = fmt.Errorf("line %d: a quote that isn't closed", first)
				}
				return nil, err
			}
		case at+1 < len(line) && line[at+1] == '"':
			c.text = append(c.text, line[:at+1]...)
			line = line[at+2:]
		default:
			c.text = append(c.text, line[:at]...)
			return line[at+1:], nil
		}
	}
}

// nextLine reads a line with its break. It is good until the next call.
func (c *csvReader) nextLine() ([]byte, error) {
	line, err := c.r.ReadSlice('\n')
	if errors.Is(err, bufio.ErrBufferFull) {
		c.long = append(c.long[:0], line...)
		for errors.Is(err, bufio.ErrBufferFull) {
			line, err = c.r.ReadSlice('\n')
			c.long = append(c.long, line...)
		}
		line = c.long
	}
	if errors.Is(err, io.EOF) && len(line) > 0 {
		err = nil
	}
	c.line++
	return line, err
}

func (c *csvReader) fault(what string) error { return fmt.Errorf("line %d: %s", c.line, what) }

// trimBreak cuts the line's break off.
func trimBreak(line []byte) []byte {
	return bytes.TrimSuffix(bytes.TrimSuffix(line, []byte("\n")), []byte("\r"))
}

// csvWriter writes records as csvReader reads them.
type csvWriter struct {
	w       *bufio.Writer
	comma   string
	special string // what a value without quotes may not have
}

func newCSVWriter(w io.Writer, comma rune) *csvWriter {
	return &csvWriter{w: bufio.NewWriterSize(w, 64<<10), comma: string(comma), special: string(comma) + "\"\r\n"}
}

// write writes a record. Values stand in quotes where they must, and where quoted says so.
func (c *csvWriter) write(values []string, quoted []bool) error {
	for i, v := range values {
		if i > 0 {
			c.w.WriteString(c.comma)
		}
		blank := len(values) == 1 && v == "" // the line would be skipped
		if !blank && (quoted == nil || !quoted[i]) && !strings.ContainsAny(v, c.special) {
			c.w.WriteString(v)
			continue
		}
		c.w.WriteByte('"')
		for part, rest, more := "", v, true; more; {
			part, rest, more = strings.Cut(rest, `"`)
			c.w.WriteString(part)
			if more {
				c.w.WriteString(`""`)
			}
		}
		c.w.WriteByte('"')
	}
	return c.w.WriteByte('\n') // an error of the writer stays
}

func (c *csvWriter) flush() error { return c.w.Flush() }
