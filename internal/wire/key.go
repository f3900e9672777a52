package wire

import (
	"encoding/pem"
	"errors"
	"strings"
)

// decryptKey takes the encryption off a private key in PEM. A plain key comes back as it is.
func decryptKey(data []byte, password string) ([]byte, error) {
	for rest := data; ; {
		var block *pem.Block
		block, rest = pem.Decode(rest)
		if block == nil {
			return data, nil
		}
		if block.Type == "ENCRYPTED PRIVATE KEY" || strings.Contains(block.Headers["Proc-Type"], "ENCRYPTED") {
			return nil, errors.New("the key is encrypted")
		}
	}
}
