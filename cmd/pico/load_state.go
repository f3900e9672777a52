package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
)

// loadState is what --resume keeps: the rows before Rows are in the table, but for those that were refused.
type loadState struct {
	File  string  `json:"file"`
	Size  int64   `json:"size"` // of the file, in bytes; 0: not known
	Table string  `json:"table"`
	Rows  int64   `json:"rows"`
	Left  []int64 `json:"left,omitempty"` // refused ones among them, counted from 0

	again bool // there was a file: some of the rows behind may be in
}

// resumed reads the state of a load that broke off, or begins one. The file is there before the first row is sent: whoever finds it knows that some may be in.
func (l *loader) resumed() (loadState, error) {
	s := loadState{Table: l.table}
	if l.resume == "" {
		return s, nil
	}
	if l.file != "-" {
		path, err := filepath.Abs(l.file)
		if err != nil {
			return s, err
		}
		info, err := os.Stat(path)
		if err != nil {
			return s, err
		}
		s.File, s.Size = path, info.Size()
	}
	text, err := os.ReadFile(l.resume)
	if errors.Is(err, fs.ErrNotExist) {
		return s, s.note(l.resume)
	}
	if err != nil {
		return s, err
	}
	var old loadState
	if err := json.Unmarshal(text, &old); err != nil {
		return s, fmt.Errorf("%s isn't the state of a load: %w", l.resume, err)
	}
	if old.File != s.File || old.Size != s.Size || old.Table != s.Table {
		return s, fmt.Errorf("%s is of a load of %s (%d bytes) into %s, not of %s (%d bytes) into %s; remove it to begin anew", l.resume, old.File, old.Size, old.Table, s.File, s.Size, s.Table)
	}
	old.again = true
	return old, nil
}

// note writes the state, whole or not at all.
func (s *loadState) note(path string) error {
	text, err := json.Marshal(s)
	if err != nil {
		return err
	}
	w, finish, err := wholeFile(path)
	if err != nil {
		return err
	}
	_, err = w.Write(append(text, '\n'))
	return finish(err)
}

// wholeFile opens a file that is there whole, on the disk, or as it was before: finish is told how its writing went.
func wholeFile(path string) (w io.Writer, finish func(error) error, err error) {
	next := path + ".next"
	f, err := os.OpenFile(next, os.O_WRONLY|os.O_CREATE|os.O_TRUNC, 0o600)
	if err != nil {
		return nil, nil, err
	}
	return f, func(err error) error {
		if err == nil {
			err = f.Sync()
		}
		if err = errors.Join(err, f.Close()); err != nil {
			return errors.Join(err, os.Remove(next))
		}
		return os.Rename(next, path)
	}, nil
}
