package engine

import (
	"errors"
	"strings"
	"testing"
)

// A statement that finds no room any more gets an error, and the others go on.
func TestFullDatabaseRefuses(t *testing.T) {
	d, err := openDB(8 << 20)
	if err != nil {
		t.Fatal(err)
	}
	defer d.close()
	if err := d.ddl("CREATE TABLE t (a BLOB)"); err != nil {
		t.Fatal(err)
	}
	if _, _, err := d.query("INSERT INTO t VALUES (?)", []cell{strings.Repeat("x", 16<<20)}, 1); !errors.Is(err, errFull) {
		t.Fatalf("16 MB into 8: %v", err)
	}
	if _, _, err := d.query("INSERT INTO t VALUES (?)", []cell{"small"}, 1); err != nil {
		t.Fatal(err)
	}
	rows, _, err := d.query("SELECT a FROM t", nil, 0)
	if err != nil || len(rows) != 1 || rows[0][0] != "small" {
		t.Errorf("%v, %v", rows, err)
	}
}
