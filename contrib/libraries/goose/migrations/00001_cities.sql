-- +goose NO TRANSACTION
-- +goose Up
CREATE TABLE cities (id INTEGER PRIMARY KEY, region INTEGER, name TEXT);
INSERT INTO cities VALUES (1, 69, 'Tver');
-- +goose Down
DROP TABLE cities;
