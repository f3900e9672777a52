package wire

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"errors"
	"os"
	"testing"
)

// recording is a file of dialogues with real servers.
type recording struct {
	Dialogues []struct {
		Name  string
		Steps []struct {
			Send []recordedFrame
			Recv []recordedFrame
		}
	}
}

type recordedFrame struct{ Type, Body string }

// Everything that real servers of two versions were recorded to send passes the guard, but
// for what the driver never asks for: rows by portions.
func TestRecordedAnswersPassTheGuard(t *testing.T) {
	for _, file := range []string{"dialogues-25.6.json", "dialogues-26.2.json"} {
		data, err := os.ReadFile("../../testdata/live/" + file)
		if err != nil {
			t.Fatal(err)
		}
		var r recording
		if err := json.Unmarshal(data, &r); err != nil {
			t.Fatal(err)
		}
		frames, delivered := 0, 0
		for _, d := range r.Dialogues {
			// One guard for each step: a named statement's rows may be described in another.
			login := true
			for i, step := range d.Steps {
				var answer []byte
				g := newGuard(nil, nil, false)
				g.owner = &Conn{cfg: newConfig()}
				g.login, g.outstanding = login, 0
				portions := false
				for _, f := range step.Recv {
					body, err := base64.StdEncoding.DecodeString(f.Body)
					if err != nil {
						t.Fatal(err)
					}
					if len(f.Type) != 1 {
						continue // the answer to an SSLRequest is no frame
					}
					if f.Type == "Z" {
						g.outstanding++
					}
					if f.Type == "D" && g.columns < 0 && len(body) >= 2 {
						g.columns = be16(body) // described in an earlier step
					}
					portions = portions || f.Type == "s"
					answer = appendFrame(answer, f.Type[0], body)
					frames++
				}
				for _, f := range step.Send {
					if f.Type == "C" {
						g.swallow++
					}
				}
				g.outstanding = max(g.outstanding, 1) // an answer may end in a hang-up
				g.nc = canned{bytes.NewReader(answer)}
				got := 0
				b := make([]byte, 4096)
				for {
					n, err := g.Read(b)
					if got += n; err != nil {
						break
					}
				}
				var fe *FrameError
				if errors.As(g.err, &fe) != portions {
					t.Errorf("%s, %s, step %d: %v", file, d.Name, i, g.err)
				}
				delivered += got
				login = g.login
			}
		}
		if frames < 500 || delivered < 10_000 {
			t.Fatalf("%s: %d frames, %d bytes delivered", file, frames, delivered)
		}
	}
}
