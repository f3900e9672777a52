package strategies

type BalanceStrategy interface{ Type() string }

type RoundRobinStrategy struct{}

func (RoundRobinStrategy) Type() string

func NewRoundRobinStrategy() *RoundRobinStrategy
