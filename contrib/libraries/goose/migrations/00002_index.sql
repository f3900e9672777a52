-- +goose NO TRANSACTION
-- +goose Up
CREATE INDEX cities_region ON cities (region);
-- +goose Down
DROP INDEX cities_region;
