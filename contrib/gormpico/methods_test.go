package gormpico

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strings"
	"testing"

	"gorm.io/gorm"
	"gorm.io/gorm/clause"

	"github.com/picodata/go-picodata/contrib/internal/methods"
)

type shelf struct {
	ID    int64
	Name  string
	Books []book
}

type book struct {
	ID      int64
	ShelfID int64
	Shelf   shelf
	Title   string
	Tags    []tag `gorm:"many2many:book_tags"`
}

type tag struct {
	ID   int64
	Name string
}

// tries runs every method of gorm.DB that sends a statement or changes one, on three books of two shelves.
func tries(t *testing.T) map[string]func(db *gorm.DB) error {
	title := func(db *gorm.DB, title string) error {
		var b book
		err := db.First(&b).Error
		return methods.Want(err, b.Title, title)
	}
	count := func(db *gorm.DB, is int64) error {
		var n int64
		err := db.Model(&book{}).Count(&n).Error
		return methods.Want(err, n, is)
	}
	return map[string]func(db *gorm.DB) error{
		"Create":          func(db *gorm.DB) error { return db.Create(&book{Title: "x"}).Error },
		"CreateInBatches": func(db *gorm.DB) error { return db.CreateInBatches(&[]book{{}, {}, {}}, 2).Error },
		"Save":            func(db *gorm.DB) error { return db.Save(&book{ID: 1, Title: "saved"}).Error },
		"First":           func(db *gorm.DB) error { return title(db, "a") },
		"Last":            func(db *gorm.DB) error { var b book; err := db.Last(&b).Error; return methods.Want(err, b.Title, "c") },
		"Take":            func(db *gorm.DB) error { return db.Take(&book{}).Error },
		"Find":            func(db *gorm.DB) error { var l []book; err := db.Find(&l).Error; return methods.Want(err, len(l), 3) },
		"FindInBatches": func(db *gorm.DB) error {
			n := 0
			var l []book
			err := db.FindInBatches(&l, 2, func(*gorm.DB, int) error { n += len(l); return nil }).Error
			return methods.Want(err, n, 3)
		},
		"FirstOrCreate": func(db *gorm.DB) error { return db.Where(book{Title: "new"}).FirstOrCreate(&book{}).Error },
		"FirstOrInit":   func(db *gorm.DB) error { return db.Where(book{Title: "new"}).FirstOrInit(&book{}).Error },
		"Attrs": func(db *gorm.DB) error {
			return db.Where(book{Title: "new"}).Attrs(book{ShelfID: 1}).FirstOrCreate(&book{}).Error
		},
		"Assign": func(db *gorm.DB) error {
			return db.Where(book{Title: "a"}).Assign(book{ShelfID: 1}).FirstOrCreate(&book{}).Error
		},
		"Update": func(db *gorm.DB) error {
			r := db.Model(&book{ID: 1}).Update("title", "u")
			return methods.Want(r.Error, r.RowsAffected, int64(1))
		},
		"Updates": func(db *gorm.DB) error {
			r := db.Model(&book{ID: 1}).Updates(book{Title: "u"})
			return methods.Want(r.Error, r.RowsAffected, int64(1))
		},
		"UpdateColumn": func(db *gorm.DB) error {
			r := db.Model(&book{ID: 1}).UpdateColumn("title", "u")
			return methods.Want(r.Error, r.RowsAffected, int64(1))
		},
		"UpdateColumns": func(db *gorm.DB) error {
			r := db.Model(&book{ID: 1}).UpdateColumns(map[string]any{"title": "u"})
			return methods.Want(r.Error, r.RowsAffected, int64(1))
		},
		"Delete": func(db *gorm.DB) error { return errors.Join(db.Delete(&book{ID: 1}).Error, count(db, 2)) },
		"Count":  func(db *gorm.DB) error { return count(db, 3) },
		"Pluck": func(db *gorm.DB) error {
			var l []string
			err := db.Model(&book{}).Order("title").Pluck("title", &l).Error
			return methods.Want(err, l, []string{"a", "b", "c"})
		},
		"Scan": func(db *gorm.DB) error {
			var l []struct{ Title string }
			err := db.Model(&book{}).Scan(&l).Error
			return methods.Want(err, len(l), 3)
		},
		"Row": func(db *gorm.DB) error {
			var n int
			err := db.Model(&book{}).Select("count(*)").Row().Scan(&n)
			return methods.Want(err, n, 3)
		},
		"Rows": func(db *gorm.DB) error {
			r, err := db.Model(&book{}).Rows()
			if err != nil {
				return err
			}
			return r.Close()
		},
		"ScanRows": func(db *gorm.DB) error {
			r, err := db.Model(&book{}).Rows()
			if err != nil {
				return err
			}
			defer func() { _ = r.Close() }()
			for r.Next() {
				if err := db.ScanRows(r, &book{}); err != nil {
					return err
				}
			}
			return r.Err()
		},
		"Raw": func(db *gorm.DB) error {
			var n int
			err := db.Raw("SELECT count(*) FROM books WHERE id > ?", 0).Scan(&n).Error
			return methods.Want(err, n, 3)
		},
		"Exec": func(db *gorm.DB) error {
			r := db.Exec("UPDATE books SET title = ? WHERE id = ?", "e", 1)
			return methods.Want(r.Error, r.RowsAffected, int64(1))
		},
		"Where": func(db *gorm.DB) error { return title(db.Where("title > ?", "a"), "b") },
		"Not":   func(db *gorm.DB) error { return title(db.Not("title = ?", "a"), "b") },
		"Or":    func(db *gorm.DB) error { return count(db.Where("title = ?", "a").Or("title = ?", "b"), 2) },
		"Order": func(db *gorm.DB) error {
			var b book
			err := db.Order("title DESC").Limit(1).Find(&b).Error
			return methods.Want(err, b.Title, "c")
		},
		"Limit": func(db *gorm.DB) error {
			var l []book
			err := db.Limit(2).Find(&l).Error
			return methods.Want(err, len(l), 2)
		},
		"Offset": func(db *gorm.DB) error { return db.Offset(1).Limit(1).Find(&[]book{}).Error },
		"Select": func(db *gorm.DB) error {
			var b book
			err := db.Select("id").First(&b).Error
			return methods.Want(err, b.Title, "")
		},
		"Omit": func(db *gorm.DB) error {
			var b book
			err := db.Omit("title").First(&b).Error
			return methods.Want(err, b.Title, "")
		},
		"MapColumns": func(db *gorm.DB) error {
			var b book
			err := db.Table("(SELECT id, title AS named FROM books) AS books").MapColumns(map[string]string{"named": "title"}).Where("named = ?", "b").Take(&b).Error
			return methods.Want(err, b.Title, "b")
		},
		"Group": func(db *gorm.DB) error { return count(db.Group("shelf_id"), 2) },
		"Having": func(db *gorm.DB) error {
			var l []int64
			err := db.Model(&book{}).Select("shelf_id").Group("shelf_id").Having("count(*) > ?", 1).Scan(&l).Error
			return methods.Want(err, len(l), 1)
		},
		"Distinct": func(db *gorm.DB) error { return count(db.Distinct("shelf_id"), 2) },
		"Joins": func(db *gorm.DB) error {
			var b book
			err := db.Joins("Shelf").First(&b).Error
			return methods.Want(err, b.Shelf.Name, "one")
		},
		"InnerJoins": func(db *gorm.DB) error {
			var b book
			err := db.InnerJoins("Shelf").First(&b).Error
			return methods.Want(err, b.Shelf.Name, "one")
		},
		"Preload": func(db *gorm.DB) error {
			var s shelf
			err := db.Preload("Books").First(&s).Error
			return methods.Want(err, len(s.Books), 2)
		},
		"Association": func(db *gorm.DB) error {
			b := book{ID: 1}
			a := db.Model(&b).Association("Tags")
			if err := errors.Join(a.Error, a.Append(&tag{Name: "t"})); err != nil {
				return err
			}
			return methods.Want(nil, db.Model(&b).Association("Tags").Count(), int64(1))
		},
		"SetupJoinTable": func(db *gorm.DB) error { return db.SetupJoinTable(&book{}, "Tags", &bookTag{}) },
		"Clauses": func(db *gorm.DB) error {
			return db.Clauses(clause.OnConflict{DoNothing: true}).Create(&book{ID: 1}).Error
		},
		"Clauses(Locking)":   func(db *gorm.DB) error { return db.Clauses(clause.Locking{Strength: "UPDATE"}).Find(&[]book{}).Error },
		"Clauses(Returning)": func(db *gorm.DB) error { return db.Clauses(clause.Returning{}).Delete(&book{ID: 1}).Error },
		"Clauses(OnConflict of another column)": func(db *gorm.DB) error {
			return db.Clauses(clause.OnConflict{Columns: []clause.Column{{Name: "title"}}, DoUpdates: clause.AssignmentColumns([]string{"title"})}).Create(&book{ID: 1}).Error
		},
		"Distinct(several).Count": func(db *gorm.DB) error { return count(db.Distinct("shelf_id", "title"), 3) },
		"Table": func(db *gorm.DB) error {
			var n int64
			err := db.Table("books").Count(&n).Error
			return methods.Want(err, n, int64(3))
		},
		"Model": func(db *gorm.DB) error { return count(db, 3) },
		"Scopes": func(db *gorm.DB) error {
			return title(db.Scopes(func(db *gorm.DB) *gorm.DB { return db.Where("title = ?", "b") }), "b")
		},
		"Unscoped": func(db *gorm.DB) error { return count(db.Unscoped(), 3) },
		"ToSQL": func(db *gorm.DB) error {
			text := db.ToSQL(func(tx *gorm.DB) *gorm.DB { return tx.Find(&[]book{}) })
			return methods.Want(nil, text, `SELECT * FROM "books"`)
		},
		"AutoMigrate": func(db *gorm.DB) error { return db.AutoMigrate(&book{}) },
		"Begin":       func(db *gorm.DB) error { return db.Begin().Error },
		"Transaction": func(db *gorm.DB) error { return db.Transaction(func(tx *gorm.DB) error { return nil }) },
		"Connection":  func(db *gorm.DB) error { return db.Connection(func(tx *gorm.DB) error { return count(tx, 3) }) },
		"Begin with transactions=autocommit": func(*gorm.DB) error {
			return autocommit(t, func(db *gorm.DB) error { return db.Begin().Commit().Error })
		},
		"Commit": func(*gorm.DB) error {
			return autocommit(t, func(db *gorm.DB) error { return db.Begin().Commit().Error })
		},
		"Rollback": func(*gorm.DB) error {
			return autocommit(t, func(db *gorm.DB) error { return db.Begin().Rollback().Error })
		},
		"Rollback after a write": func(*gorm.DB) error {
			return autocommit(t, func(db *gorm.DB) error {
				tx := db.Begin()
				return errors.Join(tx.Create(&book{}).Error, tx.Rollback().Error)
			})
		},
		"SavePoint": func(*gorm.DB) error {
			return autocommit(t, func(db *gorm.DB) error { tx := db.Begin(); defer tx.Rollback(); return tx.SavePoint("s").Error })
		},
		"RollbackTo": func(*gorm.DB) error {
			return autocommit(t, func(db *gorm.DB) error { tx := db.Begin(); defer tx.Rollback(); return tx.RollbackTo("s").Error })
		},
		"Transaction with an isolation level": func(*gorm.DB) error {
			return autocommit(t, func(db *gorm.DB) error {
				return db.Transaction(func(*gorm.DB) error { return nil }, &sql.TxOptions{Isolation: sql.LevelSerializable})
			})
		},
		"WithContext": func(db *gorm.DB) error { return count(db.WithContext(context.Background()), 3) },
		"Session":     func(db *gorm.DB) error { return count(db.Session(&gorm.Session{PrepareStmt: true}), 3) },
		"Debug":       func(db *gorm.DB) error { return count(db.Session(&gorm.Session{}), 3) },
	}
}

type bookTag struct {
	BookID int64 `gorm:"primaryKey"`
	TagID  int64 `gorm:"primaryKey"`
}

// plumbing are methods that send nothing and change nothing of a statement.
var plumbing = strings.Fields("AddError AfterInitialize Apply BindVarTo Callback DB DataTypeOf DefaultValueOf Explain Get Initialize InstanceGet InstanceSet Migrator Name QuoteTo Set Use")

func library(t *testing.T, more string) *gorm.DB {
	t.Helper()
	_, db := start(t, more, Config{})
	if err := db.AutoMigrate(&shelf{}, &book{}, &tag{}); err != nil {
		t.Fatal(err)
	}
	err := errors.Join(db.Create(&[]shelf{{ID: 1, Name: "one"}, {ID: 2, Name: "two"}}).Error,
		db.Omit("Shelf").Create(&[]book{{ID: 1, ShelfID: 1, Title: "a"}, {ID: 2, ShelfID: 1, Title: "b"}, {ID: 3, ShelfID: 2, Title: "c"}}).Error)
	if err != nil {
		t.Fatal(err)
	}
	return db
}

func autocommit(t *testing.T, do func(*gorm.DB) error) error {
	return do(library(t, "&transactions=autocommit"))
}

// TestMethods: every method of gorm.DB works, or says why not. docs/libraries/gorm.md has the table; UPDATE_DOCS=1 writes it.
func TestMethods(t *testing.T) {
	run := tries(t)
	kind := reflect.TypeFor[*gorm.DB]()
	for i := range kind.NumMethod() {
		if name := kind.Method(i).Name; run[name] == nil && !slices.Contains(plumbing, name) {
			t.Errorf("gorm.DB.%s isn't tried", name)
		}
	}
	var works, refused []string
	names := make([]string, 0, len(run))
	for name := range run {
		names = append(names, name)
	}
	slices.Sort(names)
	for _, name := range names {
		switch err := run[name](library(t, "")); {
		case err == nil:
			works = append(works, "`"+name+"`")
		case strings.HasPrefix(err.Error(), "gormpico: "), strings.HasPrefix(err.Error(), "picodata: ") && !strings.Contains(err.Error(), "SQLSTATE"):
			text, _, _ := strings.Cut(err.Error(), "\n")
			refused = append(refused, fmt.Sprintf("| `%s` | explained error | %s |", name, strings.ReplaceAll(text, "|", `\|`)))
		default:
			t.Errorf("%s fails without an explanation: %v", name, err)
		}
	}
	table := fmt.Sprintf("\n| methods of `gorm.DB` | outcome | in words |\n| --- | --- | --- |\n| %s | works | |\n%s\n<!-- holds: TestMethods -->\n\nNone is silent: each was run against a cluster, its result compared, by `TestMethods`. Methods that send nothing: `%s`.\n\n",
		strings.Join(works, ", "), strings.Join(refused, "\n"), strings.Join(plumbing, "`, `"))
	methods.InDocument(t, "../../docs/libraries/gorm.md", table)
}
