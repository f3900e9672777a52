package metadata

import "fmt"

// IdentityError says that an instance answered at an address which isn't one of the cluster's by the snapshot in
// force: the address belongs to somebody else now, to another cluster perhaps that knows the same users. It got no
// statement and its word about the topology wasn't taken. An instance that has just joined is met again once a
// snapshot shows it.
type IdentityError struct {
	Address string // host:port
	Want    string // uuid of the instance that the snapshot has at the address; "": a host of the DSN
	Got     string // uuid of the instance that answered; "": a server that isn't Picodata
}

// Error names both.
func (e *IdentityError) Error() string {
	if e.Got == "" {
		return fmt.Sprintf("the server at %s doesn't say which instance it is: the address belongs to another one", e.Address)
	}
	if e.Want == "" {
		return fmt.Sprintf("instance %s answers at %s, which the cluster doesn't know: the address belongs to another cluster, or the instance has just joined", e.Got, e.Address)
	}
	return fmt.Sprintf("instance %s answers at %s in place of %s, and the cluster doesn't know it: the address belongs to another cluster, or the instance has just joined", e.Got, e.Address, e.Want)
}
