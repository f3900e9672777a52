// Package picodata declares what the migration guide uses of picodata-go 1.1.
package picodata

import (
	"context"

	"git.picodata.io/core/picodata-go/logger"
	"git.picodata.io/core/picodata-go/strategies"
	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
)

type Pool struct{}

type PoolOption func(*Pool) error

func New(ctx context.Context, connString string, opts ...PoolOption) (*Pool, error)

func WithBalanceStrategy(strategy strategies.BalanceStrategy) PoolOption
func WithLogLevel(level logger.LogLevel) PoolOption
func WithMaxConnPerInstance(n int32) PoolOption
func WithDisableTopologyManaging() PoolOption

func (p *Pool) Query(ctx context.Context, sql string, args ...any) (pgx.Rows, error)
func (p *Pool) QueryRow(ctx context.Context, sql string, args ...any) pgx.Row
func (p *Pool) Exec(ctx context.Context, sql string, args ...any) (pgconn.CommandTag, error)
func (p *Pool) Close()
