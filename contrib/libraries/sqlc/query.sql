-- name: AddCity :exec
INSERT INTO cities (id, region, name, note, founded) VALUES ($1, $2, $3, $4, $5);

-- name: GetCity :one
SELECT id, region, name, note, founded FROM cities WHERE id = $1;

-- name: FirstCities :many
SELECT id, region, name, note, founded FROM cities WHERE name > $1 ORDER BY name LIMIT 10;

-- name: RenameCity :execrows
UPDATE cities SET name = $1 WHERE id = $2;

-- name: CountCities :one
SELECT count(*) FROM cities;
