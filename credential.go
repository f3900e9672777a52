package picodata

import (
	"context"
	"crypto/sha256"
)

// credentialOf tells the pool whether the next login would use another password than the last one, without
// showing it: a refused one isn't tried again for a while, another one is tried at once. A password that never changes needs none (nil).
func credentialOf(password func(context.Context) (string, error)) func(context.Context) string {
	if password == nil {
		return nil
	}
	return func(ctx context.Context) string {
		p, err := password(ctx)
		if err != nil {
			return "" // the dial asks again, and fails with this error
		}
		sum := sha256.Sum256([]byte(p))
		return string(sum[:])
	}
}
