package picodata

import (
	"fmt"
	"regexp"
	"slices"
	"strings"
	"sync"

	"github.com/picodata/go-picodata/internal/pool"
	"github.com/picodata/go-picodata/internal/schema"
	"github.com/picodata/go-picodata/internal/servererr"
	"github.com/picodata/go-picodata/internal/wire"
	"github.com/picodata/go-picodata/metadata"
)

// identify judges who answered a login at the node's address. An instance of the cluster may serve statements, though
// the address was another's a moment ago; anybody else gets none. nil: nobody needs to be asked.
func (k *cluster) identify(n pool.NodeSpec) wire.Identify {
	t := k.Topology()
	switch {
	case t == nil:
		return nil
	case t.Static || len(t.Instances) == 0:
		return k.kin.identify(n.Address)
	}
	return func(uuid string, _ wire.Ask) error {
		if uuid == n.ID {
			return nil
		}
		k.Hint(schema.HintConnectionLost)
		if _, ok := k.Topology().Instance(uuid); ok && uuid != "" {
			return nil
		}
		return &metadata.IdentityError{Address: n.Address, Want: n.ID, Got: uuid}
	}
}

// kin is what tells the instances of one cluster from others where no snapshot does (mode=bootstrap with topology=off):
// those that the first server to answer a login knows, and those that know them. A first server that isn't Picodata is
// a plain PostgreSQL, and nobody is asked after that.
type kin struct {
	mu      sync.Mutex
	foreign bool     // the first to answer wasn't Picodata
	known   []string // uuids of instances that have answered, the first one's first
}

// mostKin bounds the instances of which a new one is asked whether it knows them.
const mostKin = 64

// isUUID: what a server says of itself is put into another one's query.
var isUUID = regexp.MustCompile(`^[0-9a-fA-F-]{36}$`).MatchString

func (k *kin) identify(address string) wire.Identify {
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.foreign {
		return nil
	}
	return func(uuid string, ask wire.Ask) error {
		if uuid != "" && !isUUID(uuid) {
			return &metadata.IdentityError{Address: address, Got: uuid}
		}
		k.mu.Lock()
		known := slices.Clone(k.known)
		switch {
		case len(known) == 0 && uuid == "":
			k.foreign = true
		case len(known) == 0 && !k.foreign:
			k.known = append(k.known, uuid)
		}
		k.mu.Unlock()
		switch {
		case len(known) == 0 || slices.Contains(known, uuid):
			return nil
		case uuid == "":
			return &metadata.IdentityError{Address: address}
		}
		n, err := ask(fmt.Sprintf("SELECT count(*) FROM _pico_instance WHERE uuid IN ('%s')", strings.Join(known, "', '")))
		if _, refused := servererr.Of(err); err != nil && !refused {
			return err
		}
		if n == "0" {
			return &metadata.IdentityError{Address: address, Got: uuid}
		}
		k.mu.Lock()
		defer k.mu.Unlock()
		if k.known = append(k.known, uuid); len(k.known) > mostKin {
			k.known = slices.Delete(k.known, 0, 1)
		}
		return nil
	}
}
