package picodata

import (
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/picodata/go-picodata/internal/exec"
	"github.com/picodata/go-picodata/internal/pool"
	"github.com/picodata/go-picodata/internal/route"
	"github.com/picodata/go-picodata/internal/wire"
	"github.com/picodata/go-picodata/metadata"
	"github.com/picodata/go-picodata/options"
)

// Errors about nodes and connections: what kept a statement from being handed to a server. Use errors.As.

type (
	// ConfigError is a fault in a DSN or a Config.
	ConfigError = options.ConfigError
	// IdentityError says that an instance answered at a node's address which doesn't belong to the cluster. It got no statement.
	IdentityError = metadata.IdentityError
	// NodeError says what a node answered that was asked for the topology, or why it couldn't be asked.
	NodeError = metadata.NodeError
)

// AcquireTimeoutError says that no connection became free within acquire_timeout, and who holds them. It is
// net.Error-like: Timeout returns true. It isn't a context error: the caller's context is still good.
type AcquireTimeoutError struct {
	Filter  string        // which nodes would have done
	Waited  time.Duration // acquire_timeout
	Nodes   []NodeLoad    // those that would have done; read only, errors may share it
	Max     int           // the cluster's cap; 0 = none
	Open    int           // connections that count toward it
	Waiting int           // requests waiting at that time, this one included
	Dial    *DialError    // dials that failed meanwhile; nil: none
}

// NodeLoad says who holds a node's connections.
type NodeLoad struct {
	Name, Address string
	State         string        // "", "ejected", "full" (the server said so), "slow" (dials take long)
	Max           int           // cap; 0 = none
	Busy          int           // leased
	Idle          int           // can't be used by the request, or there would be no error
	Dialing       int           // slots taken for dials
	Draining      int           // being closed
	Waiting       int           // requests that wait for a dial of this node
	Longest       time.Duration // age of its oldest lease
}

// Error lists the nodes with what holds them.
func (e *AcquireTimeoutError) Error() string {
	p := pool.AcquireTimeoutError{Filter: e.Filter, Waited: e.Waited, Max: e.Max, Open: e.Open, Waiting: e.Waiting}
	for _, n := range e.Nodes {
		p.Nodes = append(p.Nodes, pool.NodeLoad(n))
	}
	if e.Dial != nil {
		p.Dial = e.Dial.internal()
	}
	return p.Error()
}

// Timeout is true.
func (e *AcquireTimeoutError) Timeout() bool { return true }

// Unwrap gives the failed dials, if there were any.
func (e *AcquireTimeoutError) Unwrap() error {
	if e.Dial == nil {
		return nil
	}
	return e.Dial
}

// NoNodeError says that no node of the set may serve a request, and which condition left none.
type NoNodeError struct {
	Filter     string        // which nodes were asked for
	Nodes      int           // known nodes
	Ineligible int           // excluded by instance_role or the tiers that are allowed
	Unmatched  int           // excluded by the filter
	Roleless   int           // would match but for their role, which isn't known now
	Ejected    int           // match, but are ejected
	Overflow   int           // match, but have weight 0 and overflow doesn't allow them now
	RetryIn    time.Duration // when the first ejection ends; 0 = none
	Waited     time.Duration
}

// Error says which condition left no node.
func (e *NoNodeError) Error() string { return (*pool.NoNodeError)(e).Error() }

// DialError says that no candidate could be connected to, with the cause for each. It unwraps to all of them.
type DialError struct {
	Filter string // which nodes would have done
	Nodes  []*NodeDialError
}

// NodeDialError is a failed dial of one node. It unwraps to the cause.
type NodeDialError struct {
	Node, Address string
	Err           error
}

// Error names the node.
func (e *NodeDialError) Error() string { return (*pool.NodeDialError)(e).Error() }

// Unwrap gives the cause.
func (e *NodeDialError) Unwrap() error { return e.Err }

// Error lists every attempt with its cause.
func (e *DialError) Error() string { return e.internal().Error() }

// Unwrap gives the attempts, so that errors.Is and errors.As look into each.
func (e *DialError) Unwrap() []error {
	errs := make([]error, len(e.Nodes))
	for i, n := range e.Nodes {
		errs[i] = n
	}
	return errs
}

func (e *DialError) internal() *pool.DialError {
	p := &pool.DialError{Filter: e.Filter}
	for _, n := range e.Nodes {
		p.Nodes = append(p.Nodes, (*pool.NodeDialError)(n))
	}
	return p
}

// AuthError says that a node refused the login. It is final for the connector until the password
// function gives another password or a cool-down ends: after four failed logins in a row
// Picodata locks a user on that instance. It unwraps to *pq.Error.
type AuthError struct {
	Node, Address string
	CoolDown      time.Duration // from the refusal; 0 = none
	Err           error
}

// Error names the node and the cool-down.
func (e *AuthError) Error() string { return (*pool.LoginError)(e).Error() }

// Unwrap gives the server's error.
func (e *AuthError) Unwrap() error { return e.Err }

// RoleUnknownError says that instance_role asks for a role and that the user may not read who has
// which. It unwraps to *NoNodeError.
type RoleUnknownError struct {
	Grants []string // statements that an administrator can run to mend it
	cause  error
}

// Error gives the GRANT that helps.
func (e *RoleUnknownError) Error() string {
	return fmt.Sprintf("%v; the user may not read which instance leads: as admin run %s, or use instance_role=any", e.cause, strings.Join(e.Grants, "; "))
}

// Unwrap gives the cause.
func (e *RoleUnknownError) Unwrap() error { return e.cause }

// ShardRangeError: no_shard_specified_behavior=shard_N names a replicaset that the tier doesn't have.
type ShardRangeError struct {
	Shard int
	Tier  string
	Have  int // replicasets of the tier
}

// Error says what there is.
func (e *ShardRangeError) Error() string { return (*route.ShardRangeError)(e).Error() }

// BucketRangeError: ToBucket names a bucket that the tier doesn't have.
type BucketRangeError struct {
	Tier   string
	Bucket uint64
	Count  uint64 // buckets are numbered from 1 to Count
}

// Error says which buckets there are.
func (e *BucketRangeError) Error() string { return (*route.BucketRangeError)(e).Error() }

// UnknownNameError: ToInstance, ToReplicaset or ToTier names what the cluster doesn't have.
type UnknownNameError struct {
	What string // "instance", "replicaset" or "tier"
	Name string
}

// Error says what was asked for.
func (e *UnknownNameError) Error() string { return (*route.UnknownNameError)(e).Error() }

// LeaderlessError says that a statement needs a leader that is dead, or a replicaset's that nobody leads, and that the
// wait for the next one ended: with the context, with dead_leader_timeout, or at once under dead_leader=fail. Nothing
// was sent, so that it may be run again (IsRetryable). It unwraps to the context's error, if that ended the wait.
type LeaderlessError struct {
	Instance   string // the dead leader; "" = the replicaset has none
	Replicaset string
	Tier       string
	Since      time.Duration // how long the leader has been known to be dead; 0 = not known
	Waited     time.Duration // 0 under dead_leader=fail
	Cause      error
}

// Error says who is missed and what to do.
func (e *LeaderlessError) Error() string {
	who := fmt.Sprintf("nobody leads replicaset %s of tier %s", e.Replicaset, e.Tier)
	if e.Instance != "" {
		who = fmt.Sprintf("%s, which leads replicaset %s of tier %s, has not answered for %v", e.Instance, e.Replicaset, e.Tier, e.Since.Round(time.Millisecond))
	}
	why := "dead_leader=fail"
	switch {
	case e.Cause != nil:
		why = fmt.Sprintf("waited %v: %v", e.Waited.Round(time.Millisecond), e.Cause)
	case e.Waited > 0:
		why = fmt.Sprintf("waited %v, all that dead_leader_timeout allows", e.Waited.Round(time.Millisecond))
	}
	return "picodata: the statement was not sent: " + who + ": " + why + "; the cluster replaces a dead leader after some 30 seconds (governor_auto_offline_timeout), pico check tells more"
}

// Unwrap gives the context's error, or nil.
func (e *LeaderlessError) Unwrap() error { return e.Cause }

// faults makes the errors that programs see: it is the exec.Faults.
type faults struct{}

// Server is what a server answered with.
func (faults) Server(r *exec.Refused) error {
	e := newError(r.Err, nodeOf(r.Node))
	e.Partly, e.Help = r.Partly, r.Help
	return e
}

// Undecodable is an answer that the client can't decode.
func (faults) Undecodable(err error, n *pool.NodeInfo) error {
	var d *wire.DecodeError
	if !errors.As(err, &d) {
		return err
	}
	return &DecodeError{Node: nodeOf(n), Column: d.Column, Name: d.Name, Type: d.Type, Length: d.Length, cause: d}
}

// Unknown says that nobody can tell whether a statement took effect.
func (faults) Unknown(u *exec.Unknown) error {
	return &OutcomeUnknownError{Node: nodeOf(u.Node), Fingerprint: u.Fingerprint, Partly: u.Partly, cause: u.Cause}
}

// RolesUnknown says which grants would tell who leads.
func (faults) RolesUnknown(grants []string, cause error) error {
	return &RoleUnknownError{Grants: grants, cause: cause}
}

// Leaderless says that a statement waited for a leader, and was not sent.
func (faults) Leaderless(l *exec.Leaderless) error { return (*LeaderlessError)(l) }

// Plan is the public form of what keeps a hint or setting from being met.
func (faults) Plan(err error) error {
	switch e := err.(type) {
	case *route.ShardRangeError:
		return (*ShardRangeError)(e)
	case *route.BucketRangeError:
		return (*BucketRangeError)(e)
	case *route.UnknownNameError:
		return (*UnknownNameError)(e)
	}
	return err
}

// Pool is the public form of an error of the gate's.
func (faults) Pool(err error) error {
	switch e := err.(type) {
	case *pool.AcquireTimeoutError:
		t := &AcquireTimeoutError{Filter: e.Filter, Waited: e.Waited, Max: e.Max, Open: e.Open, Waiting: e.Waiting}
		t.Nodes = make([]NodeLoad, len(e.Nodes))
		for i := range e.Nodes {
			t.Nodes[i] = NodeLoad(e.Nodes[i])
		}
		if e.Dial != nil {
			t.Dial = dialError(e.Dial)
		}
		return t
	case *pool.NoNodeError:
		return (*NoNodeError)(e)
	case *pool.DialError:
		return dialError(e)
	case *pool.LoginError:
		return (*AuthError)(e)
	}
	return err
}

func dialError(e *pool.DialError) *DialError {
	d := &DialError{Filter: e.Filter, Nodes: make([]*NodeDialError, len(e.Nodes))}
	for i, n := range e.Nodes {
		d.Nodes[i] = (*NodeDialError)(n)
	}
	return d
}
