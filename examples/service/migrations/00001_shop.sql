-- +goose NO TRANSACTION
-- +goose Up
CREATE TABLE IF NOT EXISTS orders (
  customer INTEGER NOT NULL,
  id INTEGER NOT NULL,
  item TEXT NOT NULL,
  amount INTEGER NOT NULL,
  created DATETIME NOT NULL,
  PRIMARY KEY (customer, id)
) DISTRIBUTED BY (customer);
CREATE TABLE IF NOT EXISTS totals (
  customer INTEGER NOT NULL,
  orders INTEGER NOT NULL,
  spent INTEGER NOT NULL,
  PRIMARY KEY (customer)
) DISTRIBUTED BY (customer);
-- +goose Down
DROP TABLE totals;
DROP TABLE orders;
