package gormpico

import (
	"database/sql"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"gorm.io/gorm"
	"gorm.io/gorm/clause"
	"gorm.io/gorm/logger"
	"gorm.io/gorm/schema"

	picodata "github.com/picodata/go-picodata"
	"github.com/picodata/go-picodata/picotest"
)

// start opens a simulated cluster of two tiers with GORM.
func start(t *testing.T, dsnMore string, c Config) (*picotest.Cluster, *gorm.DB) {
	t.Helper()
	cluster := picotest.Start(t, picotest.Config{Tiers: []picotest.Tier{
		{Name: "default", Replicasets: 2, ReplicationFactor: 1}, {Name: "cold", Replicasets: 1, ReplicationFactor: 1},
	}})
	c.DSN = cluster.AdminDSN() + dsnMore
	db, err := gorm.Open(New(c), &gorm.Config{Logger: logger.Discard, TranslateError: true})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		pool, err := db.DB()
		if err != nil {
			t.Error(err)
			return
		}
		pool.Close()
	})
	return cluster, db
}

type user struct {
	ID        uint64
	Name      string `gorm:"size:100;index:users_name"`
	Age       *int
	Height    float64
	Admin     bool
	CreatedAt time.Time
	UpdatedAt time.Time
	DeletedAt gorm.DeletedAt
	Posts     []post `gorm:"foreignKey:Author"`
}

type post struct {
	ID     string `gorm:"type:uuid;primaryKey"`
	Author uint64
	Title  string
	Data   []byte
}

func TestModels(t *testing.T) {
	c, db := start(t, "", Config{})
	if err := db.AutoMigrate(&user{}, &post{}); err != nil {
		t.Fatal(err)
	}
	u := user{Name: "Anna", Height: 1.75, Posts: []post{{Title: "one", Data: []byte(`{"a": 1}`)}, {Title: "two"}}}
	if err := db.Create(&u).Error; err != nil {
		t.Fatal(err)
	}
	if u.ID == 0 || u.Posts[0].ID == "" || u.Posts[0].Author != u.ID {
		t.Errorf("keys weren't made: %+v", u)
	}
	var got user
	if err := db.Preload("Posts").First(&got, u.ID).Error; err != nil {
		t.Fatal(err)
	}
	if got.Name != "Anna" || len(got.Posts) != 2 || got.Height != 1.75 || got.Age != nil || got.CreatedAt.Sub(u.CreatedAt).Abs() > time.Millisecond {
		t.Errorf("%+v", got)
	}
	age := 30
	for _, step := range []struct {
		name string
		do   func() *gorm.DB
		rows int64
	}{
		{"Update", func() *gorm.DB { return db.Model(&got).Update("age", age) }, 1},
		{"Updates", func() *gorm.DB { return db.Model(&got).Updates(map[string]any{"name": "Anna B."}) }, 1},
		{"expression", func() *gorm.DB { return db.Model(&got).Update("age", gorm.Expr("age + ?", 1)) }, 1},
	} {
		if r := step.do(); r.Error != nil || r.RowsAffected != step.rows {
			t.Errorf("%s: %d rows, %v", step.name, r.RowsAffected, r.Error)
		}
	}
	got.Posts = nil
	if err := db.Save(&got).Error; err != nil {
		t.Error("Save:", err)
	}
	var count int64
	if err := db.Model(&user{}).Where("name LIKE ?", "Anna%").Count(&count).Error; err != nil || count != 1 {
		t.Errorf("Count: %d, %v", count, err)
	}
	var names []string
	if err := db.Model(&user{}).Where("name IN ?", []string{"Anna B.", "nobody"}).Pluck("name", &names).Error; err != nil || !slices.Equal(names, []string{"Anna B."}) {
		t.Errorf("Pluck: %v, %v", names, err)
	}
	var found user
	if err := db.Where(user{Name: "Boris"}).FirstOrCreate(&found).Error; err != nil || found.ID == 0 {
		t.Errorf("FirstOrCreate: %+v, %v", found, err)
	}
	var list []user
	if err := db.Order("name").Limit(1).Find(&list).Error; err != nil || len(list) != 1 || list[0].Name != "Anna B." {
		t.Errorf("Limit: %v, %v", list, err)
	}
	if err := db.Joins("INNER JOIN posts ON posts.author = users.id").Where("posts.title = ?", "two").Find(&list).Error; err != nil || len(list) != 1 {
		t.Errorf("Joins: %v, %v", list, err)
	}
	if r := db.Delete(&got); r.Error != nil || r.RowsAffected != 1 {
		t.Errorf("Delete: %d, %v", r.RowsAffected, r.Error)
	}
	if err := db.First(&user{}, got.ID).Error; !errors.Is(err, gorm.ErrRecordNotFound) {
		t.Errorf("after a soft delete: %v", err)
	}
	if err := db.Unscoped().Delete(&got).Error; err != nil {
		t.Error(err)
	}
	for _, s := range c.Statements() {
		for _, word := range []string{"RETURNING", "LIMIT $", "OFFSET"} {
			if strings.Contains(s.SQL, word) {
				t.Errorf("%s in %s", word, s.SQL)
			}
		}
	}
}

type pair struct {
	ID int64 `gorm:"autoIncrement:false"`
	N  int64
}

func TestConflicts(t *testing.T) {
	_, db := start(t, "", Config{})
	if err := db.AutoMigrate(&pair{}); err != nil {
		t.Fatal(err)
	}
	n := func() (p pair) {
		if err := db.First(&p, 1).Error; err != nil {
			t.Error(err)
		}
		return p
	}
	if err := db.Create(&pair{1, 1}).Error; err != nil {
		t.Fatal(err)
	}
	err := db.Create(&pair{1, 2}).Error
	if !errors.Is(err, gorm.ErrDuplicatedKey) || !picodata.IsUniqueViolation(err) {
		t.Errorf("a duplicate key: %v", err)
	}
	if r := db.Clauses(clause.OnConflict{DoNothing: true}).Create(&pair{1, 3}); r.Error != nil || r.RowsAffected != 0 || n().N != 1 {
		t.Errorf("DoNothing: %v, %d rows, n = %d", r.Error, r.RowsAffected, n().N)
	}
	if r := db.Clauses(clause.OnConflict{UpdateAll: true}).Create(&pair{1, 4}); r.Error != nil || n().N != 4 {
		t.Errorf("UpdateAll: %v, n = %d", r.Error, n().N)
	}
	if err := db.Save(&pair{2, 1}).Error; err != nil {
		t.Error("Save of a new row:", err)
	}
	byKey := clause.OnConflict{Columns: []clause.Column{{Name: "id"}}, DoUpdates: clause.AssignmentColumns([]string{"n"})}
	if r := db.Clauses(byKey).Create(&[]pair{{3, 3}, {2, 22}}); r.Error != nil || r.RowsAffected != 2 {
		t.Errorf("DoUpdates: %d rows, %v", r.RowsAffected, r.Error)
	}
	var both []pair
	if err := db.Order("id").Find(&both, []int64{2, 3}).Error; err != nil || !slices.Equal(both, []pair{{2, 22}, {3, 3}}) {
		t.Errorf("DoUpdates left %v, %v", both, err)
	}
	for name, do := range map[string]func() error{
		"DO UPDATE": func() error {
			return db.Clauses(clause.OnConflict{Columns: []clause.Column{{Name: "n"}}, DoUpdates: clause.AssignmentColumns([]string{"n"})}).Create(&pair{1, 5}).Error
		},
		"OFFSET":              func() error { return db.Offset(1).Limit(1).Find(&[]pair{}).Error },
		"FOR UPDATE":          func() error { return db.Clauses(clause.Locking{Strength: "UPDATE"}).Find(&[]pair{}).Error },
		"RETURNING of create": func() error { return db.Clauses(clause.Returning{}).Create(&pair{9, 5}).Error },
		"RETURNING of update": func() error { return db.Model(&pair{ID: 1}).Clauses(clause.Returning{}).Update("n", 9).Error },
		"RETURNING of delete": func() error { return db.Clauses(clause.Returning{}).Delete(&pair{ID: 1}).Error },
	} {
		if err := do(); err == nil || !strings.Contains(err.Error(), "gormpico") {
			t.Errorf("%s: %v", name, err)
		}
	}
	if n().N != 4 {
		t.Errorf("a refused statement ran: n = %d", n().N)
	}
}

func TestBatches(t *testing.T) {
	c, db := start(t, "", Config{BatchRows: 100})
	if err := db.AutoMigrate(&pair{}); err != nil {
		t.Fatal(err)
	}
	rows := make([]pair, 250)
	for i := range rows {
		rows[i] = pair{int64(i + 1), int64(i)}
	}
	c.ResetCounters()
	if r := db.Create(&rows); r.Error != nil || r.RowsAffected != 250 {
		t.Errorf("%d rows, %v", r.RowsAffected, r.Error)
	}
	if n := len(c.Statements(picotest.SQL("INSERT INTO"))); n != 3 {
		t.Errorf("%d INSERTs for 250 rows, want 3", n)
	}
	more := []pair{{1001, 1}, {1002, 1}}
	if r := db.CreateInBatches(&more, 1); r.Error != nil || r.RowsAffected != 2 {
		t.Errorf("CreateInBatches: %d, %v", r.RowsAffected, r.Error)
	}
	for i := range rows {
		rows[i].ID += 2000
	}
	rows[150].ID = 1
	err := db.Create(&rows).Error
	if !errors.Is(err, gorm.ErrDuplicatedKey) || !strings.Contains(err.Error(), "first 100 of 250") {
		t.Errorf("a duplicate in the second INSERT: %v", err)
	}
	var maps []map[string]any
	for i := range 3 {
		maps = append(maps, map[string]any{"id": 5000 + i, "n": i})
	}
	if r := db.Model(&pair{}).Create(maps); r.Error != nil || r.RowsAffected != 3 {
		t.Errorf("maps: %d, %v", r.RowsAffected, r.Error)
	}
}

type event struct {
	Shop int64  `gorm:"primaryKey;autoIncrement:false;distributedBy;tier:cold;uniqueIndex:events_text,priority:1"`
	At   int64  `gorm:"primaryKey;autoIncrement:false"`
	Text string `gorm:"uniqueIndex:events_text,priority:2"`
	Kind int64
}

func (event) TableName() string { return "events" }

type country struct {
	Code string `gorm:"primaryKey;distributedGlobally"`
	Name string `gorm:"not null"`
}

func TestPlacement(t *testing.T) {
	c, db := start(t, "", Config{})
	if err := db.AutoMigrate(&country{}); err != nil {
		t.Fatal(err)
	}
	text, _, err := createTableOf(db, &event{})
	if err != nil || !strings.Contains(text, "DISTRIBUTED BY ? IN TIER ?") {
		t.Errorf("%s, %v", text, err)
	}
	type plain struct {
		ID int64 `gorm:"tier:cold"`
	}
	if err := db.AutoMigrate(&plain{}); err != nil {
		t.Fatal(err)
	}
	rows, err := c.Query("SELECT name, distribution FROM _pico_table WHERE name IN ('countries', 'plains') ORDER BY name")
	if err != nil || len(rows) != 2 {
		t.Fatalf("%v, %v", rows, err)
	}
	if got := fmt.Sprint(rows[0][1]); !strings.Contains(got, "Global") {
		t.Errorf("countries: %s", got)
	}
	if got := fmt.Sprint(rows[1][1]); !strings.Contains(got, "cold") {
		t.Errorf("plains: %s", got)
	}
	for _, wrong := range []any{
		&struct {
			ID int64 `gorm:"distributedGlobally;tier:cold"`
		}{},
		&struct {
			ID int64 `gorm:"distributedBy:first"`
		}{},
		&struct{ Name string }{},
	} {
		if _, _, err := createTableOf(db, wrong); err == nil {
			t.Errorf("%T was accepted", wrong)
		}
	}
}

func createTableOf(db *gorm.DB, model any) (string, []any, error) {
	m := db.Migrator().(Migrator)
	stmt := &gorm.Statement{DB: db}
	if err := stmt.ParseWithSpecialTableName(model, "x"); err != nil {
		return "", nil, err
	}
	return createTable(&m, stmt)
}

func TestMigrator(t *testing.T) {
	_, db := start(t, "", Config{})
	m := db.Migrator()
	if m.HasTable(&user{}) || m.HasTable("users") {
		t.Error("the table is there before")
	}
	for range 2 { // the second time there is nothing to do
		if err := db.AutoMigrate(&user{}); err != nil {
			t.Fatal(err)
		}
	}
	if !m.HasTable(&user{}) || !m.HasTable("users") || !m.HasColumn(&user{}, "Name") || m.HasColumn(&user{}, "nothing") ||
		!m.HasIndex(&user{}, "users_name") || m.HasIndex(&user{}, "nothing") {
		t.Error("what is there isn't seen, or what isn't is")
	}
	tables, err := m.GetTables()
	if err != nil || !slices.Equal(tables, []string{"users"}) {
		t.Errorf("GetTables: %v, %v", tables, err)
	}
	types, err := m.ColumnTypes(&user{})
	if err != nil {
		t.Fatal(err)
	}
	seen := map[string]string{}
	for _, c := range types {
		seen[c.Name()] = c.DatabaseTypeName()
		if pk, _ := c.PrimaryKey(); pk != (c.Name() == "id") {
			t.Errorf("%s: primary key %v", c.Name(), pk)
		}
	}
	if seen["name"] != "string" || seen["height"] != "double" || seen["deleted_at"] != "datetime" || seen["bucket_id"] != "" {
		t.Errorf("%v", seen)
	}
	type users struct {
		ID   uint64
		Name string
		City string
	}
	if err := db.AutoMigrate(&users{}); err != nil || !m.HasColumn(&users{}, "City") {
		t.Errorf("a new column: %v", err)
	}
	if err := m.RenameColumn(&users{}, "city", "town"); err != nil || !m.HasColumn(&users{}, "town") {
		t.Errorf("RenameColumn: %v", err)
	}
	type other struct {
		ID   uint64
		Name int64
	}
	if err := db.Table("users").AutoMigrate(&other{}); err == nil || !strings.Contains(err.Error(), "changes no column's type") {
		t.Errorf("a column of another type: %v", err)
	}
	if err := m.RenameIndex(&user{}, "users_name", "users_by_name"); err != nil {
		t.Errorf("RenameIndex: %v", err)
	}
	if err := m.DropIndex("users", "users_by_name"); err != nil || m.HasIndex("users", "users_by_name") {
		t.Errorf("DropIndex: %v", err)
	}
	for name, err := range map[string]error{
		"CreateConstraint": m.CreateConstraint(&user{}, "x"), "DropConstraint": m.DropConstraint(&user{}, "x"),
		"CreateView": m.CreateView("v", gorm.ViewOption{}), "DropView": m.DropView("v"),
		"DropColumn": m.DropColumn(&user{}, "age"), "AlterColumn": m.AlterColumn(&user{}, "age"),
	} {
		if err == nil || !strings.Contains(err.Error(), "gormpico: Picodata can't") {
			t.Errorf("%s: %v", name, err)
		}
	}
	if err := m.RenameTable("users", "people"); err != nil || !m.HasTable("people") {
		t.Errorf("RenameTable: %v", err)
	}
	if err := m.DropTable("people"); err != nil || m.HasTable("people") {
		t.Errorf("DropTable: %v", err)
	}
}

func TestTransactions(t *testing.T) {
	t.Run("reject", func(t *testing.T) {
		_, db := start(t, "", Config{})
		if err := db.AutoMigrate(&pair{}); err != nil {
			t.Fatal(err)
		}
		if !db.SkipDefaultTransaction {
			t.Error("Create would begin a transaction")
		}
		if err := db.Create(&pair{1, 1}).Error; err != nil {
			t.Error(err)
		}
		err := db.Transaction(func(tx *gorm.DB) error { return tx.Create(&pair{2, 1}).Error })
		if !errors.Is(err, picodata.ErrTxUnsupported) {
			t.Errorf("%v", err)
		}
	})
	t.Run("autocommit", func(t *testing.T) {
		_, db := start(t, "&transactions=autocommit", Config{})
		if err := db.AutoMigrate(&pair{}); err != nil {
			t.Fatal(err)
		}
		if db.SkipDefaultTransaction {
			t.Error("GORM's default was changed without need")
		}
		if err := db.Transaction(func(tx *gorm.DB) error { return tx.Create(&pair{1, 1}).Error }); err != nil {
			t.Error(err)
		}
		// The function fails after a write: GORM rolls back, and the caller learns that it didn't.
		fails := errors.New("no")
		tx := db.Begin()
		if err := tx.Create(&pair{2, 1}).Error; err != nil {
			t.Fatal(err)
		}
		if err := tx.Rollback().Error; !errors.Is(err, picodata.ErrNotRolledBack) {
			t.Errorf("Rollback after a write: %v", err)
		}
		if err := db.Transaction(func(tx *gorm.DB) error { return fails }); !errors.Is(err, fails) || errors.Is(err, picodata.ErrNotRolledBack) {
			t.Errorf("nothing was written: %v", err)
		}
		// A statement that fails after a write says so itself; for errors of the program's own there is Transaction.
		err := db.Transaction(func(tx *gorm.DB) error {
			if err := tx.Create(&pair{3, 1}).Error; err != nil {
				return err
			}
			return tx.Create(&pair{3, 2}).Error
		})
		if !errors.Is(err, picodata.ErrNotRolledBack) || !errors.Is(err, gorm.ErrDuplicatedKey) {
			t.Errorf("a statement that fails after a write: %v", err)
		}
		err = Transaction(db, func(tx *gorm.DB) error {
			if err := tx.Create(&pair{4, 1}).Error; err != nil {
				return err
			}
			return fails
		})
		if !errors.Is(err, picodata.ErrNotRolledBack) || !errors.Is(err, fails) {
			t.Errorf("an error of the program's after a write: %v", err)
		}
		if err := Transaction(db, func(tx *gorm.DB) error { return fails }); err != fails {
			t.Errorf("an error before any write: %v", err)
		}
		if err := Transaction(db, func(tx *gorm.DB) error { return tx.Create(&pair{5, 1}).Error }); err != nil {
			t.Error(err)
		}
		nested := func(db *gorm.DB) error {
			return db.Transaction(func(tx *gorm.DB) error {
				return tx.Transaction(func(tx *gorm.DB) error { return tx.Create(&pair{6, 1}).Error })
			})
		}
		if err := nested(db); !errors.Is(err, ErrSavepoint) {
			t.Errorf("a nested transaction: %v", err)
		}
		if err := nested(db.Session(&gorm.Session{DisableNestedTransaction: true})); err != nil {
			t.Errorf("a nested transaction as a part of the outer one: %v", err)
		}
		var n int64
		if err := db.Model(&pair{}).Count(&n).Error; err != nil || n != 6 {
			t.Errorf("%d rows, %v", n, err)
		}
		if err := db.Begin(&sql.TxOptions{Isolation: sql.LevelSerializable}).Error; err == nil {
			t.Error("an isolation level was promised")
		}
	})
}

type small struct {
	ID int32
	N  int
}

func TestKeys(t *testing.T) {
	_, db := start(t, "", Config{})
	if err := db.AutoMigrate(&small{}, &post{}); err != nil {
		t.Fatal(err)
	}
	if err := db.Create(&small{N: 1}).Error; err == nil || !strings.Contains(err.Error(), "int64") {
		t.Errorf("a random key of 32 bits: %v", err)
	}
	if err := db.Create(&small{ID: 7, N: 1}).Error; err != nil {
		t.Error(err)
	}
	posts := []post{{Title: "a"}, {Title: "b"}, {ID: "f81d4fae-7dec-11d0-a765-00a0c91e6bf6", Title: "c"}}
	if err := db.Create(&posts).Error; err != nil {
		t.Fatal(err)
	}
	if posts[0].ID == posts[1].ID || posts[2].ID != "f81d4fae-7dec-11d0-a765-00a0c91e6bf6" {
		t.Errorf("%+v", posts)
	}
}

// TestTimeKeys: keys grow, fit into 53 bits, and two in one millisecond differ.
func TestTimeKeys(t *testing.T) {
	now := time.Date(2090, 1, 1, 0, 0, 0, 0, time.UTC)
	k := &timeKeys{now: func() time.Time { return now }}
	f := &schema.Field{DataType: schema.Int}
	var last int64
	for i := range 100_000 {
		if i%10_000 == 0 {
			now = now.Add(time.Millisecond)
		}
		if i == 50_000 {
			now = now.Add(-time.Hour) // a clock that goes back
		}
		v, err := k.next(f)
		if err != nil || v.(int64) <= last || v.(int64) >= 1<<53 {
			t.Fatalf("%v after %d, %v", v, last, err)
		}
		last = v.(int64)
	}
	before := ""
	for range 3 {
		now = now.Add(time.Millisecond)
		v, _ := k.next(&schema.Field{DataType: "uuid"})
		id := v.(string)
		if id <= before || len(id) != 36 || id[14] != '7' || !strings.ContainsAny(id[19:20], "89ab") {
			t.Errorf("%s after %s", id, before)
		}
		before = id
	}
}

// TestKeysInTime: First is the oldest row, Last the newest; a key that another process has is made again.
func TestKeysInTime(t *testing.T) {
	given := []int64{10, 20, 20, 30, 10, 20, 30}
	_, db := start(t, "", Config{NewKey: func(*schema.Field) (any, error) {
		k := given[0]
		given = given[1:]
		return k, nil
	}})
	type note struct {
		ID   int64
		Text string
	}
	if err := db.AutoMigrate(&note{}); err != nil {
		t.Fatal(err)
	}
	for _, text := range []string{"oldest", "middle", "newest"} {
		n := note{Text: text}
		if err := db.Create(&n).Error; err != nil || n.ID == 0 {
			t.Errorf("%s: %v", text, err)
		}
	}
	var first, last note
	if err := errors.Join(db.First(&first).Error, db.Last(&last).Error); err != nil || first.Text != "oldest" || last.Text != "newest" || last.ID != 30 {
		t.Errorf("%+v, %+v, %v", first, last, err)
	}
	if err := db.Create(&note{}).Error; !errors.Is(err, gorm.ErrDuplicatedKey) || len(given) != 0 {
		t.Errorf("three keys that are there: %v, %d keys left", err, len(given))
	}
}

// TestUnique: unique is an index or an error, and the error says the server's rule; nothing is made of a model that can't be.
func TestUnique(t *testing.T) {
	c, db := start(t, "", Config{})
	type account struct {
		ID    int64
		Email string `gorm:"unique"`
	}
	type booking struct {
		ID   int64
		Room string `gorm:"uniqueIndex:room_day"`
		Day  string `gorm:"uniqueIndex:room_day"`
	}
	type priced struct {
		ID    int64
		Price int `gorm:"check:price > 0"`
	}
	type stamped struct {
		ID int64
		At string `gorm:"default:now()"`
	}
	for range 2 { // the second time is no different
		for model, want := range map[any]string{
			&account{}: "unique (email): a unique index of a sharded table must begin with the whole sharding key (id)",
			&booking{}: "uniqueIndex room_day (room, day): a unique index",
			&priced{}:  "can't have check constraints",
			&stamped{}: "can't compute a default",
		} {
			if err := db.AutoMigrate(model); err == nil || !strings.Contains(err.Error(), want) {
				t.Errorf("%T: %v, want %q", model, err, want)
			}
		}
	}
	if n := len(c.Statements(picotest.SQL("CREATE"))); n != 0 {
		t.Errorf("%d statements were sent for models that can't be", n)
	}
	type currency struct {
		ID   int64  `gorm:"distributedGlobally"`
		Code string `gorm:"unique"`
	}
	for range 2 {
		if err := db.AutoMigrate(&currency{}); err != nil {
			t.Fatal(err)
		}
	}
	if err := errors.Join(db.Create(&currency{Code: "RUB"}).Error, db.Create(&currency{Code: "EUR"}).Error); err != nil {
		t.Error(err)
	}
	if err := db.Create(&currency{Code: "RUB"}).Error; !errors.Is(err, gorm.ErrDuplicatedKey) {
		t.Errorf("a second RUB: %v", err)
	}
}

// TestDistinctCount: of one column it works, of several it is refused instead of counting all rows.
func TestDistinctCount(t *testing.T) {
	_, db := start(t, "", Config{})
	if err := db.AutoMigrate(&pair{}); err != nil {
		t.Fatal(err)
	}
	if err := db.Create(&[]pair{{1, 5}, {2, 5}, {3, 6}}).Error; err != nil {
		t.Fatal(err)
	}
	var n int64
	for name, q := range map[string]*gorm.DB{
		"Distinct(n)":        db.Model(&pair{}).Distinct("n"),
		"Select(n).Distinct": db.Model(&pair{}).Select("n").Distinct(),
		"Distinct, ordered":  db.Model(&pair{}).Distinct("n").Order("n"),
		"Group":              db.Model(&pair{}).Group("n"),
	} {
		if err := q.Count(&n).Error; err != nil || n != 2 {
			t.Errorf("%s: %d, %v", name, n, err)
		}
	}
	if err := db.Model(&pair{}).Distinct("id", "n").Count(&n).Error; !errors.Is(err, ErrDistinctCount) {
		t.Errorf("of two columns: %v", err)
	}
}

// TestBatchesSplit: with split_inserts=on the INSERTs of a batch creation go to the owners of their rows, none is passed on, and each owner's rows are one flight.
func TestBatchesSplit(t *testing.T) {
	for more, forwarded := range map[string]bool{"": true, "&split_inserts=on": false} {
		c, db := start(t, more, Config{BatchRows: 256})
		if err := db.AutoMigrate(&pair{}); err != nil {
			t.Fatal(err)
		}
		untilKnown(t, db, `INSERT INTO "pairs" ("id","n") VALUES ($1,$2),($3,$4)`, 1, 1, 2, 2)
		rows := make([]pair, 100)
		create := map[string]func() *gorm.DB{
			"Create":          func() *gorm.DB { return db.Create(&rows) },
			"CreateInBatches": func() *gorm.DB { return db.CreateInBatches(&rows, 50) },
		}
		for id, name := range []string{"Create", "CreateInBatches"} {
			for i := range rows {
				rows[i] = pair{int64(id*1000 + i + 1), int64(i)}
			}
			c.ResetCounters()
			if r := create[name](); r.Error != nil || r.RowsAffected != 100 {
				t.Fatalf("%q, %s: %d rows, %v", more, name, r.RowsAffected, r.Error)
			}
			hops := 0
			nodes := map[string]int{}
			for _, s := range c.Statements(picotest.SQL("INSERT INTO")) {
				hops += s.Hops
				if s.ErrText == "" { // what a slow machine makes go to another node is refused there (forward = off)
					nodes[s.Node]++
				}
			}
			if hops > 0 != forwarded || !forwarded && len(nodes) != 2 {
				t.Errorf("%q, %s: %d hops, INSERTs by node %v", more, name, hops, nodes)
			}
		}
	}
}

// untilKnown waits until the driver knows the table of an INSERT of two owners' rows.
func untilKnown(t *testing.T, db *gorm.DB, query string, args ...any) {
	t.Helper()
	pool, err := db.DB()
	if err != nil {
		t.Fatal(err)
	}
	conn, err := picodata.Unwrap(pool)
	if err != nil {
		t.Fatal(err)
	}
	for range 10_000 {
		p, err := conn.Explain(t.Context(), query, args...)
		if err != nil {
			t.Fatal(err)
		}
		if p.Reason == "several_owners" {
			return
		}
		time.Sleep(time.Millisecond)
	}
	t.Fatal("the table is never known")
}
