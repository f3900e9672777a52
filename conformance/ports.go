package conformance

import (
	"fmt"
	"net"
	"os"
)

// freePorts finds n consecutive ports on loopback that nobody listens on, below the range from which the
// system takes ports for outgoing connections.
func freePorts(n int) ([]int, error) {
	const low, high = 11000, 31000
	for base := low + os.Getpid()*16%(high-low); base < high; base += n {
		ports := make([]int, 0, n)
		for p := base; p < base+n; p++ {
			l, err := net.Listen("tcp", fmt.Sprintf("127.0.0.1:%d", p))
			if err != nil {
				break
			}
			l.Close()
			ports = append(ports, p)
		}
		if len(ports) == n {
			return ports, nil
		}
	}
	return nil, fmt.Errorf("no %d consecutive free ports on loopback", n)
}
