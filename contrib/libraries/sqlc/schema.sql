-- Tables as sqlc reads them, in PostgreSQL's words; DISTRIBUTED BY and the like are Picodata's and stay in the program
-- or in a migration.
CREATE TABLE cities (
    id      BIGINT PRIMARY KEY,
    region  BIGINT NOT NULL,
    name    TEXT NOT NULL,
    note    TEXT,
    founded TIMESTAMPTZ NOT NULL
);
