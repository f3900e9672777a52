package conformance

import (
	"testing"

	picodata "github.com/picodata/go-picodata"
	"github.com/picodata/go-picodata/options"
)

// users is about somebody who may nothing but log in, and then a little more.
func users(t *testing.T, s *subject) {
	s.need(t, s.target.AdminDSN != "", "PICODATA_ADMIN_DSN")
	admin, _ := s.open(t, s.target.AdminDSN)
	name, password := s.prefix+"user", "Passw0rd"
	s.exec(t, admin, "CREATE USER "+name+" WITH PASSWORD '"+password+"' USING md5")
	cfg, err := picodata.ParseDSN(s.target.DSN)
	if err != nil {
		t.Fatal(err)
	}
	cfg.User, cfg.Password = name, password
	dsn := picodata.FormatDSN(cfg)
	table := s.table(t, "id INT PRIMARY KEY, n INT")
	t.Run("without rights", func(t *testing.T) {
		db, conn := s.open(t, dsn)
		if n := s.number(t, db, "SELECT 1"); n != 1 {
			t.Errorf("%d", n)
		}
		if _, err := db.ExecContext(t.Context(), "SELECT * FROM "+table); !picodata.IsPermission(err) {
			t.Errorf("reading a table of others: %v", err)
		}
		// Either he may see who leads, or the driver says which GRANT is missing.
		if st := conn.Stats().Topology; !st.RolesKnown && len(st.DegradedGrants) == 0 {
			t.Error("roles aren't known, and no GRANT is named")
		}
	})
	t.Run("with a grant", func(t *testing.T) {
		s.exec(t, admin, "GRANT READ ON TABLE "+table+" TO "+name)
		db, _ := s.open(t, dsn)
		if n := s.number(t, db, "SELECT count(*) FROM "+table); n != 0 {
			t.Errorf("%d rows", n)
		}
		if _, err := db.ExecContext(t.Context(), "INSERT INTO "+table+" VALUES ($1, $2)", 1, 1); !picodata.IsPermission(err) {
			t.Errorf("writing with READ: %v", err)
		}
	})
	t.Run("roles become known", func(t *testing.T) {
		for _, system := range []string{"_pico_replicaset", "_pico_tier", "_pico_table"} {
			s.exec(t, admin, "GRANT READ ON TABLE "+system+" TO "+name)
		}
		cfg.InstanceRole = options.RoleLeader
		db, conn := s.open(t, picodata.FormatDSN(cfg))
		if err := db.PingContext(t.Context()); err != nil {
			t.Fatal(err)
		}
		if !conn.Topology().RolesKnown {
			t.Error("the roles aren't known in spite of the GRANT")
		}
	})
}
